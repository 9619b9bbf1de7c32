package wired_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// trainers are three parties with 40 rows: the bank has labels, which are the signs of the shop's column.
type trainers struct {
	*testnet.Federation
	job    *contract.Job
	tables []*wired.Table
	agreed *contract.Contract
}

// newTrainers agrees on a training; change says what differs in the job.
func newTrainers(t *testing.T, change func(*contract.Job)) *trainers {
	t.Helper()
	f := &trainers{Federation: testnet.Found(t, "bank", "shop", "telco")}
	f.job = &contract.Job{Format: "hanse-job-v1", Name: "signs", Algorithm: contract.FDSKL, Task: contract.TaskTrain,
		Table: "train", Parties: f.Names, Privacy: keys.PrivacyMasked, Topology: contract.Star.String(),
		Parameters: map[string]any{"active": []any{"bank"}, "label": "y", "seed": "s", "loss": "square",
			"features": int64(64)}}
	change(f.job)
	y := kernel.Column{Name: "y", Codes: make([]int32, 40), Levels: []string{"minus", "plus"}}
	x, z := kernel.Column{Name: "x"}, kernel.Column{Name: "z"}
	for k := range 40 {
		x.Values, z.Values = append(x.Values, math.Sin(float64(7*k+1))), append(z.Values, math.Cos(float64(3*k)))
		if x.Values[k] > 0 {
			y.Codes[k] = 1
		}
	}
	var facts []contract.Facts
	for i, columns := range [][]kernel.Column{{z, y}, {x}, {z}} {
		f.tables = append(f.tables, f.table(t, i, 0, columns...))
		facts = append(facts, f.tables[i].Facts)
	}
	var err error
	if f.agreed, err = wired.Draft(f.job, facts); err != nil {
		t.Fatal(err)
	}
	for _, k := range f.Keys {
		f.agreed.Sign(k)
	}
	return f
}

// ids are those of the rows, from one on.
func ids(first int) (list []string) {
	for i := range 40 {
		list = append(list, fmt.Sprintf("r%02d", first+i))
	}
	return list
}

// table is party i's, whose ids begin with that of one row.
func (f *trainers) table(t *testing.T, i, first int, columns ...kernel.Column) *wired.Table {
	t.Helper()
	table, err := wired.NewTable(f.job, f.Parties[i], ids(first), columns...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// run has each party train on its table, in folders below dir.
func (f *trainers) run(t *testing.T, dir string) ([]joint.Part, []error) {
	t.Helper()
	c, err := f.agreed.InForce()
	if err != nil {
		t.Fatal(err)
	}
	models := make([]joint.Part, len(f.Names))
	return models, f.Each(func(i int) (err error) {
		p := wired.Party{Key: f.Keys[i], Transport: f.Transport(f.IDs[i]), Contract: c, Folder: dir + "/" + f.Names[i]}
		models[i], err = wired.Run(t.Context(), p, wired.Part{Table: f.tables[i]}.Train)
		return err
	})
}

// wantError wants a text in an error.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// TestTrainings: labels that are a function of another party's column are learned, in every mode that a program has.
// Transcripts are not gone on with under another contract.
func TestTrainings(t *testing.T) {
	for name, change := range map[string]func(*contract.Job){
		"masked":    func(*contract.Job) {},
		"encrypted": func(j *contract.Job) { j.Aggregation, j.Parameters["features"] = contract.AggregateHE, int64(16) },
		"published": func(j *contract.Job) { j.Privacy, j.Topology = keys.PrivacyPublished, contract.Tree.String() },
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := newTrainers(t, change), t.TempDir()
			models, errs := f.run(t, dir)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			m := models[0].Model()
			if m.TrainError > .1 || m.Contract != f.agreed.Hash() || !slices.Equal(m.Columns, []string{"z"}) {
				t.Errorf("error %v of contract %s, columns %q", m.TrainError, m.Contract.Short(), m.Columns)
			}
			_, errs = newTrainers(t, change).run(t, dir)
			wantError(t, errors.Join(errs...), "it is of contract "+f.agreed.Hash().Short())
		})
	}
}

// TestTablesThatAreNotAgreed: nothing is computed where a party brings another table than it said, or other rows.
func TestTablesThatAreNotAgreed(t *testing.T) {
	z, more := kernel.Column{Name: "z", Values: []float64{39: 1}}, kernel.Column{Name: "more", Values: []float64{39: 2}}
	f := newTrainers(t, func(*contract.Job) {})
	f.tables[2] = f.table(t, 2, 0, z, more)
	_, errs := f.run(t, t.TempDir())
	wantError(t, errs[2], `the table of telco is not the one of the contract of job "signs": it has 40 rows and 2 `+
		`columns, agreed are 40 and 1; bring that one`)
	f = newTrainers(t, func(*contract.Job) {})
	f.tables[2] = f.table(t, 2, 1, z)
	_, errs = f.run(t, t.TempDir())
	wantError(t, errs[2], "telco and bank have rows of other ids, so that nothing was computed")
}

// TestRefusals: what a party would do by mistake is refused before anything is sent.
func TestRefusals(t *testing.T) {
	f := newTrainers(t, func(*contract.Job) {})
	c, err := f.agreed.InForce()
	if err != nil {
		t.Fatal(err)
	}
	part := wired.Part{Table: f.tables[0]}.Train
	_, err = wired.Run(t.Context(), wired.Party{Key: f.Keys[0]}, part)
	wantError(t, err, "a session of no contract")
	_, err = wired.Run(t.Context(), wired.Party{Key: testnet.Found(t, "stranger").Keys[0], Contract: c}, part)
	wantError(t, err, "is of no party of job")
	_, err = wired.NewTable(f.job, f.Parties[1], []string{"b", "a"})
	wantError(t, err, `id "b" comes before "a"`)
	_, err = wired.NewTable(f.job, f.Parties[1], ids(0), kernel.Column{Name: "x", Values: make([]float64, 39)})
	wantError(t, err, `column "x" has 39 cells of 40 rows`)
	facts := []contract.Facts{f.tables[0].Facts, f.tables[1].Facts, f.tables[2].Facts}
	facts[1].Rows = 39
	_, err = wired.Draft(f.job, facts)
	wantError(t, err, "bank has 40 rows and shop has 39")
	f.job.Privacy = keys.PrivacySealed
	_, err = wired.Draft(f.job, facts)
	wantError(t, err, "a node does the others")
}
