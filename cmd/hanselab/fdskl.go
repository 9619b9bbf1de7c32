package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/lab/rivals"
	"github.com/hanse-project/hanse/protocol"
)

// benchmarkParties is how many parties share the columns of a set.
const benchmarkParties = 4

// fdsklCommand measures FDSKL on real data sets.
func fdsklCommand() *cli.Command {
	return &cli.Command{
		Name:  "fdskl",
		Usage: "time, error, bytes and memory of FDSKL on real data sets, four parties, masked sums",
		Description: `For each set and seed: hanse demo with the set's settings, which trains over TLS
between four processes and then the same algorithm in one process in the clear; with
--svm also LIBSVM on the same rows. Needs the data sets' files in one folder; hanselab sets lists them.

   hanselab fdskl --data ../shared/data --svm
   hanselab fdskl --data ../shared/data --sets a9a,phishing --seeds 1
   hanselab fdskl --data ../shared/data --sets gisette,cod-rna,real-sim --rows 10000`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.StringSliceFlag{Name: "sets", Value: cli.NewStringSlice(setNames()...), Usage: "`SETS` to measure"},
			rowsFlag(),
			&cli.IntFlag{Name: "seeds", Value: 3, Usage: "`N` splits of each set, with the seeds 1 to N"},
			&cli.BoolFlag{Name: "svm", Usage: "compare with svm-train (RBF, C = 10)"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			&cli.StringFlag{Name: "plot", Usage: "draw fdskl.svg and fdskl.png in this `FOLDER`"},
			programFlag(),
		},
		Action: runFDSKL,
	}
}

// fdsklReport is what the command prints with --json.
type fdsklReport struct {
	Machine string      `json:"machine"`
	Parties int         `json:"parties"`
	Seeds   int         `json:"seeds"`
	Sets    []setReport `json:"sets"`
}

// runFDSKL measures all chosen sets.
func runFDSKL(c *cli.Context) (err error) {
	if c.Int("seeds") < 1 {
		return fmt.Errorf("--seeds is %d, want at least 1", c.Int("seeds"))
	}
	sets, err := chooseSets(c.StringSlice("sets"), c.String("data"))
	if err != nil {
		return err
	}
	if c.Bool("svm") {
		if err := rivals.CheckLIBSVM(); err != nil {
			return fmt.Errorf("--svm: %w", err)
		}
	}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	lab := fdsklLab{dir: dir, svm: c.Bool("svm"), log: c.App.ErrWriter}
	report := fdsklReport{Machine: machine(), Parties: benchmarkParties, Seeds: c.Int("seeds")}
	if lab.program, err = findProgram(c.Context, c.String("hanse"), dir); err != nil {
		return err
	}
	for i := range sets {
		if err := sets[i].prepare(dir, c.Int("rows")); err != nil {
			return fmt.Errorf("%s: %w", sets[i].name, err)
		}
		r, err := lab.measure(c.Context, &sets[i], report.Seeds)
		if err != nil {
			return fmt.Errorf("%s: %w", sets[i].name, err)
		}
		report.Sets = append(report.Sets, r)
	}
	if folder := c.String("plot"); folder != "" {
		if err := drawSets(folder, report.Sets); err != nil {
			return err
		}
	}
	return report.print(c.App.Writer, c.Bool("json"))
}

// fdsklLab measures sets.
type fdsklLab struct {
	program *program
	dir     string
	svm     bool
	log     io.Writer
}

// measure runs a set once for each seed.
func (l *fdsklLab) measure(ctx context.Context, s *benchmarkSet, seeds int) (setReport, error) {
	var runs []*demoRun
	var svms []rivals.LIBSVMRun
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		r, err := l.program.demo(ctx, append(s.flags(benchmarkParties, seed), "--record", protocol.RecordDigests)...)
		if err != nil {
			return setReport{}, err
		}
		runs = append(runs, r)
		fmt.Fprintf(l.log, "%s seed %d: %.2f s, in the clear %.2f s, error %.4f", s.name, seed, r.TrainSeconds, r.ClearSeconds, r.TestError)
		if l.svm {
			v, err := runSVM(ctx, s, benchmarkParties, seed, l.dir)
			if err != nil {
				return setReport{}, err
			}
			svms = append(svms, v)
			fmt.Fprintf(l.log, "; svm-train %.2f s, %.2f of a processor, error %.4f", v.Seconds, v.CPUSeconds, v.Error)
		}
		fmt.Fprintln(l.log)
	}
	return summarise(s, runs, svms), nil
}

// print prints the report for people or for programs.
func (r *fdsklReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%d parties, masked, fixed; %d splits of 3:1; times are medians, errors means ± deviations\n\n", r.Machine, r.Parties, r.Seeds)
	return setTable(r.Sets).write(w)
}
