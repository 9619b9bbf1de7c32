package vertical

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
)

// trained reads a table and prepares it for training; the model part has what scoring needs of it.
func trained(t *testing.T, text string, o dataset.Options) (*Prepared, *joint.Model) {
	t.Helper()
	table, err := dataset.Read(written(t, text), o)
	must(t, err)
	p := fdskl.Params{Constant: "drop"}.WithDefaults()
	prepared, err := PrepareTraining(table, p.Goal(), false)
	must(t, err)
	return prepared, &joint.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser, Reading: ReadingOf(table, o)}
}

// written returns a file with that text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// scored reads new rows for a part of a model and prepares them.
func scored(t *testing.T, text string, m *joint.Model) (*kernel.Matrix, error) {
	t.Helper()
	table, err := dataset.Read(written(t, text), ScoringOptions(dataset.Options{}, m))
	must(t, err)
	return PrepareScoring(table, m)
}

// TestMissingCellsAreALevel trains where missing cells are a category, and scores rows of which all are missing, or
// have nothing but codes, by what the model part says alone.
func TestMissingCellsAreALevel(t *testing.T) {
	train := "id,age,code,job\na,10,1,clerk\nb,NA,2,\nc,30,1,pilot\nd,20,2,clerk\n"
	for _, c := range []struct {
		way    string
		binary []string
		set    []uint16
	}{
		{"", []string{"age=", "code=1", "code=2", "job=", "job=clerk", "job=pilot"}, []uint16{0, 2, 3, 1, 3}},
		{"level", []string{"age=", "code=1", "code=2", "job=", "job=clerk", "job=pilot"}, []uint16{0, 2, 3, 1, 3}},
		{"mean,level", []string{"code=1", "code=2", "job=", "job=clerk", "job=pilot"}, []uint16{1, 2, 0, 2}},
	} {
		prepared, m := trained(t, train, dataset.Options{Missing: c.way, Categorical: []string{"code"}})
		if !slices.Equal(prepared.Rows.Binary, c.binary) {
			t.Fatalf("%q: binary columns are %q, want %q", c.way, prepared.Rows.Binary, c.binary)
		}
		rows, err := scored(t, "id,y,job,code,age\nd,,,2,NA\ne,,?,1,40\n", m)
		must(t, err)
		if !slices.Equal(rows.Values, []float64{0.5, 1.5}) || !slices.Equal(rows.Set, c.set) {
			t.Errorf("%q: numbers %v, categories %v", c.way, rows.Values, rows.Set)
		}
	}
}

// TestLevelsThatTrainingNeverSaw are none of the known and counted, or refused, as the training's table said.
func TestLevelsThatTrainingNeverSaw(t *testing.T) {
	const train, later = "id,job\na,clerk\nb,pilot\n", "id,job\nc,clerk\nd,\ne,smith\n"
	_, m := trained(t, train, dataset.Options{})
	rows, err := scored(t, later, m)
	if err != nil || !slices.Equal(rows.Starts, []uint32{0, 1, 1, 1}) {
		t.Errorf("rows %v (%v)", rows, err)
	}
	_, m = trained(t, train, dataset.Options{Levels: "error"})
	want := `row with id "d", column "job": ` +
		`the cell is missing, as none was in the training rows, which have clerk, pilot: fill it`
	if _, err := scored(t, later, m); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestNewRowsAreReadAsTheTrainingWas scores a row whose date could be read in two ways, and a dash that is nothing.
func TestNewRowsAreReadAsTheTrainingWas(t *testing.T) {
	_, m := trained(t, "id,since,age\na,01/02/1970,1\nb,31/01/1970,-\nc,11/01/1970,3\n",
		dataset.Options{NA: []string{"-"}, Missing: "mean"})
	data, err := roundTrip(m)
	must(t, err)
	rows, err := scored(t, "id,since,age\nd,02/01/1970,-\n", data)
	if want := []float64{-9.0 / 21, 0.5}; err != nil || !slices.Equal(rows.Values, want) {
		t.Errorf("row %v (%v), want %v", rows.Values, err, want)
	}
}

// roundTrip is a model part as it is read from its file.
func roundTrip(m *joint.Model) (*joint.Model, error) {
	data, err := cbor.Marshal(m.Reading)
	if err != nil {
		return nil, err
	}
	again := *m
	again.Reading = new(joint.Reading)
	return &again, cbor.Unmarshal(data, again.Reading)
}

// TestColumnsThatWereLeftOutNeedNotBeThere scores rows without a column that was constant in the training, and with one
// that was empty there and holds anything now.
func TestColumnsThatWereLeftOutNeedNotBeThere(t *testing.T) {
	_, m := trained(t, "id,x,land,gone\na,1,de,\nb,2,de,NA\nc,5,de,\n", dataset.Options{})
	rows, err := scored(t, "id,x,gone\nd,3,7\ne,5,seven\n", m)
	if err != nil || !slices.Equal(rows.Values, []float64{0.5, 1}) {
		t.Errorf("rows %+v (%v)", rows, err)
	}
}
