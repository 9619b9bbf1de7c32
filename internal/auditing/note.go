package auditing

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/wording"
)

// Note leaves a note of a report with every node in whose folder a transcript lies, where that node runs and is the
// user's own, so that the list of its jobs shows the verdict. It returns a sentence for each: what was noted or why
// not. Of nodes that do not run it says nothing.
func Note(ctx context.Context, in *audit.Input, r *audit.Report) []string {
	note := node.Audited{Contract: in.Contract.Hash(), Verdict: string(r.Verdict), Findings: findings(r),
		Program: r.Origin.Program}
	for _, p := range r.Job.Parties {
		if !p.Audited {
			note.Unread = append(note.Unread, p.Name)
		}
	}
	for _, t := range r.Transcripts {
		read := node.AuditedTranscript{Party: t.Party}
		if err := read.SHA256.UnmarshalText([]byte(t.SHA256)); err != nil {
			return []string{err.Error()}
		}
		note.Transcripts = append(note.Transcripts, read)
	}
	var dirs, said []string
	for _, s := range in.Sources {
		dir := nodeFolder(s)
		in := filepath.Join(node.JobFolder(dir, note.Contract), node.TranscriptFile)
		if in == filepath.Clean(s.Path) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		client, err := node.NewClient(dir)
		if err == nil {
			err = client.NoteAudit(ctx, note)
		}
		switch {
		case err == nil:
			said = append(said, fmt.Sprintf("noted at the node in %[1]s: hanse jobs --dir %[1]s shows the verdict",
				wording.Quoted(dir)))
		case !node.IsAbsent(err):
			said = append(said, fmt.Sprintf("the node in %s keeps no note of this: %v", dir, err))
		}
	}
	return said
}

// findings counts what a report's verdict rests on: checks and attacks that found something.
func findings(r *audit.Report) int {
	count := 0
	found := []audit.Verdict{finding.Failed, finding.Leak, finding.Disclosed, finding.Unverifiable}
	for _, c := range r.Checks {
		if slices.Contains(found, c.Verdict) {
			count++
		}
	}
	for _, a := range r.Attacks {
		if slices.Contains(found, a.Verdict) {
			count++
		}
	}
	return count
}
