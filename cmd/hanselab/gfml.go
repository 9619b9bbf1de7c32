package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"
)

// gfmlCommand repeats the simulation of the paper on graph-federated learning.
func gfmlCommand() *cli.Command {
	return &cli.Command{
		Name:  "gfml",
		Usage: "the simulation of the O-GFML paper: ten servers, 500 clients, seven ways to share",
		Description: `Runs section IV of Gogineni, Werner, Huang and Kuh in one process: O-GFML, and PSO-GFML with
40, 4 and 1 of 200 entries shared, coordinated and not, all on the same streams. Prints the
test error in dB beside the figures it should come to, the bytes, and what becomes of the
claims that the paper reads from its Figure 2. The table's figures are means of 20 runs.

   hanselab gfml --runs 20 --plot docs
   hanselab gfml --runs 2 --iterations 500 --json`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "runs", Value: 20, Usage: "`N` runs, with features and streams of their own"},
			&cli.IntFlag{Name: "iterations", Value: gfmlFull, Usage: "`N` iterations of each run"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			&cli.StringFlag{Name: "plot", Usage: "draw gfml.svg and gfml.png in this `FOLDER`"},
		},
		Action: runGFML,
	}
}

// gfmlReport is what the command prints with --json.
type gfmlReport struct {
	Machine    string      `json:"machine"`
	Runs       int         `json:"runs"`
	Iterations int         `json:"iterations"`
	Seconds    float64     `json:"seconds"`
	Curves     []gfmlCurve `json:"curves"`
	Claims     []gfmlClaim `json:"claims"`
}

// runGFML makes all runs and reports.
func runGFML(c *cli.Context) error {
	lab := gfmlLab{runs: c.Int("runs"), iterations: c.Int("iterations"), log: c.App.ErrWriter}
	if lab.runs < 1 {
		return fmt.Errorf("--runs is %d, want at least 1", lab.runs)
	}
	if lab.iterations < gfmlEvery {
		return fmt.Errorf("--iterations is %d, want at least %d", lab.iterations, gfmlEvery)
	}
	report, start := gfmlReport{Machine: machine(), Runs: lab.runs, Iterations: lab.iterations}, time.Now()
	results, err := lab.measure(c.Context)
	if err != nil {
		return err
	}
	report.Seconds = time.Since(start).Seconds()
	if report.Curves, err = gfmlCurves(results, lab.iterations); err != nil {
		return err
	}
	report.Claims = gfmlClaims(report.Curves)
	if folder := c.String("plot"); folder != "" {
		if err := drawGFML(folder, report.Curves); err != nil {
			return err
		}
	}
	return report.print(c.App.Writer, c.Bool("json"))
}

// print prints the report for people or for programs.
func (r *gfmlReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%d runs of %d iterations in %.1f s; test error in dB: mean ± deviation between runs, expected, difference\n\n", r.Machine, r.Runs, r.Iterations, r.Seconds)
	if err := r.errorTable().write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nbytes an iteration, all 10 servers; exposed: share of a total's entries that fewer than %d clients contribute to\n\n", leastSharers)
	if err := r.byteTable().write(w); err != nil {
		return err
	}
	r.printClaims(w)
	return nil
}

// errorTable lays out the test errors, one row for each curve.
func (r *gfmlReport) errorTable() *table {
	head := []string{"MSE dB"}
	for _, m := range r.Curves[0].Readings {
		head = append(head, m.Moment, "expected", "off by", fmt.Sprintf("by ≤ %.1f", gfmlTolerance))
	}
	t := newTable(head...)
	for _, c := range r.Curves {
		cells := []string{c.Name}
		for _, m := range c.Readings {
			cells = append(append(cells, fmt.Sprintf("%.2f ± %.2f", m.DB, m.Deviation)), m.comparisonCells()...)
		}
		t.add(cells...)
	}
	return t
}

// comparisonCells writes what was expected, if anything was.
func (m gfmlReading) comparisonCells() []string {
	if m.Table == nil {
		return []string{"", "", ""}
	}
	return []string{fmt.Sprintf("%.2f", *m.Table), fmt.Sprintf("%+.2f", *m.Difference), yesNo(*m.Within)}
}

// byteTable lays out the traffic.
func (r *gfmlReport) byteTable() *table {
	t := newTable("", "clients, paper", "clients, sent", "servers", "exposed")
	for _, c := range r.Curves {
		t.add(c.Name, fmt.Sprintf("%.0f", c.PaperBytes), fmt.Sprintf("%.0f", c.SentBytes), fmt.Sprintf("%.0f", c.ServerBytes), fmt.Sprintf("%.0f %%", 100*c.ExposedShare))
	}
	return t
}

// printClaims says what becomes of the claims.
func (r *gfmlReport) printClaims(w io.Writer) {
	fmt.Fprintf(w, "\nFigure 2\n")
	for _, c := range r.Claims {
		fmt.Fprintf(w, "\n%s: %s\n    %s\n", c.Claim, c.Holds, c.Figures)
	}
}
