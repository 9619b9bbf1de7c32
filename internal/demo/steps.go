package demo

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/wording"

	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/terminal"
)

// steps tells on standard error what happens, step by step.
type steps struct {
	w io.Writer
	n int
}

// step begins the next one.
func (t *steps) step(title, text string) {
	t.n++
	lines := wording.Wrap(wording.Columns, strings.Repeat(" ", 15), text)
	fmt.Fprintf(t.w, "\n%d  %-11s %s", t.n, title, strings.TrimLeft(lines, " "))
}

// note adds a line to a step.
func (t *steps) note(text string) { fmt.Fprint(t.w, wording.Hang("    ", text)) }

// members tells of keys and charter; of many members only how many there are.
func (t *steps) members(l *localnet.Federation, many bool) {
	if many {
		t.step("keys", fmt.Sprintf("a key file for each of %d members, and a charter that all have signed", len(l.Names)))
	} else {
		t.step("keys", "a key file for each, and a charter that all have signed")
		w := wording.NewTable(t.w, "    ")
		for i, m := range l.Charter.Members {
			fmt.Fprintf(w, "%s\t%s…\t%s\n", m.Name, l.Keys[i].ID().Short(), strings.Join(m.Addresses, " "))
		}
		w.Flush()
	}
	t.note(fmt.Sprintf("charter %s, digest %s", l.CharterFile(), l.Charter.Digest().Short()))
}

// nodes tells that the processes run; whose says what runs in one.
func (t *steps) nodes(all []*localnet.Process, whose string) {
	t.step("nodes", whose+", TLS 1.3 between them, admission by charter")
	w := wording.NewTable(t.w, "    ")
	for _, p := range all {
		log := filepath.Join(filepath.Base(filepath.Dir(p.Log)), filepath.Base(p.Log))
		fmt.Fprintf(w, "%s\tprocess %d, log %s\n", p.Name, p.Pid(), log)
	}
	w.Flush()
}

// foldedLines is how much of a contract is shown below its first sentence where it is not wanted whole: what it is
// about.
const foldedLines = 2

// contract shows what is about to be consented to, or how it begins.
func (t *steps) contract(summary string, whole bool) {
	first, rest, _ := strings.Cut(summary, "\n\n")
	lines := strings.SplitAfter(rest, "\n")
	if whole || len(lines) <= foldedLines+2 {
		fmt.Fprintf(t.w, "\n%s\n", summary)
		return
	}
	fmt.Fprint(t.w, wording.Hang("    ", strings.Join(strings.Fields(first), " ")))
	for _, line := range lines[:foldedLines] {
		fmt.Fprint(t.w, wording.Hang("    ", line))
	}
	t.note(fmt.Sprintf("... and %d lines more: what leaves, and who learns what (--verbose)", len(lines)-1-foldedLines))
}

// done tells how a job went, with the curve of its loss unless it is empty.
func (t *steps) done(what string, r *jobs.Report, curve []float64) {
	if len(curve) > 2 {
		t.note(fmt.Sprintf("loss %s  %.5f to %.5f", terminal.Sparkline(curve, 40), curve[0], curve[len(curve)-1]))
	}
	seconds, sent, received := r.Forecast.Beside()
	t.note(fmt.Sprintf("%s took %.2f s%s and %d rounds; the first party sent %s%s and received %s%s", what, r.Seconds,
		seconds, jobview.Rounds(r), wording.Size(r.BytesOut), sent, wording.Size(r.BytesIn), received))
}

// few lists at most n names.
func few(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:n], ", ") + ", …"
}
