// Package sum measures one secure sum of many clients over TLS, while some drop out.
package sum

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// Options are the choices of Run.
type Options struct {
	Clients   []int
	Words     []int
	Bits      int
	Backend   []string
	Topology  []string
	Dropout   float64
	Corrupt   float64
	Sums      int
	Warm      int
	Processes int
	Patience  time.Duration
	Seed      uint64
}

// Run measures all combinations.
func Run(ctx context.Context, run lab.Run, o Options) error {
	cases, err := sumCases(ctx, run, o)
	if err != nil {
		return err
	}
	report := &Report{Machine: lab.Machine()}
	for _, s := range cases {
		err := lab.InFolder(func(dir string) error {
			r, err := measureSum(ctx, dir, s, run.Log)
			report.Runs = append(report.Runs, r)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for _, run := range report.Runs {
		for _, plain := range report.Runs {
			if plain.Backend == cohort.Plain && plain.same(run, true, false) {
				run.PlainRatio = run.Seconds / plain.Seconds
			}
		}
	}
	report.Growth = sumGrowths(report.Runs)
	if run.JSON && len(report.Runs) == 1 {
		return json.NewEncoder(run.Out).Encode(report.Runs[0])
	}
	return run.Report(report)
}

// sumCase is one combination to measure. Workers read it from a file.
type sumCase struct {
	Clients   int
	Words     int
	Bits      int
	Backend   cohort.Backend
	Topology  string
	Dropout   float64
	Corrupt   float64
	Sums      int
	Warm      int
	Processes int
	Patience  time.Duration
	Seed      uint64
}

// String names the case in errors and in the progress.
func (s sumCase) String() string {
	return fmt.Sprintf("%d clients, %d words, %s, %s", s.Clients, s.Words, s.Backend, s.Topology)
}

// vector is what is summed.
func (s sumCase) vector() cohort.Vector {
	return cohort.Vector{Kind: sumKind, Words: s.Words, Bits: s.Bits}
}

// leaving returns how many clients a timed sum loses. What is missing to a whole by the rounding of
// the fraction is forgiven.
func (s sumCase) leaving() int { return int(s.Dropout*float64(s.Clients) + 1e-9) }

// sumLog tells the person at the terminal how far a case is.
type sumLog struct {
	out  io.Writer
	name string
}

// say prints one line.
func (l sumLog) say(format string, args ...any) {
	fmt.Fprintf(l.out, "%s: %s\n", l.name, fmt.Sprintf(format, args...))
}
