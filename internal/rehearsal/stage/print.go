package stage

import (
	"fmt"
	"io"

	"github.com/hanse-project/hanse/internal/rehearsal"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Print prints what a rehearsal measured, for people. more are sentences of the command's own.
func Print(out io.Writer, r *rehearsal.Result, more ...string) error {
	say := func(indent, text string) { fmt.Fprint(out, wording.Wrap(wording.Columns, indent, text)) }
	say("", fmt.Sprintf("rehearsal of job %q (%s %s, privacy %s): %s on this machine with %s, %s", r.Job, r.Algorithm,
		r.Task, r.Privacy, wording.Count(len(r.Parties), "node"), wording.Count(r.Cores, "core"),
		wording.Time(r.At)))

	fmt.Fprintln(out)
	w := wording.NewTable(out, "")
	w.Row("step", "seconds")
	for _, s := range r.Steps {
		w.Row(s.Name, fmt.Sprintf("%.2f", s.Seconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}

	fmt.Fprintln(out)
	w = wording.NewTable(out, "")
	w.Row("party", "sent", "received", "memory")
	for _, p := range r.Parties {
		memory := "-"
		if p.Memory > 0 {
			memory = wording.Size(p.Memory)
		}
		w.Row(p.Name, wording.Size(p.Sent), wording.Size(p.Received), memory)
	}
	if err := w.Flush(); err != nil {
		return err
	}

	fmt.Fprintln(out)
	fmt.Fprint(out, wording.Hang("", fmt.Sprintf("audit: %s. %s", r.Audit.Verdict, r.Audit.Summary)))
	fmt.Fprint(out, wording.Hang("", fmt.Sprintf("likeness: %s, that of the contract. It leaves out %s.", r.Likeness,
		contract.NotInLikeness)))
	fmt.Fprint(out, wording.Hang("", "cannot tell: how good the model is; the line between real machines; seconds where "+
		"each node has a machine of its own; whether the tables have the same rows."))
	for _, text := range more {
		fmt.Fprint(out, wording.Hang("", text))
	}
	return nil
}
