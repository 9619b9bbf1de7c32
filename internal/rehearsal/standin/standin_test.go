package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// training is a contract of a bank with the label, a telco, and a helper without data.
func training(rows int, parameters map[string]any) *contract.Contract {
	all := map[string]any{"active": []any{"bank"}, "label": "default"}
	for name, v := range parameters {
		all[name] = v
	}
	return &contract.Contract{
		Job: &contract.Job{Name: "credit", Algorithm: contract.FDSKL, Task: contract.TaskTrain, Proposer: "bank",
			Parties: []string{"bank", "telco", "court"}, Table: "train", Parameters: all},
		Parties: []contract.Facts{{Name: "bank", Role: "active", Rows: rows, Columns: 3},
			{Name: "telco", Role: "passive", Rows: rows, Columns: 4}, {Name: "court", Role: "helper"}},
	}
}

// tables lays out a contract's tables, writes them and reads them as a node does.
func tables(t *testing.T, l *Layout) map[string]*dataset.Reading {
	t.Helper()
	made, err := l.OverColumns()
	must(t, err)
	all := make(map[string]*dataset.Reading)
	for name, table := range made {
		all[name] = written(t, table)
	}
	return all
}

func written(t *testing.T, table *Table) *dataset.Reading {
	t.Helper()
	path := filepath.Join(t.TempDir(), "train.csv")
	must(t, table.Write(path))
	source, o, err := dataset.Locate(path, dataset.Options{})
	must(t, err)
	for _, c := range table.People {
		o.Identify = append(o.Identify, c.Name)
	}
	r, err := dataset.Load(context.Background(), source, o)
	must(t, err)
	return r
}

// read reads a table for a training.
func read(t *testing.T, r *dataset.Reading, label string) *dataset.Table {
	t.Helper()
	_, o, err := dataset.Locate(r.Path, dataset.Options{})
	must(t, err)
	o.Label = label
	table, err := r.Table(o)
	must(t, err)
	return table
}

// TestTablesAreOfTheShapeThatTheContractStates trains nothing, and looks at what a training would be given.
func TestTablesAreOfTheShapeThatTheContractStates(t *testing.T) {
	for name, of := range map[string]struct {
		parameters map[string]any
		kind       string
		classes    int
	}{
		"two classes": {nil, joint.Classification, 2},
		"classes":     {map[string]any{"target": "classification", "classes": int64(5)}, joint.Classification, 5},
		"numbers":     {map[string]any{"target": "regression"}, joint.Regression, 0},
	} {
		c := training(60, of.parameters)
		p, err := fdskl.ParamsOf(c.Job.Parameters, c.Job.Parties)
		must(t, err)
		all := tables(t, &Layout{Contract: c})
		if len(all) != 2 {
			t.Fatalf("%s: %d tables, want those of bank and telco", name, len(all))
		}
		bank, telco := read(t, all["bank"], "default"), read(t, all["telco"], "")
		if !slices.Equal(bank.IDs, telco.IDs) {
			t.Errorf("%s: the tables are of different people", name)
		}
		kind, classes, err := vertical.TargetOf(bank, "default", "")
		if err != nil || kind != of.kind || classes != of.classes {
			t.Errorf("%s: the label is %d %s, error %v", name, classes, kind, err)
		}
		for i, table := range []*dataset.Table{bank, telco} {
			prepared, err := vertical.PrepareTraining(table, p.Goal(), i == 0)
			must(t, err)
			f := c.Parties[i]
			if table.Rows() != f.Rows || len(prepared.Columns) != f.Columns || prepared.Rows.Columns() != f.Columns {
				t.Errorf("%s: %s has %d rows and %d columns, %d to a model", name, f.Name, table.Rows(), len(prepared.Columns),
					prepared.Rows.Columns())
			}
		}
	}
}

// TestBinsAreAsManyAsTheContractStates cuts made-up columns as a scorecard does.
func TestBinsAreAsManyAsTheContractStates(t *testing.T) {
	edges := map[string]any{"age": []any{25.0, 35.0, 50.0}}
	for _, of := range []struct{ bank, telco int }{{4 + 11, 40}, {4 + 2, 3}, {4, 0}} {
		c := training(400, map[string]any{"bins": int64(10), "min_cell": int64(20), "edges": edges})
		c.Job.Algorithm = contract.GLM
		c.Parties[0].Bins, c.Parties[1].Bins = of.bank, of.telco
		p, err := fdskl.ParamsOf(c.Job.Parameters, c.Job.Parties)
		must(t, err)
		for name, r := range tables(t, &Layout{Contract: c}) {
			label := ""
			if name == "bank" {
				label = "default"
			}
			prepared, err := vertical.PrepareTraining(read(t, r, label), p.Goal().At(name == "bank"), name == "bank")
			must(t, err)
			f := c.Parties[c.Job.Index(name)]
			if got := prepared.Rows.Columns(); got != f.Bins || len(prepared.Columns) != f.Columns {
				t.Errorf("%s has %d bins in %d columns, want %d in %d", name, got, len(prepared.Columns), f.Bins, f.Columns)
			}
		}
	}
}

// TestASchemaSaysWhatKindColumnsAre surveys a table that was made of a survey.
func TestASchemaSaysWhatKindColumnsAre(t *testing.T) {
	schema := &Schema{Rows: 1000, Columns: []dataset.ColumnSurvey{
		{Name: "age", Kind: dataset.KindNumber}, {Name: "default", Kind: dataset.KindCategory, Label: true},
		{Name: "region", Kind: dataset.KindCategory, Levels: 7, Missing: 250}, {Name: "land", Kind: dataset.KindConstant},
		{Name: "since", Kind: dataset.KindDate, Missing: 100},
	}}
	c := training(2000, nil)
	l := &Layout{Contract: c, Schemas: map[string]*Schema{"telco": schema}}
	r := tables(t, l)["telco"]
	_, o, err := dataset.Locate(r.Path, dataset.Options{})
	must(t, err)
	s, err := r.Survey(o)
	must(t, err)
	var got []string
	for _, c := range s.Columns {
		got = append(got, fmt.Sprintf("%s %d", c.Kind, c.Levels))
	}
	if want := "number 0, category 7, constant 0, number 0"; strings.Join(got, ", ") != want {
		t.Errorf("the columns are %v, want %s", got, want)
	}
	// Of 2000 cells a quarter and a tenth are missing, to within six standard deviations.
	for i, share := range map[int]float64{0: 0, 1: 0.25, 3: 0.1} {
		far := math.Abs(float64(s.Columns[i].Missing) - share*2000)
		if far > 10+6*math.Sqrt(2000*share*(1-share)) {
			t.Errorf("column %d lacks %d of 2000 cells, want about %v", i, s.Columns[i].Missing, share*2000)
		}
	}
	c.Parties[1].Columns++
	if _, err := l.OverColumns(); err == nil || !strings.Contains(err.Error(), "the schema of telco has 4 columns") {
		t.Errorf("a schema of another table: error %v", err)
	}
}

// TestPeopleOfAnAlignment counts ids as an alignment does.
func TestPeopleOfAnAlignment(t *testing.T) {
	identifiers := []keys.Identifier{
		{Name: "phone", Columns: []keys.IDColumn{{Name: "phone", E164: "+49"}}},
		{Name: "name", Columns: []keys.IDColumn{{Name: "name", Trim: true, Casefold: true},
			{Name: "born", Date: "02.01.2006"}}},
	}
	c := &contract.Contract{Job: &contract.Job{Task: contract.TaskAlign, Parties: []string{"bank", "telco", "shop"}},
		Parties: []contract.Facts{{Name: "bank", Rows: 50, IDs: []int{40, 45}},
			{Name: "telco", Rows: 30, IDs: []int{30, 30}}, {Name: "shop"}}}
	for _, by := range [][]keys.Identifier{nil, identifiers} {
		made, err := (&Layout{Contract: c, Identifiers: by, Common: 0.5}).OfAlignment()
		must(t, err)
		common := make(map[ids.ID]int)
		for name, table := range made {
			r := written(t, table)
			ids := read(t, r, "").IDs
			f := c.Parties[c.Job.Index(name)]
			if len(ids) != f.Rows {
				t.Errorf("%s has %d rows, want %d", name, len(ids), f.Rows)
			}
			for k, id := range by {
				recipe, err := newRecipe(id, k)
				must(t, err)
				found := identified(t, r, recipe, id)
				if len(found) != f.IDs[k] {
					t.Errorf("%s has %d ids %q, want %d", name, len(found), id.Name, f.IDs[k])
				}
				for one := range found {
					common[one]++
				}
			}
		}
		shared := 0
		for _, n := range common {
			if n == 2 {
				shared++
			}
		}
		if want := 15 * len(by); shared != want {
			t.Errorf("%d ids are common, want %d", shared, want)
		}
	}
}

func newRecipe(id keys.Identifier, pass int) (*ids.Recipe, error) {
	return ids.New(keys.Hash{1}, id, pass)
}

// identified makes the ids of a table's rows.
func identified(t *testing.T, r *dataset.Reading, recipe *ids.Recipe, id keys.Identifier) map[ids.ID]bool {
	t.Helper()
	var names []string
	for _, c := range id.Columns {
		names = append(names, c.Name)
	}
	columns, lines, err := r.Texts(names...)
	must(t, err)
	found := make(map[ids.ID]bool)
	for row := range lines {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c[row])
		}
		if one, ok, err := recipe.Of(cells); err != nil {
			t.Fatal(err)
		} else if ok {
			found[one] = true
		}
	}
	return found
}

// TestALiarsTableIsNotMadeUp has a member state more than fits on a disk.
func TestALiarsTableIsNotMadeUp(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, lie := range map[string]func(*contract.Facts){
		"rows":    func(f *contract.Facts) { f.Rows = 1 << 40 },
		"columns": func(f *contract.Facts) { f.Columns = 1 << 40 },
		"both":    func(f *contract.Facts) { f.Rows, f.Columns = math.MaxInt/2, math.MaxInt/2 },
		"many":    func(f *contract.Facts) { f.Rows, f.Columns = 1<<24-1, 1<<6 },
	} {
		c := training(60, nil)
		lie(&c.Parties[1])
		if _, err := (&Layout{Contract: c}).OverColumns(); err == nil {
			t.Errorf("%s: a table of %d rows and %d columns is laid out", name, c.Parties[1].Rows, c.Parties[1].Columns)
		}
	}
	c := training(60, map[string]any{"bins": int64(10)})
	for _, bins := range []int{1, 61 * 4, 1 << 40} {
		c.Parties[1].Bins = bins
		if _, err := (&Layout{Contract: c}).OverColumns(); err == nil {
			t.Errorf("a table with %d bins is laid out", bins)
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 100<<20 {
		t.Errorf("refusing took %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}

func TestTheSameLayoutGivesTheSameBytes(t *testing.T) {
	var texts [2][]byte
	for i := range texts {
		made, err := (&Layout{Contract: training(40, nil)}).OverColumns()
		must(t, err)
		path := filepath.Join(t.TempDir(), "bank.csv")
		must(t, made["bank"].Write(path))
		if texts[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("two tables of one layout differ")
	}
}

// TestASketchStatesWhatSchemasSay sketches a job that no node was asked about.
func TestASketchStatesWhatSchemasSay(t *testing.T) {
	read := func(text string) *Schema {
		s := new(Schema)
		must(t, json.Unmarshal([]byte(text), s))
		return s
	}
	schemas := map[string]*Schema{
		"bank": read(`{"rows":100,"columns":[{"kind":"number"},{"kind":"category","levels":3},` +
			`{"kind":"category","label":true}],"label":{"classes":[{"value":"a"},{"value":"b"},{"value":"c"}]}}`),
		"telco": read(`{"rows":80,"columns":[{"kind":"number"}]}`),
	}
	job := training(0, nil).Job
	job.Rows = "common"
	c, err := Sketch(registry.Program(), job, schemas, 0.5)
	must(t, err)
	var got []string
	for _, f := range c.Parties {
		got = append(got, fmt.Sprintf("%s %s %d %d", f.Name, f.Role, f.Rows, f.Columns))
	}
	if want := "bank active 40 2, telco passive 40 1, court passive 0 0"; strings.Join(got, ", ") != want {
		t.Errorf("the parties are %v, want %s", got, want)
	}
	if c.Job.Parameters["classes"] != int64(3) || job.Parameters["classes"] != nil {
		t.Errorf("parameters %v of %v, want three classes in the sketch alone", c.Job.Parameters, job.Parameters)
	}
	made, err := (&Layout{Contract: c, Schemas: schemas, Sketched: true}).OverColumns()
	if err != nil || made["bank"].Label.Classes != 3 || made["bank"].Columns[1].Levels != 3 || len(made) != 2 {
		t.Errorf("tables %+v, error %v", made, err)
	}
	delete(schemas, "bank")
	_, err = Sketch(registry.Program(), job, schemas, 0.5)
	if err == nil || !strings.Contains(err.Error(), "no schema of bank, who holds") {
		t.Errorf("without the label holder's schema: error %v", err)
	}
}

// TestAStandInHasTheEventOfItsJob, in a column of numbers where it is one.
func TestAStandInHasTheEventOfItsJob(t *testing.T) {
	for event, want := range map[string][2]string{"": {"class-01", "class-02"}, "bad": {"not bad", "bad"}, "1": {"0", "1"},
		"+1": {"0", "+1"}, "-1.0": {"-2", "-1.0"}} {
		l := &Label{Classes: 2, Event: event}
		if got := [2]string{l.cell(0, 0.9), l.cell(1, 0.1)}; got != want {
			t.Errorf("event %q: the first two rows are %q, want %q", event, got, want)
		}
		if got := [2]string{l.cell(9, 0.1), l.cell(9, 0.9)}; got != want {
			t.Errorf("event %q: other rows are %q, want %q", event, got, want)
		}
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
