package vertical

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
)

// trained reads a table and prepares it for training; the model part has what scoring needs of it.
func trained(t *testing.T, text string, o dataset.Options) (*Prepared, *fdskl.Model) {
	t.Helper()
	table, err := dataset.Read(written(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	p := fdskl.Params{Constant: "drop"}.WithDefaults()
	prepared, err := PrepareTraining(table, p, false)
	if err != nil {
		t.Fatal(err)
	}
	return prepared, &fdskl.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser, Fills: table.Fills}
}

// written returns a file with that text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEmptyCellsAreALevel trains where an empty cell is a category, and scores rows of which all are empty, or have
// nothing but codes, by what the model part says alone.
func TestEmptyCellsAreALevel(t *testing.T) {
	train := "id,age,code,job\na,10,1,clerk\nb,,2,\nc,30,1,pilot\n"
	prepared, m := trained(t, train, dataset.Options{Missing: "mean,level", Categorical: []string{"code"}})
	want := []string{"code=1", "code=2", "job=", "job=clerk", "job=pilot"}
	if !slices.Equal(prepared.Rows.Binary, want) {
		t.Fatalf("binary columns are %q, want %q", prepared.Rows.Binary, want)
	}
	later := written(t, "id,y,job,code,age\nd,,,2,\ne,,,1,40\n")
	table, err := dataset.Read(later, ScoringOptions(dataset.Options{}, m))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PrepareScoring(table, m)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows.Values, []float64{0.5, 1.5}) || !slices.Equal(rows.Set, []uint16{1, 2, 0, 2}) {
		t.Errorf("numbers %v, categories %v", rows.Values, rows.Set)
	}
}

// TestEmptyCellsThatTrainingHadNot are refused where they are categories, whatever the node was told.
func TestEmptyCellsThatTrainingHadNot(t *testing.T) {
	_, m := trained(t, "id,job\na,clerk\nb,pilot\n", dataset.Options{})
	later := written(t, "id,job\nc,clerk\nd,\n")
	if _, err := dataset.Read(later, ScoringOptions(dataset.Options{}, m)); err == nil {
		t.Error("an empty cell was read")
	}
	table, err := dataset.Read(later, ScoringOptions(dataset.Options{Missing: "level"}, m))
	if err != nil {
		t.Fatal(err)
	}
	want := `row with id "d", column "job": ` +
		`the cell is empty, as none was in the training rows, which have clerk, pilot: fill it`
	if _, err := PrepareScoring(table, m); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
