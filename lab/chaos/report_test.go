package chaos

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// goldenReport is how a report is printed.
const goldenReport = `kind               trials    right  degraded   failed   skipped   median seconds
kill-masked             3        2         0        1         0              5.0
rot                     2        0         1        1         0              3.0
disk                    1        0         0        0         1              0.0

kill-masked, seed 3: masked, bank, killed, 1.00 s after the beginning: never ends; /tmp/a
rot, seed 2: sealed, telco, jobs/c0ffee11/phase: emptied, after the training: SILENT: scores differ; /tmp/b
`

func TestReport(t *testing.T) {
	r := &Report{Kinds: []string{"kill-masked", "rot", "disk"}, Trials: []Result{
		{Kind: "kill-masked", Seed: 1, Verdict: Right, Seconds: 5},
		{Kind: "kill-masked", Seed: 2, Verdict: Right, Seconds: 4},
		{Kind: "kill-masked", Seed: 3, Verdict: Failed, Seconds: 31, Job: "masked", Victim: "bank",
			Fault: "killed", Moment: "1.00 s after the beginning", What: "never ends", Folder: "/tmp/a"},
		{Kind: "rot", Seed: 1, Verdict: Degraded, Seconds: 2},
		{Kind: "rot", Seed: 2, Verdict: Silent, Seconds: 4, Job: "sealed", Victim: "telco",
			Fault: "jobs/c0ffee11/phase: emptied", Moment: "after the training", What: "scores differ", Folder: "/tmp/b"},
		{Kind: "disk", Seed: 1, Verdict: Skipped, What: "mount: operation not permitted"},
	}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != goldenReport {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), goldenReport)
	}
	table, _, _ := strings.Cut(b.String(), "\n\n")
	for _, line := range strings.Split(table, "\n") {
		if n := utf8.RuneCountInString(line); n != 80 {
			t.Errorf("%q has %d columns, want 80", line, n)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{0: nil, 3: {3}, 2.5: {4, 1, 3, 2}, 2: {3, 1, 2}} {
		if got := median(values); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}
