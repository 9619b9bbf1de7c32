package vertical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// tables returns three owners' tables of the same rows; the first has the label "y".
func tables(rows int, seed uint64) []*dataset.Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	label := make([]float64, rows)
	var all []*dataset.Table
	for i := range 3 {
		t := &dataset.Table{Path: fmt.Sprintf("table-%d.csv", i), IDName: "id"}
		x := make([]float64, rows)
		for j := range x {
			t.IDs = append(t.IDs, fmt.Sprintf("%04d", j))
			x[j] = rng.NormFloat64()
			label[j] += math.Sin(x[j] * float64(i+1))
		}
		t.Columns = []dataset.Column{{Name: fmt.Sprintf("x%d", i), Values: x}}
		all = append(all, t)
	}
	for j := range label {
		label[j] = math.Copysign(1, label[j])
	}
	all[0].Columns = append(all[0].Columns, dataset.Column{Name: "y", Values: label})
	return all
}

// pooledOf prepares a pooled training whose phases follow from the owners.
func pooledOf(p fdskl.Params, all []*dataset.Table, owners []keys.ID) *Pooled {
	pooled := NewPooled(p, all, owners)
	pooled.phase = func(part int) fdskl.PhaseSeed { return fdskl.PhaseSeed(owners[part]) }
	return pooled
}

// TestPooledDoesNotDependOnTheOrder trains and scores with the owners in two orders: turns add
// exactly, so that model and scores are the same, bit for bit.
func TestPooledDoesNotDependOnTheOrder(t *testing.T) {
	for _, schedule := range []string{fdskl.Fixed, fdskl.DoublyStochastic} {
		p := fdskl.Params{Active: []string{"a"}, Label: "y", Schedule: schedule, Features: 64, Seed: "s"}.WithDefaults()
		train, test := tables(200, 1), tables(50, 2)
		owners := []keys.ID{{1}, {2}, {3}}
		var scores [][]float64
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}} {
			pooled := pooledOf(p, pick(train, order), pick(owners, order))
			m, err := pooled.Train(t.Context(), t.TempDir(), 2)
			must(t, err)
			got, err := pooled.Score(t.Context(), pick(test, order), 2)
			must(t, err)
			labels, err := test[0].Labels("y", dataset.Classification)
			must(t, err)
			if e := fdskl.TestError(got, labels.Values, m); e > 0.4 {
				t.Errorf("%s: test error %v", schedule, e)
			}
			scores = append(scores, got)
		}
		if !slices.Equal(scores[0], scores[1]) {
			t.Errorf("%s: the scores are\n%v in one order,\n%v in the other", schedule, scores[0][:3], scores[1][:3])
		}
	}
}

// pick returns the elements at the given places.
func pick[E any](all []E, places []int) []E {
	var out []E
	for _, i := range places {
		out = append(out, all[i])
	}
	return out
}

// TestPrepareTrainingErrors name file, row and column.
func TestPrepareTrainingErrors(t *testing.T) {
	p := fdskl.Params{Active: []string{"a"}, Label: "y", Constant: "refuse"}.WithDefaults()
	for _, c := range []struct {
		spoil func(t *dataset.Table)
		want  string
	}{
		{func(t *dataset.Table) { t.Columns[1].Values[3] = math.NaN() },
			`table-0.csv: label column "y" is empty in 1 of 9 rows, the first with id "0003", ` +
				`and no other party has labels: fill these cells or leave their rows out`},
		{func(t *dataset.Table) { t.Columns[0].Values[3], t.Missing = math.NaN(), "refuse" },
			`table-0.csv: row with id "0003", column "x0": the cell is missing: fill it, or choose what missing cells become`},
		{func(t *dataset.Table) { clear(t.Columns[0].Values) }, `table-0.csv: column "x0" is constant on the training rows: leave it out, or let the job drop constant columns`},
	} {
		table := tables(9, 1)[0]
		c.spoil(table)
		if _, err := PrepareTraining(table, p.Goal(), true); fmt.Sprint(err) != c.want {
			t.Errorf("error is\n\t%v\nwant\n\t%s", err, c.want)
		}
	}
}
