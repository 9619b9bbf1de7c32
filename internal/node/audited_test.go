package node

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// noteOf is the note that an audit of these parties' transcripts leaves.
func (l *testNetwork) noteOf(h keys.Hash, verdict string, parties ...int) Audited {
	l.t.Helper()
	a := Audited{Contract: h, Verdict: verdict, Program: "hanse v1.2.3"}
	for _, i := range parties {
		text, err := os.ReadFile(l.jobFile(i, h, TranscriptFile))
		if err != nil {
			l.t.Fatal(err)
		}
		a.Transcripts = append(a.Transcripts, AuditedTranscript{l.names[i], sha256.Sum256(text)})
	}
	return a
}

// TestAuditsAreNoted: a verdict is listed with its job, outlasts the node, the job's removal and an older verdict, and
// is not believed once the transcript is another; nor is a note kept of another transcript, of another party's alone,
// or of a job that is under way.
func TestAuditsAreNoted(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	l.now = func() time.Time { return noon }
	l.startAll()
	_, h, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 8"))
	must(t, err)
	l.awaitDone(t.Context(), h)
	if j := l.infoAt(0, h); j.Audited != nil {
		t.Errorf("a job that nobody audited has %v", j.Audited)
	}

	partys := l.noteOf(h, "clean", 1)
	forged := l.noteOf(h, "clean", 0)
	forged.Transcripts[0].SHA256[3] ^= 1
	stranger := l.noteOf(h, "clean", 0)
	stranger.Transcripts = append(stranger.Transcripts, AuditedTranscript{Party: "nobody"})
	marked := l.noteOf(h, "clean\x1b[2J", 0)
	elsewhere := l.noteOf(h, "clean", 0)
	elsewhere.Contract[0] ^= 1
	waits := l.proposed(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 8"))
	early := l.noteOf(h, "clean", 0)
	early.Contract = waits.Hash()
	for want, a := range map[string]Audited{
		"did not read the transcript of bank": partys, "another transcript of bank": forged,
		"nobody is no party": stranger, "is no word": marked, "has no job": elsewhere, "has not ended yet": early,
		"0 transcripts": {Contract: h, Verdict: "clean"},
	} {
		if err := l.nodes[0].NoteAudit(a, "anna"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if j := l.infoAt(0, h); j.Audited != nil {
		t.Errorf("after what was refused the job has %v", j.Audited)
	}

	leak := l.noteOf(h, "leak", 0)
	leak.Findings, leak.At, leak.Changed, leak.Unread = 2, noon.AddDate(9, 0, 0), true, []string{"insurer", "telco"}
	must(t, l.nodes[0].NoteAudit(leak, "anna"))
	said := func(words string) {
		t.Helper()
		if j := l.infoAt(0, h); j.Audited == nil || j.Audited.String() != words || j.Audited.Person != "anna" {
			t.Errorf("the list has %+v, want %q", j.Audited, words)
		}
	}
	said("audited 2026-11-23 12:00 UTC: leak, 2 findings, by the transcript of bank; not read: insurer, telco")
	must(t, l.nodes[0].NoteAudit(l.noteOf(h, "disclosed", 0, 1, 2), "anna"))
	const last = "audited 2026-11-23 12:00 UTC: disclosed, by the transcripts of bank, insurer, telco"
	const changed = last + "; the transcript has changed since: audit it again"
	said(last)
	l.stops[0]()
	l.start(0)
	said(last)

	path := l.jobFile(0, h, TranscriptFile)
	whole, err := os.ReadFile(path)
	must(t, err)
	for what, text := range map[string][]byte{"longer": append(bytes.Clone(whole), 0), "another byte": func() []byte {
		other := bytes.Clone(whole)
		other[len(other)/2] ^= 1
		return other
	}(), "empty": {}} {
		t.Run(what, func(t *testing.T) {
			must(t, os.WriteFile(path, text, 0o600))
			said(changed)
			must(t, os.WriteFile(path, whole, 0o600))
			said(last)
		})
	}
	must(t, os.Remove(path))
	said(changed)
	must(t, os.WriteFile(path, whole, 0o600))
	if _, err := l.nodes[0].Remove(h); err != nil {
		t.Fatal(err)
	}
	if all := l.nodes[0].Removed(); len(all) != 1 || fmt.Sprint(all[0].Audited) != last {
		t.Errorf("a job that was removed has %+v", all)
	}

	// a note that is damaged on the disk is none
	l.stops[0]()
	must(t, os.WriteFile(filepath.Join(filepath.Dir(path), auditedFile), []byte("audited clean"), 0o600))
	l.start(0)
	if all := l.nodes[0].Removed(); len(all) != 1 || all[0].Audited != nil {
		t.Errorf("a damaged note is believed: %+v", all)
	}
}

// TestATranscriptIsReadAgainOnlyWhenItMayHaveChanged: a list does not read all transcripts each time, and a change that
// leaves the size as it was is seen.
func TestATranscriptIsReadAgainOnlyWhenItMayHaveChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "transcript")
	write := func(text string, at time.Time) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chtimes(path, at, at))
	}
	var a auditNote
	sum := func(want string, what string) {
		t.Helper()
		if got, err := a.sumOf(path); err != nil || got != sha256.Sum256([]byte(want)) {
			t.Errorf("%s: %x, %v", what, got, err)
		}
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	write("one", old)
	sum("one", "at first")
	write("two", old)
	sum("one", "of the same size and time")
	write("two", old.Add(time.Second))
	sum("two", "of another time")
	write("three", old.Add(time.Second))
	sum("three", "of another size")
	now := time.Now().Add(time.Hour) // a file that was written this moment may be written again in it
	write("four!", now)
	sum("four!", "of this moment")
	write("five!", now)
	sum("five!", "again in this moment")
}
