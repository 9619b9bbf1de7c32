package trial

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
)

// linearLambda regularises the linear baseline.
const linearLambda = 1e-6

// Baseline is how a model without a federation does on the test rows.
type Baseline struct {
	Name    string   `json:"name"`
	Party   string   `json:"party,omitempty"` // whose columns alone it knows
	Error   float64  `json:"error"`           // share of wrong labels, or root mean square error
	AUC     *float64 `json:"auc,omitempty"`   // of two classes, if test rows are of both
	Seconds float64  `json:"seconds"`

	NotConverged string `json:"not_converged,omitempty"` // says so where the optimum was not reached
}

// judge fills in how scores of the test rows do.
func (b *Baseline) judge(scores, labels []float64, m *fdskl.Model) {
	b.Error = fdskl.TestError(scores, labels, m)
	if m.Params.Target == joint.Regression || m.Params.Scores() > 1 {
		return
	}
	if area := figures.AUC(labels, scores); area != nil {
		b.AUC = &area.Value
	}
}

// Guess returns the test error of always answering the commonest training label, or for a
// regression the training mean.
func (d *Data) Guess(p fdskl.Params) (float64, error) {
	train, test, err := d.labels(p)
	if err != nil {
		return 0, err
	}
	var mean float64
	counts := make(map[float64]int)
	common := train.Values[0]
	for _, y := range train.Values {
		mean += y / float64(len(train.Values))
		if counts[y]++; counts[y] > counts[common] || counts[y] == counts[common] && y < common {
			common = y
		}
	}
	var wrong float64
	for _, y := range test.Values {
		if p.Target == joint.Regression {
			wrong += (y - mean) * (y - mean)
		} else if y != common {
			wrong++
		}
	}
	if p.Target == joint.Regression {
		return math.Sqrt(wrong / float64(len(test.Values))), nil
	}
	return wrong / float64(len(test.Values)), nil
}

// labels reads the labels of the rows to train on and to test on; the latter are of the former's classes.
func (d *Data) labels(p fdskl.Params) (train, test *dataset.Labels, err error) {
	if p.Target == joint.Regression {
		if train, err = d.Train[0].Labels(d.Label, dataset.Regression); err == nil {
			test, err = d.Test[0].Labels(d.Label, dataset.Regression)
		}
	} else if train, err = d.Train[0].Labels(d.Label, dataset.Classification); err == nil {
		test, err = d.Test[0].LabelsOf(d.Label, train.Classes)
	}
	if err != nil {
		return nil, nil, err
	}
	for i, l := range []*dataset.Labels{train, test} {
		if n := len(l.Present) - l.Count(); n > 0 {
			return nil, nil, fmt.Errorf("label column %q is empty in %d of %d rows, the first with id %q: fill these cells or "+
				"leave their rows out", d.Label, n, len(l.Present),
				[]*dataset.Table{d.Train[0], d.Test[0]}[i].IDs[slices.Index(l.Present, false)])
		}
	}
	return train, test, nil
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
	b, err := d.kernel(ctx, name, p, []*dataset.Table{train}, []*dataset.Table{test}, []keys.ID{owner}, workers)
	b.Party = d.Names[party]
	return b, err
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
func (d *Data) kernel(ctx context.Context, name string, p fdskl.Params, train, test []*dataset.Table, owners []keys.ID,
	workers int) (_ Baseline, err error) {
	if p.Binned() {
		return d.scorecard(name, p, train, test)
	}
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
	_, labels, err := d.labels(p)
	if err != nil {
		return Baseline{}, err
	}
	b.judge(scores, labels.Values, m)
	b.NotConverged = m.NotConverged()
	return b, nil
}

// scorecard trains and tests one scorecard.
func (d *Data) scorecard(name string, p fdskl.Params, train, test []*dataset.Table) (Baseline, error) {
	start := time.Now()
	parts, rows, y, err := d.designs(p, train, test)
	if err != nil {
		return Baseline{}, err
	}
	loss, err := kernel.ParseLoss(p.Loss)
	if err != nil {
		return Baseline{}, err
	}
	columns := 0
	for _, t := range train {
		columns += len(t.Without(d.Label).Columns)
	}
	card, err := vertical.FitScorecard(parts, y, columns, float64(p.LambdaOf(len(y))), loss)
	if err != nil {
		return Baseline{}, fmt.Errorf("%s: %w", name, err)
	}
	b := Baseline{Name: name, Seconds: time.Since(start).Seconds(),
		NotConverged: fdskl.NotConverged(card.ToGo, "", "a larger lambda or fewer bins")}
	_, labels, err := d.labels(p)
	if err != nil {
		return Baseline{}, err
	}
	b.judge(card.Score(rows), labels.Values, &fdskl.Model{Params: p, Scale: 1})
	return b, nil
}

// designs normalises tables of training and test rows, the first of which has the label.
func (d *Data) designs(p fdskl.Params, train, test []*dataset.Table) (parts, rows []*kernel.Matrix, y []float64,
	err error) {
	for i, t := range train {
		prepared, err := vertical.PrepareTraining(t, p.Goal(), i == 0)
		if err != nil {
			return nil, nil, nil, err
		}
		if i == 0 {
			y = prepared.Labels.Values
		}
		scored, err := vertical.PrepareScoring(test[i],
			&joint.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser})
		if err != nil {
			return nil, nil, nil, err
		}
		parts, rows = append(parts, prepared.Rows), append(rows, scored)
	}
	return parts, rows, y, nil
}

// Linear fits a ridge regression on all columns in the clear.
func (d *Data) Linear(p fdskl.Params) (Baseline, error) {
	start := time.Now()
	p.BinParams = fdskl.BinParams{} // its columns are numbers
	train, test, y, err := d.designs(p, d.Train, d.Test)
	if err != nil {
		return Baseline{}, err
	}
	_, labels, err := d.labels(p)
	if err != nil {
		return Baseline{}, err
	}
	each := p.Scores()
	rights := y
	if each > 1 { // each class against the rest
		rights = make([]float64, len(y)*each)
		for j, class := range y {
			for k := range each {
				if rights[j*each+k] = -1; class == float64(k) {
					rights[j*each+k] = 1
				}
			}
		}
	}
	models, err := vertical.FitLinear(train, rights, each, linearLambda)
	if err != nil {
		return Baseline{}, err
	}
	scores := vertical.ScoreEach(models, test)
	b := Baseline{Name: "linear on all columns", Seconds: time.Since(start).Seconds()}
	b.judge(scores, labels.Values, &fdskl.Model{Params: p, Scale: 1})
	return b, nil
}

// ScoresError compares a scores file's column with the test labels: the predicted label for
// classes, the prediction for a regression. Rows are matched by id; every test row must have a score, and any other
// row "no match" in its place.
func (d *Data) ScoresError(path, target string) (float64, error) {
	want, err := d.Test[0].Column(d.Label)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	column := "class"
	if target == joint.Regression {
		column = "prediction"
	}
	at := -1
	if len(rows) > 0 {
		at = slices.Index(rows[0], column)
	}
	if at < 2 && target != joint.Regression || at < 1 {
		return 0, fmt.Errorf("%s has no column %q", path, column)
	}
	left := make(map[string]int, len(d.Test[0].IDs)) // test rows without a score so far
	for i, id := range d.Test[0].IDs {
		left[id] = i
	}
	var sum float64
	for _, row := range rows[1:] {
		i, ok := left[row[0]]
		if noMatch := row[1] == "no match"; noMatch == ok {
			return 0, fmt.Errorf("%s: id %q has score %q, want one for every test row once, and \"no match\" for others",
				path, row[0], row[1])
		} else if noMatch {
			continue
		}
		delete(left, row[0])
		wrong, err := deviation(row[at], want, i, target)
		if err != nil {
			return 0, fmt.Errorf("%s: id %q: %w", path, row[0], err)
		}
		sum += wrong
	}
	if len(left) > 0 {
		return 0, fmt.Errorf("%s lacks the scores of %d of %d test rows", path, len(left), d.Test[0].Rows())
	}
	sum /= float64(d.Test[0].Rows())
	if target == joint.Regression {
		return math.Sqrt(sum), nil
	}
	return sum, nil
}

// deviation is 0 or 1 for classes, the squared difference for numbers.
func deviation(got string, want *dataset.Column, i int, target string) (float64, error) {
	if want.Kind == dataset.Categorical {
		if _, same := dataset.NewKnown([]string{got}).Find(want.Levels[want.Codes[i]]); same {
			return 0, nil
		}
		return 1, nil
	}
	v, err := strconv.ParseFloat(got, 64)
	switch off := v - want.Values[i]; {
	case err != nil:
		return 0, err
	case target == joint.Regression:
		return off * off, nil
	case off == 0:
		return 0, nil
	}
	return 1, nil
}
