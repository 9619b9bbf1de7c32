package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
)

// TestTablesAreReadAsAsked reads one table in turn for a training, for two models and for a training again: a dash is
// a missing cell to one of the models and a category to the others, and only what is asked for again in the same way
// comes from memory.
func TestTablesAreReadAsAsked(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	l.writeTable(0, "train", "id,job,y\na,clerk,0\nb,-,1\nc,pilot,1\n")
	spec := jobs.TableSpec{Path: l.tablePath(0, "train")}
	tables := jobs.NewTables(map[string]jobs.TableSpec{"train": spec})
	one := &joint.Model{Columns: []string{"job"}}
	two := &joint.Model{Columns: []string{"job"}, Reading: &joint.Reading{NA: []string{"-"}, NAChosen: true}}
	for i, model := range []*joint.Model{nil, one, two, nil, one} {
		var table *dataset.Table
		var err error
		want := 3
		if model != nil {
			table, err = tables.LoadFor("train", model, nil)
			if model == two {
				want = 2
			}
		} else {
			table, err = tables.Load("train", "", nil)
		}
		must(t, err)
		if c, err := table.Column("job"); err != nil || len(c.Levels) != want {
			t.Errorf("reading %d: levels %q (%v), want %d", i+1, c.Levels, err, want)
		}
	}
	first, err := tables.Load("train", "y", nil)
	must(t, err)
	if again, err := tables.Load("train", "y", nil); err != nil || again != first {
		t.Errorf("the same reading was made twice (%v)", err)
	}
	l.writeTable(0, "train", "id,job,y\na,clerk,0\nb,-,1\nc,-,1\n")
	table, err := tables.Load("train", "y", nil)
	must(t, err)
	if c, err := table.Column("job"); err != nil || len(c.Levels) != 2 {
		t.Errorf("of another file the levels are %q (%v)", c.Levels, err)
	}
}

// TestTrainingAfterScoring scores a table with a model and then trains on it: the rows' empty cells are filled by
// that table and not by the earlier model. The table also has a category that is empty in places.
func TestTrainingAfterScoring(t *testing.T) {
	l := newTestNetwork(t, 3, 60)
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
		spec := l.nodes[1].tables.Specs[name]
		spec.Options.Missing = "mean,level"
		l.nodes[1].tables.Specs[name] = spec
	}
	parameters := activeBank + "features = 8\nlambda = 1e-4\nsigma = 1.0\nloss = \"square\""
	_, first, err := l.propose(l.job("train", "privacy = \"masked\"", parameters))
	must(t, err)
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\nprivacy = \"masked\"", first)
	if _, _, err := l.propose(l.job("predict", head, "")); err != nil {
		t.Fatal(err)
	}
	_, second, err := l.propose(l.job("train", "privacy = \"masked\"\ntable = \"test\"", parameters))
	must(t, err)
	for contract, low := range map[string]float64{first.String(): 0, second.String(): 100} {
		part, err := l.nodes[1].columns.Model(contract)
		must(t, err)
		m := part.Model()
		if fill := m.Normaliser.Columns[0].Fill; fill == nil || *fill < low || *fill > low+6 {
			t.Errorf("missing ages were given %v, want the mean of the table's ages, from %v to %v", fill, low, low+6)
		}
		if s := m.Normaliser.Columns[1]; s.Scaling != kernel.OneHot || len(s.Levels) != 3 || s.Levels[0] != "" {
			t.Errorf("column job became %+v, want three levels, one of them empty", s)
		}
	}
}

// TestEveryColumnAskedFor: a member that asks for every column as the label, and for another model each time, makes the
// node read the file once and keep no copies of it.
func TestEveryColumnAskedFor(t *testing.T) {
	const rows, columns = 12_000, 16
	l := newTestNetwork(t, 3, 1)
	rng := rand.New(rand.NewPCG(3, 5))
	var b strings.Builder
	b.WriteString("id")
	for c := range columns {
		fmt.Fprintf(&b, ",c%d", c)
	}
	for r := range rows {
		fmt.Fprintf(&b, "\nr%d", r)
		for c := range columns {
			if rng.IntN(20) == 0 {
				b.WriteString(",")
			} else {
				fmt.Fprintf(&b, ",%.6f", rng.NormFloat64()+float64(c))
			}
		}
	}
	l.writeTable(0, "train", b.String()+"\n")
	spec := jobs.TableSpec{Path: l.tablePath(0, "train"), Options: dataset.Options{Missing: "mean"}}
	tables := jobs.NewTables(map[string]jobs.TableSpec{"train": spec})
	before := heap()
	for c := range columns {
		name := fmt.Sprintf("c%d", c)
		labelled, err := tables.Load("train", name, nil)
		must(t, err)
		if column, err := labelled.Column(name); err != nil || !slices.ContainsFunc(column.Values, math.IsNaN) {
			t.Fatalf("the empty cells of the label %s were filled (%v)", name, err)
		}
		model := &joint.Model{Columns: []string{name}}
		if _, err := tables.LoadFor("train", model, nil); err != nil {
			t.Fatal(err)
		}
	}
	if tables.Readings != 1 || len(tables.Read) != 1 {
		t.Errorf("the file was read %d times, and %d readings are kept, want 1", tables.Readings, len(tables.Read))
	}
	if kept, one := heap()-before, int64(rows*columns*8); kept > 3*one {
		t.Errorf("%d bytes are kept after all these questions, the table has %d", kept, one)
	}
	runtime.KeepAlive(tables)
}

// heap is how much memory is kept: the least of several readings, since what has just ended may hold some for a moment.
func heap() int64 {
	var m runtime.MemStats
	least := int64(math.MaxInt64)
	for range 8 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc))
	}
	return least
}

// BenchmarkTwoLabels asks for a table of about 100 MB twice, as two jobs with different labels do.
func BenchmarkTwoLabels(b *testing.B) {
	const rows, columns = 200_000, 64
	l := newTestNetwork(b, 3, 1)
	rng := rand.New(rand.NewPCG(3, 5))
	var text strings.Builder
	text.WriteString("id")
	for c := range columns {
		fmt.Fprintf(&text, ",c%d", c)
	}
	for r := range rows {
		fmt.Fprintf(&text, "\nr%06d", r)
		for range columns {
			fmt.Fprintf(&text, ",%.5f", rng.NormFloat64())
		}
	}
	l.writeTable(0, "train", text.String()+"\n")
	spec := jobs.TableSpec{Path: l.tablePath(0, "train")}
	for b.Loop() {
		tables := jobs.NewTables(map[string]jobs.TableSpec{"train": spec})
		for _, label := range []string{"c0", "c1"} {
			if _, err := tables.Load("train", label, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}
