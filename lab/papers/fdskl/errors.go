package fdskl

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// The methods, as tables and diagrams name them.
const (
	NameOwn         = "FDSKL"
	NameFixed       = "our fixed"
	NameConstant    = "DSG constant"
	NameDiminishing = "DSG diminishing"
	NameLIBSVM      = "LIBSVM"
	NamePPSVMV      = "PP-SVMV"
	NameLinear      = "FD-SVRG"
	NameTrees       = "boosted trees"
)

// Methods lists all methods.
func Methods() []string {
	return []string{NameOwn, NameFixed, NameConstant, NameDiminishing, NameLIBSVM, NamePPSVMV, NameLinear, NameTrees}
}

// Trial is one method on several splits of a set.
type Trial struct {
	Method  string    `json:"method"`
	Errors  []float64 `json:"test_errors"`
	Seconds []float64 `json:"cpu_seconds"`
	Missing string    `json:"missing,omitempty"` // why there are none
}

// Figure6 is every method's error on splits of a set.
type Figure6 struct {
	Set    string  `json:"set"`
	Rows   int     `json:"rows_train"`
	Steps  Steps   `json:"steps"`
	Trials []Trial `json:"trials"`
}

// linearLambda regularises FD-SVRG, and epochs are how often it takes the whole gradient.
const (
	linearLambda = 1e-5
	linearEpochs = 20
)

// Figure6 trains every method on splits of a set, three quarters of the rows to train on.
func (l *Lab) Figure6(ctx context.Context, s sets.Benchmark, steps Steps, splits int) (*Figure6, error) {
	f := &Figure6{Set: s.Name, Steps: steps}
	for seed := uint64(1); seed <= uint64(splits); seed++ {
		r, err := readRows(s, l.Rows, seed)
		if err != nil {
			return nil, err
		}
		f.Rows = r.train.Len()
		for k, m := range l.methods(ctx, r, steps, seed) {
			if len(f.Trials) == k {
				f.Trials = append(f.Trials, Trial{Method: m.name, Missing: m.missing})
			}
			if m.missing != "" {
				continue
			}
			at, err := m.train()
			if err != nil {
				return nil, fmt.Errorf("%s, split %d: %w", m.name, seed, err)
			}
			trial := &f.Trials[k]
			trial.Errors, trial.Seconds = append(trial.Errors, at.Error), append(trial.Seconds, at.CPUSeconds)
			l.say("%s, split %d, %s: error %.4f, %.2f CPU s", s.Name, seed, m.name, at.Error, at.CPUSeconds)
		}
	}
	return f, nil
}

// method is one way to train on rows.
type method struct {
	name    string
	missing string
	train   func() (Point, error)
}

// methods lists all ways, or why one cannot be gone.
func (l *Lab) methods(ctx context.Context, r *rows, steps Steps, seed uint64) []method {
	descend := func(step func(int) float64) func() (Point, error) {
		return func() (Point, error) {
			d := l.dsg(r, r.train, r.split.TrainLabels, step, steps.Width*r.sigma, seed)
			err := d.to(ctx, l.Iterations)
			return Point{l.Iterations, d.seconds, rivals.Errors(d.Scores(r.test), r.split.TestLabels)}, err
		}
	}
	list := []method{
		{name: NameOwn, train: func() (Point, error) { return l.own(ctx, r, l.Iterations, steps, seed) }},
		{name: NameFixed, train: func() (Point, error) { return l.fixed(ctx, r, r.set.Features, seed) }},
		{name: NameDiminishing, train: descend(rivals.Diminishing(steps.Gamma, steps.Turn))},
		{name: NameLIBSVM, train: func() (Point, error) { return l.libsvm(ctx, r) }},
		{name: NamePPSVMV, train: func() (Point, error) { at, _, err := l.ppsvmv(ctx, r); return at, err }},
		{name: NameLinear, train: func() (Point, error) { return l.linear(r, seed) }},
		{name: NameTrees, train: func() (Point, error) { return l.boosted(r) }},
	}
	if !l.SVM {
		list[3].missing = "svm-train is not installed"
	}
	if need := rivals.MatrixBytes(r.train.Len()); need > l.Memory {
		list[4].missing = fmt.Sprintf("its matrix takes %.1f GB", float64(need)/1e9)
	}
	for i, m := range list {
		if !l.asked(m.name) {
			list[i].missing = "not asked for"
		}
	}
	return list
}

// linear trains FD-SVRG, with an intercept at the first party.
func (l *Lab) linear(r *rows, seed uint64) (Point, error) {
	var train, test []*rivals.Rows
	for i := range r.split.Train {
		train, test = append(train, rivals.Stack(r.split.Train[i])), append(test, rivals.Stack(r.split.Test[i]))
	}
	train[0], test[0] = train[0].WithOnes(), test[0].WithOnes()
	f := &rivals.FDSVRG{Lambda: linearLambda, Epochs: linearEpochs, Seed: seed}
	seconds, err := l.timed(func() error { f.Train(train, r.split.TrainLabels); return nil })
	return Point{linearEpochs, seconds, rivals.Errors(f.Scores(test), r.split.TestLabels)}, err
}

// boosted trains boosted trees.
func (l *Lab) boosted(r *rows) (Point, error) {
	b := rivals.DefaultBoost()
	b.Trees = l.Trees
	seconds, err := l.timed(func() error { b.Train(r.train, r.split.TrainLabels); return nil })
	return Point{l.Trees, seconds, rivals.Errors(b.Scores(r.test), r.split.TestLabels)}, err
}
