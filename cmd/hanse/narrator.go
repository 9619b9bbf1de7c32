package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/trial/online"
)

// narrator tells the demo's story on standard error, step by step.
type narrator struct {
	w io.Writer
	n int
}

// newNarrator starts a story.
func newNarrator(w io.Writer) *narrator { return &narrator{w: w} }

// step opens the next chapter.
func (t *narrator) step(title, text string) {
	t.n++
	fmt.Fprintf(t.w, "\n%d  %-11s %s\n", t.n, title, text)
}

// data tells who holds what.
func (t *narrator) data(d *trial.Data) {
	t.step("data", fmt.Sprintf("%d rows to train on, %d held out; the same ids at every party, different columns", d.Train[0].Rows(), d.Test[0].Rows()))
	w := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	for i, name := range d.Names {
		columns := d.Train[i].Without(d.Label).Names()
		label := ""
		if i == 0 {
			label = fmt.Sprintf("the label %q and ", d.Label)
		}
		fmt.Fprintf(w, "    %s\t%s%d columns: %s\n", name, label, len(columns), few(columns, 8))
	}
	w.Flush()
}

// privacy tells, where it matters, why the demo's mode is not the strongest, or what its loss opens.
func (t *narrator) privacy(d *demo) {
	switch why := demoWantsMasks(d.c); {
	case privacyOf(d.c) == fdskl.Sealed && opensRows(d.params):
		fmt.Fprintf(t.w, "    loss %s: opens %d scores of every training row to %s, under models that are not its own; --loss square opens none\n", d.params.Loss, d.params.Outer-1, d.data.Names[0])
	case why != "" && !d.c.IsSet("privacy"):
		fmt.Fprintf(t.w, "    privacy masked, under which every angle opens to %s: sealed jobs have no %s\n", d.data.Names[0], why)
	}
}

// few lists at most n names.
func few(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:n], ", ") + ", …"
}

// league tells of keys and charter.
func (t *narrator) league(l *trial.League) {
	t.step("keys", "a key file for each, and a charter that all have signed")
	w := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	for i, m := range l.Charter.Members {
		fmt.Fprintf(w, "    %s\t%s…\t%s\n", m.Name, l.Keys[i].ID().Short(), strings.Join(m.Addresses, " "))
	}
	w.Flush()
	fmt.Fprintf(t.w, "    charter %s, digest %s\n", l.CharterFile(), l.Charter.Digest().Short())
}

// streams tells who learns from what.
func (t *narrator) streams(f *online.Federation) {
	clients := f.AllClients()
	first := f.Streams[clients[0]]
	t.step("streams", fmt.Sprintf("%d clients with %d rows each, which come one by one and stay where they are", len(clients), len(first.Labels)))
	fmt.Fprintf(t.w, "    inputs %s\n    to foretell %s, before it is known\n", strings.Join(first.Columns, ", "), first.Label)
	for s, name := range f.Servers {
		fmt.Fprintf(t.w, "    %s adds for %s\n", name, few(f.Clients[s], 6))
	}
}

// manyMembers tells of keys and charter.
func (t *narrator) manyMembers(l *trial.League) {
	t.step("keys", fmt.Sprintf("a key file for each of %d members, and a charter that all have signed", len(l.Names)))
	fmt.Fprintf(t.w, "    charter %s, digest %s\n", l.CharterFile(), l.Charter.Digest().Short())
}

// nodes tells that the processes run; whose says what runs in one.
func (t *narrator) nodes(p *processes, whose string) {
	t.step("nodes", whose+", TLS 1.3 between them, admission by charter")
	w := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	for i, c := range p.commands {
		fmt.Fprintf(w, "    %s\tprocess %d, log %s\n", p.names[i], c.Process.Pid, logName(p.logs[i]))
	}
	w.Flush()
}

// begin opens a job's chapter.
func (t *narrator) begin(what string) *screen {
	t.step(what, "proposed by the first party, consented to by the others' policies")
	return newScreen(t.w)
}

// summary shows a contract.
func (t *narrator) summary(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(t.w, "    | ", line)
	}
}

// done tells how a job went.
func (t *narrator) done(what string, r *node.Report, s *screen) {
	s.end()
	if len(s.curve) > 2 {
		fmt.Fprintf(t.w, "    loss %s  %.5f to %.5f\n", sparkline(s.curve, 60), s.curve[0], s.curve[len(s.curve)-1])
	}
	fmt.Fprintf(t.w, "    %s took %.2f s and %d rounds; the first party sent %s and received %s\n", what, r.Seconds, roundsOf(r), node.Size(r.BytesOut), node.Size(r.BytesIn))
}
