package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
)

// ageAt reads the second row's age from a table.
func ageAt(t *testing.T, table *dataset.Table, err error) float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c, err := table.Column("age")
	if err != nil {
		t.Fatal(err)
	}
	return c.Values[1]
}

// TestTablesAreReadAsAsked reads one table in turn for a training, for two models and for a training again: each
// fills the empty cell in its own way, and only what is asked for again in the same way comes from memory.
func TestTablesAreReadAsAsked(t *testing.T) {
	l := newLeague(t, 3, 1)
	l.writeTable(0, "train", "id,age,y\na,10,0\nb,,1\nc,20,1\n")
	spec := TableSpec{Path: l.tablePath(0, "train"), Options: dataset.Options{Missing: "mean"}}
	tables := newTables(map[string]TableSpec{"train": spec})
	one := &fdskl.Model{Columns: []string{"age"}, Fills: map[string]float64{"age": 7}}
	two := &fdskl.Model{Columns: []string{"age"}, Fills: map[string]float64{"age": 8}}
	for i, model := range []*fdskl.Model{nil, one, two, nil, one} {
		var table *dataset.Table
		var err error
		want := 15.0
		if model != nil {
			want = model.Fills["age"]
			table, err = tables.loadFor("train", model)
		} else {
			table, err = tables.load("train", "")
		}
		if got := ageAt(t, table, err); got != want {
			t.Errorf("reading %d: the empty cell became %v, want %v", i+1, got, want)
		}
	}
	first, err := tables.load("train", "y")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := tables.load("train", "y"); err != nil || again != first {
		t.Errorf("the same reading was made twice (%v)", err)
	}
	l.writeTable(0, "train", "id,age,y\na,10,0\nb,,1\nc,30,1\n")
	table, err := tables.load("train", "y")
	if got := ageAt(t, table, err); got != 20 {
		t.Errorf("of another file the empty cell became %v, want 20", got)
	}
}

// TestTrainingAfterScoring scores a table with a model and then trains on it: the rows' empty cells are filled by
// that table and not by the earlier model. The table also has a category that is empty in places.
func TestTrainingAfterScoring(t *testing.T) {
	l := newLeague(t, 3, 60)
	for name, shift := range map[string]float64{"train": 0, "test": 100} {
		var b strings.Builder
		b.WriteString("id,age,job\n")
		for r := range 60 {
			age := fmt.Sprint(shift + float64(r%7))
			if r%10 == 3 {
				age = ""
			}
			fmt.Fprintf(&b, "r%05d,%s,%s\n", r, age, []string{"clerk", "", "pilot"}[r%3])
		}
		l.writeTable(1, name, b.String())
	}
	l.startAll()
	for _, name := range []string{"train", "test"} {
		spec := l.nodes[1].tables.specs[name]
		spec.Options.Missing = "mean,level"
		l.nodes[1].tables.specs[name] = spec
	}
	parameters := activeBank + "features = 8\nlambda = 1e-4\nsigma = 1.0\nloss = \"square\""
	_, first, err := l.propose(l.job("train", "privacy = \"masked\"", parameters))
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\nprivacy = \"masked\"", first)
	if _, _, err := l.propose(l.job("predict", head, "")); err != nil {
		t.Fatal(err)
	}
	_, second, err := l.propose(l.job("train", "privacy = \"masked\"\ntable = \"test\"", parameters))
	if err != nil {
		t.Fatal(err)
	}
	for contract, low := range map[string]float64{first.String(): 0, second.String(): 100} {
		m, err := l.nodes[1].modelOf(contract)
		if err != nil {
			t.Fatal(err)
		}
		if fill := m.Fills["age"]; fill < low || fill > low+6 {
			t.Errorf("empty ages were given %v, want the mean of the table's ages, from %v to %v", fill, low, low+6)
		}
		if s := m.Normaliser.Columns[1]; s.Scaling != kernel.OneHot || len(s.Levels) != 3 || s.Levels[0] != "" {
			t.Errorf("column job became %+v, want three levels, one of them empty", s)
		}
	}
}
