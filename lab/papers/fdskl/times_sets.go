package fdskl

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TimesReport is what the command prints with --json.
type TimesReport struct {
	Machine string      `json:"machine"`
	Parties int         `json:"parties"`
	Seeds   int         `json:"seeds"`
	Sets    []setReport `json:"sets"`
}

// TimesOptions are the choices of RunTimes.
type TimesOptions struct {
	Data  string
	Sets  []string
	Rows  int
	Seeds int
	SVM   bool
}

// RunTimes measures all chosen sets.
func RunTimes(ctx context.Context, run lab.Run, o TimesOptions) error {
	if err := lab.AtLeast(1, lab.Number("seeds", o.Seeds)); err != nil {
		return err
	}
	chosen, err := sets.Choose(o.Sets, o.Data)
	if err != nil {
		return err
	}
	if o.SVM {
		if err := rivals.CheckLIBSVM(); err != nil {
			return fmt.Errorf("--svm: %w", err)
		}
	}
	return run.WithProgram(ctx, func(dir string, p *lab.Program) error {
		bench := timesLab{program: p, dir: dir, svm: o.SVM, log: run.Log}
		report := TimesReport{Machine: lab.Machine(), Parties: sets.Parties, Seeds: o.Seeds}
		for i := range chosen {
			if err := chosen[i].Prepare(dir, o.Rows); err != nil {
				return fmt.Errorf("%s: %w", chosen[i].Name, err)
			}
			r, err := bench.measure(ctx, &chosen[i], report.Seeds)
			if err != nil {
				return fmt.Errorf("%s: %w", chosen[i].Name, err)
			}
			report.Sets = append(report.Sets, r)
		}
		return run.Report(&report)
	})
}

// timesLab measures sets.
type timesLab struct {
	program *lab.Program
	dir     string
	svm     bool
	log     io.Writer
}

// measure runs a set once for each seed.
func (l *timesLab) measure(ctx context.Context, s *sets.Benchmark, seeds int) (setReport, error) {
	var runs []*lab.Trained
	var svms []rivals.LIBSVMRun
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		r, err := l.program.Train(ctx, append(s.Flags(sets.Parties, seed), "--record", contract.RecordDigests)...)
		if err != nil {
			return setReport{}, err
		}
		runs = append(runs, r)
		fmt.Fprintf(l.log, "%s seed %d: %.2f s, in the clear %.2f s, error %.4f", s.Name, seed, r.TrainSeconds,
			r.ClearSeconds, r.TestError)
		if l.svm {
			v, err := runSVM(ctx, s, seed, l.dir)
			if err != nil {
				return setReport{}, err
			}
			svms = append(svms, v)
			fmt.Fprintf(l.log, "; svm-train %.2f s, %.2f of a processor, error %.4f", v.Seconds, v.CPUSeconds,
				v.Error)
		}
		fmt.Fprintln(l.log)
	}
	return summarise(s, runs, svms), nil
}

// Print prints the report for people.
func (r *TimesReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d parties, masked, fixed; %d splits of 3:1; times are medians, errors means ± "+
		"deviations\n\n", r.Machine, r.Parties, r.Seeds)
	return setTable(r.Sets).Write(w)
}

// runSVM trains and tests LIBSVM on the rows that the federation has with this seed, scaled in the same way.
func runSVM(ctx context.Context, s *sets.Benchmark, seed uint64, dir string) (rivals.LIBSVMRun, error) {
	r, err := readRows(*s, math.MaxInt, seed)
	if err != nil {
		return rivals.LIBSVMRun{}, err
	}
	svm := rivals.LIBSVM{Cost: svmCost, Gamma: r.svmGamma(), Dir: dir}
	return svm.Run(ctx, r.split.Train, r.split.TrainLabels, r.split.Test, r.split.TestLabels)
}
