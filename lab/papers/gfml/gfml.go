// Package gfml repeats the simulation of the paper on graph-federated learning: Gogineni, Werner, Huang and Kuh,
// section IV, its means by equation 18, and its count of bytes.
package gfml

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// Report is what the command prints with --json.
type Report struct {
	Machine    string  `json:"machine"`
	Runs       int     `json:"runs"`
	Iterations int     `json:"iterations"`
	Seconds    float64 `json:"seconds"`
	Curves     []Curve `json:"curves"`
	Claims     []Claim `json:"claims"`
}

// Options are the choices of Run.
type Options struct {
	Runs       int
	Iterations int
}

// Run makes all runs and reports.
func Run(ctx context.Context, run lab.Run, o Options) error {
	bench := simulation{runs: o.Runs, iterations: o.Iterations, log: run.Log}
	if bench.runs < 1 {
		return fmt.Errorf("--runs is %d, want at least 1", bench.runs)
	}
	if bench.iterations < every {
		return fmt.Errorf("--iterations is %d, want at least %d", bench.iterations, every)
	}
	report, start := Report{Machine: lab.Machine(), Runs: bench.runs, Iterations: bench.iterations}, time.Now()
	results, err := bench.measure(ctx)
	if err != nil {
		return err
	}
	report.Seconds = time.Since(start).Seconds()
	if report.Curves, err = curvesOf(results, bench.iterations); err != nil {
		return err
	}
	report.Claims = claimsOf(report.Curves)
	return run.Report(&report)
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d runs of %d iterations in %.1f s; test error in dB: mean ± deviation between runs, "+
		"expected, difference\n\n", r.Machine, r.Runs, r.Iterations, r.Seconds)
	if err := r.errorTable().Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nbytes an iteration, all 10 servers; exposed: share of a total's entries that fewer than "+
		"%d clients contribute to\n\n", leastSharers)
	if err := r.byteTable().Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nFigure 2\n")
	for _, c := range r.Claims {
		fmt.Fprintf(w, "\n%s: %s\n    %s\n", c.Claim, c.Holds, c.Figures)
	}
	return nil
}

// errorTable lays out the test errors, one row for each curve.
func (r *Report) errorTable() *table.Table {
	head := []string{"MSE dB"}
	for _, m := range r.Curves[0].Readings {
		head = append(head, m.Moment, "expected", "off by", fmt.Sprintf("by ≤ %.1f", tolerance))
	}
	t := table.New(head...)
	for _, c := range r.Curves {
		cells := []string{c.Name}
		for _, m := range c.Readings {
			cells = append(append(cells, fmt.Sprintf("%.2f ± %.2f", m.DB, m.Deviation)), m.comparisonCells()...)
		}
		t.Add(cells...)
	}
	return t
}

// comparisonCells writes what was expected, if anything was.
func (m Reading) comparisonCells() []string {
	if m.Table == nil {
		return []string{"", "", ""}
	}
	return []string{fmt.Sprintf("%.2f", *m.Table), fmt.Sprintf("%+.2f", *m.Difference), yesNo(*m.Within)}
}

// byteTable lays out the traffic.
func (r *Report) byteTable() *table.Table {
	t := table.New("", "clients, paper", "clients, sent", "servers", "exposed")
	for _, c := range r.Curves {
		t.Addf("%s|%.0f|%.0f|%.0f|%.0f %%", c.Name, c.PaperBytes, c.SentBytes, c.ServerBytes, 100*c.ExposedShare)
	}
	return t
}
