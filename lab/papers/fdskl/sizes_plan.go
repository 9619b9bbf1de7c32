package fdskl

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/credit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Settings of the growth runs. The times do not depend on the kernel's width; giving one saves the
// search for it.
const (
	growthSigma      = "1.5"
	growthIterations = "50" // of the solver, so that it always has the same work
	blockFeatures    = 16   // features that an iteration of the doubly stochastic schedule adds
)

// panelPlan says what one panel measures.
type panelPlan struct {
	size  string // what grows
	fixed string // what does not
	sizes []int
	flags func(size int) []string
	ways  []way
}

// way is one way to train.
type way struct {
	name  string
	flags func(size int) []string
}

// planGrowth lays the panels out.
func planGrowth(o GrowthOptions, dir string) ([]panelPlan, error) {
	for _, f := range []struct {
		flag  string
		sizes []int
	}{{"rows", o.Rows}, {"features", o.Features}, {"parties", o.Parties}, {"iterations", o.Iterations}} {
		if len(f.sizes) < 2 || f.sizes[0] < 1 || !ascending(f.sizes) {
			return nil, fmt.Errorf("--%s is %v, want two positive sizes or more that ascend", f.flag, f.sizes)
		}
	}
	rows, features := o.BaseRows, o.BaseFeatures
	table := filepath.Join(dir, "credit.csv")
	if err := writeCredit(table, people(rows)); err != nil {
		return nil, err
	}
	square := fixedWay("square loss", "square")
	logistic := fixedWay("logistic loss, "+growthIterations+" iterations", "logistic")
	return []panelPlan{
		{"training rows", fmt.Sprintf("4 parties, %d features", features), o.Rows, func(n int) []string {
			return withSize(people(n), features)
		}, []way{square, logistic}},
		{"random features", fmt.Sprintf("4 parties, %d rows", rows), o.Features, func(d int) []string {
			return withSize(people(rows), d)
		}, []way{square, logistic}},
		{"parties", fmt.Sprintf("%d rows, %d features", rows, features), o.Parties, func(q int) []string {
			return []string{"--data", table, "--label", credit.Label, "--parties", fmt.Sprint(q), "--features",
				fmt.Sprint(features)}
		}, []way{square, logistic}},
		{"iterations T", fmt.Sprintf("4 parties, %d rows, %d T features", o.ScheduleRows, blockFeatures),
			o.Iterations, func(t int) []string {
				return withSize(people(o.ScheduleRows), blockFeatures*t)
			}, []way{stochasticWay(), fixedWay("fixed", "logistic")}},
	}, nil
}

// ascending reports whether each size is larger than the one before.
func ascending(sizes []int) bool {
	for i := range len(sizes) - 1 {
		if sizes[i+1] <= sizes[i] {
			return false
		}
	}
	return true
}

// withSize returns the flags for generated data of a size.
func withSize(people, features int) []string {
	return []string{"--people", fmt.Sprint(people), "--features", fmt.Sprint(features)}
}

// fixedWay trains by the fixed schedule.
func fixedWay(name, loss string) way {
	return way{name, func(int) []string {
		return []string{"--schedule", fdskl.Fixed, "--loss", loss, "--sigma", growthSigma, "--iterations",
			growthIterations, "--record", contract.RecordDigests}
	}}
}

// stochasticWay trains by the paper's schedule with as many iterations as the size says.
func stochasticWay() way {
	return way{fdskl.DoublyStochastic, func(t int) []string {
		return []string{"--schedule", fdskl.DoublyStochastic, "--loss", "logistic", "--sigma", growthSigma,
			"--iterations", fmt.Sprint(t), "--record", contract.RecordDigests}
	}}
}

// people returns how many people give so many training rows.
func people(rows int) int { return int(math.Round(float64(rows) / trial.TrainShare)) }

// writeCredit writes the four firms' columns as one table, to be dealt to any number of parties.
func writeCredit(path string, people int) error {
	d := trial.Credit(people*4/3, 1) // of which three quarters are in Train
	whole := *d.Train[0]
	whole.Columns = append([]dataset.Column(nil), whole.Columns...)
	for i, t := range d.Train[1:] {
		for _, c := range t.Columns {
			c.Name = d.Names[i+1] + "_" + c.Name
			whole.Columns = append(whole.Columns, c)
		}
	}
	return lab.WriteFile(path, whole.WriteCSV)
}
