// Package sealed measures sealed jobs beside masked ones and the clear.
package sealed

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// Report is what the command prints with --json.
type Report struct {
	Machine string   `json:"machine"`
	Parties int      `json:"parties"`
	Mbit    float64  `json:"mbit,omitempty"`
	Delay   float64  `json:"delay_seconds,omitempty"`
	Runs    []Result `json:"runs"`
}

// Options are the choices of Run.
type Options struct {
	Data     string
	Sets     []string
	Rows     int
	Features []int
	Ring     []int
	Loss     string
	Bins     int // about so many of each column of numbers, in place of random features; 0: a kernel
	Outer    int
	Steps    int
	Lambda   float64 // of bins; 0: by the number of rows
	ZScores  bool    // of bins: open z-scores to the label holder
	Seeds    int
	Repeat   int
	Mbit     float64
	Delay    time.Duration
}

// Run measures all chosen cases.
func Run(ctx context.Context, run lab.Run, o Options) error {
	cases, err := sealedCases(ctx, run, o)
	if err != nil {
		return err
	}
	return run.WithProgram(ctx, func(dir string, p *lab.Program) error {
		bench := &sealedLab{program: p, dir: dir, repeat: o.Repeat, log: run.Log}
		report := Report{Machine: lab.Machine(), Parties: sets.Parties, Mbit: o.Mbit}
		if report.Mbit > 0 {
			report.Delay = o.Delay.Seconds()
			bench.slow = &slowness{rate: report.Mbit * 1e6 / 8, delay: o.Delay}
		}
		for _, of := range cases {
			if err := of.set.Prepare(dir, o.Rows); err != nil {
				return fmt.Errorf("%s: %w", of.set.Name, err)
			}
			r, err := bench.measure(ctx, of)
			if err != nil {
				return fmt.Errorf("%s, %d features, ring %d: %w", of.set.Name, of.features, of.ring, err)
			}
			report.Runs = append(report.Runs, *r)
		}
		return run.Report(&report)
	})
}

// sealedCase is one measurement.
type sealedCase struct {
	set      *sets.Benchmark
	features int
	ring     int
	loss     string
	bins     int
	lambda   float64 // of bins; 0: the job's own default
	zScores  bool
	steps    int
	outer    int
	seed     uint64
}

// sealedCases lists what is to be measured.
func sealedCases(ctx context.Context, run lab.Run, o Options) ([]sealedCase, error) {
	chosen, err := sets.Choose(o.Sets, o.Data)
	if err != nil {
		return nil, err
	}
	loss, err := kernel.ParseLoss(o.Loss)
	if err != nil {
		return nil, err
	}
	if err := lab.AtLeast(1, lab.Number("seeds", o.Seeds), lab.Number("repeat", o.Repeat)); err != nil {
		return nil, err
	}
	if o.Mbit < 0 || o.Delay < 0 {
		return nil, fmt.Errorf("--mbit is %v and --delay %v, want neither below 0", o.Mbit, o.Delay)
	}
	if o.Bins > 0 {
		o.Features = []int{0} // as many as there are bins
		if !run.Given("ring") {
			o.Ring = []int{0} // the job's own
		}
	}
	var list []sealedCase
	for i := range chosen {
		for _, d := range o.Features {
			for _, ring := range o.Ring {
				for seed := range uint64(o.Seeds) {
					of := newSealedCase(&chosen[i], d, ring, loss)
					of.seed = seed + 1
					if o.Bins > 0 {
						of.bins, of.steps, of.outer, of.lambda, of.zScores = o.Bins, 0, 0, o.Lambda, o.ZScores
					}
					if run.Given("steps") {
						of.steps = o.Steps
					}
					if run.Given("outer") {
						of.outer = o.Outer
					}
					list = append(list, of)
				}
			}
		}
	}
	return list, nil
}

// newSealedCase settles the steps: as many as bring the error within 0.002 of the exact solution.
func newSealedCase(s *sets.Benchmark, features, ring int, loss kernel.Loss) sealedCase {
	c := sealedCase{set: s, features: features, ring: ring, loss: loss.String(), steps: 100}
	slow := slices.Contains([]string{"phishing", "ijcnn1", "w8a"}, s.Name)
	switch {
	case slow && features > 512 && loss == kernel.Square:
		c.steps = 400
	case slow:
		c.steps = 300
	case s.Name == "defaultcredit":
		c.steps = 150
	}
	if loss != kernel.Square {
		c.steps = 0 // the job's own
	}
	return c
}

// width returns the settings of a kernel on a set, of the square loss also where the set is measured with another loss
// elsewhere.
func (c *sealedCase) width() (sigma, lambda float64) {
	if c.set.Name == "phishing" && c.loss == kernel.Square.String() {
		return 6.633, 1e-8
	}
	return c.set.Sigma, c.set.Lambda
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d parties, fastest of repeated trainings", r.Machine, r.Parties)
	if r.Mbit > 0 {
		fmt.Fprintf(w, "; links of %g Mbit/s out of and into every node, %g ms one way", r.Mbit, 1e3*r.Delay)
	}
	fmt.Fprint(w, "\n\n")
	for _, t := range []*table.Table{errorTable(r.Runs), timeTable(r.Runs), byteTable(r.Runs)} {
		if err := t.Write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}
