package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
)

// linearLambda regularises the linear baseline.
const linearLambda = 1e-6

// Baseline is how a model without a federation does on the test rows.
type Baseline struct {
	Name    string  `json:"name"`
	Error   float64 `json:"error"` // share of wrong labels, or root mean square error
	Seconds float64 `json:"seconds"`
}

// Guess returns the test error of always answering the commonest training label, or for a
// regression the training mean.
func (d *Data) Guess(target string) (float64, error) {
	p := fdskl.Params{Label: d.Label, Target: target}
	train, err := d.labels(d.Train[0], p)
	if err != nil {
		return 0, err
	}
	test, err := d.labels(d.Test[0], p)
	if err != nil {
		return 0, err
	}
	var mean float64
	for _, y := range train {
		mean += y / float64(len(train))
	}
	var wrong float64
	for _, y := range test {
		if target == fdskl.Regression {
			wrong += (y - mean) * (y - mean)
		} else if (y > 0) != (mean > 0) {
			wrong++
		}
	}
	if target == fdskl.Regression {
		return math.Sqrt(wrong / float64(len(test))), nil
	}
	return wrong / float64(len(test)), nil
}

// labels reads a table's labels.
func (d *Data) labels(t *dataset.Table, p fdskl.Params) ([]float64, error) {
	kind := dataset.Classification
	if p.Target == fdskl.Regression {
		kind = dataset.Regression
	}
	l, err := t.Labels(d.Label, kind)
	if err != nil {
		return nil, err
	}
	return l.Values, nil
}

// Pooled trains on all columns in one process, in the clear, with the job's parameters.
func (d *Data) Pooled(ctx context.Context, p fdskl.Params, owners []keys.ID, workers int) (Baseline, error) {
	return d.kernel(ctx, "all columns pooled in the clear", p, d.Train, d.Test, owners, workers)
}

// Alone trains on one party's columns and the label.
func (d *Data) Alone(ctx context.Context, p fdskl.Params, party int, owner keys.ID, workers int) (Baseline, error) {
	train, err := d.withLabel(d.Train, party)
	if err != nil {
		return Baseline{}, err
	}
	test, err := d.withLabel(d.Test, party)
	if err != nil {
		return Baseline{}, err
	}
	name := d.Names[party] + " alone"
	if party > 0 {
		name += ", given the labels"
	}
	return d.kernel(ctx, name, p, []*dataset.Table{train}, []*dataset.Table{test}, []keys.ID{owner}, workers)
}

// withLabel returns a party's table with the label's column.
func (d *Data) withLabel(tables []*dataset.Table, party int) (*dataset.Table, error) {
	if party == 0 {
		return tables[0], nil
	}
	label, err := tables[0].Column(d.Label)
	if err != nil {
		return nil, err
	}
	t := *tables[party]
	t.Columns = append(append([]dataset.Column(nil), t.Columns...), *label)
	return &t, nil
}

// kernel trains and tests one kernel baseline.
func (d *Data) kernel(ctx context.Context, name string, p fdskl.Params, train, test []*dataset.Table, owners []keys.ID, workers int) (_ Baseline, err error) {
	dir, err := os.MkdirTemp("", "hanse-baseline-")
	if err != nil {
		return Baseline{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pooled := vertical.NewPooled(p, train, owners)
	start := time.Now()
	m, err := pooled.Train(ctx, dir, workers)
	if err != nil {
		return Baseline{}, fmt.Errorf("%s: %w", name, err)
	}
	b := Baseline{Name: name, Seconds: time.Since(start).Seconds()}
	scores, err := pooled.Score(ctx, test, workers)
	if err != nil {
		return Baseline{}, fmt.Errorf("%s: %w", name, err)
	}
	labels, err := d.labels(test[0], p)
	if err != nil {
		return Baseline{}, err
	}
	b.Error = fdskl.TestError(scores, labels, m)
	return b, nil
}

// Linear fits a ridge regression on all columns in the clear.
func (d *Data) Linear(p fdskl.Params) (Baseline, error) {
	start := time.Now()
	var train, test []*kernel.Matrix
	var y []float64
	for i, t := range d.Train {
		prepared, err := vertical.PrepareTraining(t, p, i == 0)
		if err != nil {
			return Baseline{}, err
		}
		if i == 0 {
			y = prepared.Labels.Values
		}
		rows, err := vertical.PrepareScoring(d.Test[i], &fdskl.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser})
		if err != nil {
			return Baseline{}, err
		}
		train, test = append(train, prepared.Rows), append(test, rows)
	}
	l, err := vertical.FitLinear(train, y, linearLambda)
	if err != nil {
		return Baseline{}, err
	}
	b := Baseline{Name: "linear on all columns", Seconds: time.Since(start).Seconds()}
	labels, err := d.labels(d.Test[0], p)
	if err != nil {
		return Baseline{}, err
	}
	b.Error = fdskl.TestError(l.Score(test), labels, &fdskl.Model{Params: p, Scale: 1})
	return b, nil
}

// ScoresError compares a scores file's column with the test labels: the predicted label for
// classes, the prediction for a regression. Rows are matched by id.
func (d *Data) ScoresError(path, target string) (float64, error) {
	want, err := d.Test[0].Column(d.Label)
	if err != nil {
		return 0, err
	}
	column, o := d.Label, dataset.Options{ID: "id"}
	if target == fdskl.Regression {
		column = "prediction"
	} else if want.Kind == dataset.Categorical {
		o.Categorical = []string{column} // 01 is not 1
	}
	t, err := dataset.Read(path, o)
	if err != nil {
		return 0, err
	}
	got, err := t.Column(column)
	if err != nil {
		return 0, err
	}
	at := make(map[string]int, len(d.Test[0].IDs))
	for i, id := range d.Test[0].IDs {
		at[id] = i
	}
	if t.Rows() != len(at) {
		return 0, fmt.Errorf("%s has %d rows, the test has %d", path, t.Rows(), len(at))
	}
	var wrong float64
	for i, id := range t.IDs {
		j, ok := at[id]
		if !ok {
			return 0, fmt.Errorf("%s: id %q is not a test row", path, id)
		}
		wrong += deviation(got, i, want, j, target)
	}
	wrong /= float64(t.Rows())
	if target == fdskl.Regression {
		return math.Sqrt(wrong), nil
	}
	return wrong, nil
}

// deviation is 0 or 1 for classes, the squared difference for numbers.
func deviation(got *dataset.Column, i int, want *dataset.Column, j int, target string) float64 {
	if target == fdskl.Regression {
		return (got.Values[i] - want.Values[j]) * (got.Values[i] - want.Values[j])
	}
	if cell(got, i) == cell(want, j) {
		return 0
	}
	return 1
}

// cell renders a cell for comparison.
func cell(c *dataset.Column, i int) string {
	if c.Kind == dataset.Categorical {
		return c.Levels[c.Codes[i]]
	}
	return fmt.Sprint(c.Values[i])
}
