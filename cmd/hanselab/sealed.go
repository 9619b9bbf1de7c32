package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// sealedCommand measures sealed jobs beside masked ones and the clear.
func sealedCommand() *cli.Command {
	return &cli.Command{
		Name:  "sealed",
		Usage: "time, error, bytes and memory of sealed training and scoring, beside masked and in the clear",
		Description: `For each set, number of features, ring and seed: four processes train a sealed job over
TLS and score the test rows, four others a masked one, and the same is done in one
process in the clear. Scores are compared, row by row, with the same steps in floating
point and with the exact solution, from the parties' model parts; bytes with the
formulas of docs/sealed.md. With --mbit all links are slowed: so many megabits a second
out of each node and into it, and --delay one way.

   hanselab sealed --data ../shared/data
   hanselab sealed --data ../shared/data --sets a9a --features 512 --loss logistic
   hanselab sealed --data ../shared/data --sets a9a --features 1024 --ring 64 --mbit 100`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.StringSliceFlag{Name: "sets", Value: cli.NewStringSlice("a9a", "defaultcredit", "phishing"), Usage: "`SETS` to measure"},
			rowsFlag(),
			&cli.IntSliceFlag{Name: "features", Value: cli.NewIntSlice(512, 1024), Usage: "numbers `D` of random features"},
			&cli.IntSliceFlag{Name: "ring", Value: cli.NewIntSlice(64, 48), Usage: "`BITS` of a shared feature on the wire"},
			&cli.StringFlag{Name: "loss", Value: kernel.Square.String(), Usage: "square, logistic or smooth-hinge"},
			&cli.IntFlag{Name: "outer", Usage: "`E` outer steps of a loss that is not the square", DefaultText: "5; 8 for phishing"},
			&cli.IntFlag{Name: "steps", Usage: "`T` steps", DefaultText: "the set's"},
			&cli.IntFlag{Name: "seeds", Value: 1, Usage: "`N` splits of each set, with the seeds 1 to N"},
			&cli.IntFlag{Name: "repeat", Value: 1, Usage: "train `N` times; of the times the fastest counts"},
			&cli.Float64Flag{Name: "mbit", Usage: "slow every node's links to `N` megabits a second out and in"},
			&cli.DurationFlag{Name: "delay", Value: 20 * time.Millisecond, Usage: "with --mbit: a message takes `TIME` to its receiver"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			programFlag(),
		},
		Action: runSealed,
	}
}

// sealedReport is what the command prints with --json.
type sealedReport struct {
	Machine string      `json:"machine"`
	Parties int         `json:"parties"`
	Mbit    float64     `json:"mbit,omitempty"`
	Delay   float64     `json:"delay_seconds,omitempty"`
	Runs    []sealedRun `json:"runs"`
}

// runSealed measures all chosen cases.
func runSealed(c *cli.Context) (err error) {
	cases, err := sealedCases(c)
	if err != nil {
		return err
	}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	lab := &sealedLab{dir: dir, repeat: c.Int("repeat"), log: c.App.ErrWriter}
	report := sealedReport{Machine: machine(), Parties: benchmarkParties, Mbit: c.Float64("mbit")}
	if report.Mbit > 0 {
		report.Delay = c.Duration("delay").Seconds()
		lab.slow = &slowness{rate: report.Mbit * 1e6 / 8, delay: c.Duration("delay")}
	}
	if lab.program, err = findProgram(c.Context, c.String("hanse"), dir); err != nil {
		return err
	}
	for _, of := range cases {
		if err := of.set.prepare(dir, c.Int("rows")); err != nil {
			return fmt.Errorf("%s: %w", of.set.name, err)
		}
		r, err := lab.measure(c.Context, of)
		if err != nil {
			return fmt.Errorf("%s, %d features, ring %d: %w", of.set.name, of.features, of.ring, err)
		}
		report.Runs = append(report.Runs, *r)
	}
	return report.print(c.App.Writer, c.Bool("json"))
}

// sealedCase is one measurement.
type sealedCase struct {
	set      *benchmarkSet
	features int
	ring     int
	loss     string
	steps    int
	outer    int
	seed     uint64
}

// sealedCases lists what is to be measured.
func sealedCases(c *cli.Context) ([]sealedCase, error) {
	sets, err := chooseSets(c.StringSlice("sets"), c.String("data"))
	if err != nil {
		return nil, err
	}
	loss, err := kernel.ParseLoss(c.String("loss"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"seeds", "repeat"} {
		if c.Int(name) < 1 {
			return nil, fmt.Errorf("--%s is %d, want at least 1", name, c.Int(name))
		}
	}
	if c.Float64("mbit") < 0 || c.Duration("delay") < 0 {
		return nil, fmt.Errorf("--mbit is %v and --delay %v, want neither below 0", c.Float64("mbit"), c.Duration("delay"))
	}
	var list []sealedCase
	for i := range sets {
		for _, d := range c.IntSlice("features") {
			for _, ring := range c.IntSlice("ring") {
				for seed := range uint64(c.Int("seeds")) {
					of := newSealedCase(&sets[i], d, ring, loss)
					of.seed = seed + 1
					of.steps, of.outer = given(c, "steps", of.steps), given(c, "outer", of.outer)
					list = append(list, of)
				}
			}
		}
	}
	return list, nil
}

// given returns a flag's number, or another when the flag was left out.
func given(c *cli.Context, name string, otherwise int) int {
	if c.IsSet(name) {
		return c.Int(name)
	}
	return otherwise
}

// newSealedCase settles the steps: as many as bring the error within 0.002 of the exact solution.
func newSealedCase(s *benchmarkSet, features, ring int, loss kernel.Loss) sealedCase {
	c := sealedCase{set: s, features: features, ring: ring, loss: loss.String(), steps: 100}
	slow := slices.Contains([]string{"phishing", "ijcnn1", "w8a"}, s.name)
	switch {
	case slow && features > 512 && loss == kernel.Square:
		c.steps = 400
	case slow:
		c.steps = 300
	case s.name == "defaultcredit":
		c.steps = 150
	}
	if loss != kernel.Square {
		if c.outer = 5; slow {
			c.outer = 8
		}
	}
	return c
}

// width returns the settings of a kernel on a set: those of the square loss, also where the set is measured with
// another loss elsewhere.
func (c *sealedCase) width() (sigma, lambda float64) {
	if c.set.name == "phishing" {
		return 6.633, 1e-8
	}
	return c.set.sigma, c.set.lambda
}

// print prints the report for people or for programs.
func (r *sealedReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%d parties, fastest of repeated trainings", r.Machine, r.Parties)
	if r.Mbit > 0 {
		fmt.Fprintf(w, "; links of %g Mbit/s out of and into every node, %g ms one way", r.Mbit, 1e3*r.Delay)
	}
	fmt.Fprint(w, "\n\n")
	for _, t := range []*table{errorTable(r.Runs), timeTable(r.Runs), byteTable(r.Runs)} {
		if err := t.write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}
