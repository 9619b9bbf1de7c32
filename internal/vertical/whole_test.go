package vertical

import (
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
)

// TestACodeWrittenAsAFloatIsTheCode: codes 1 to 3 of the training come back as 1.0, 2.0 and 3e0, or come as these first
// and plain later, and every row has the code that it had, one by one and in bins of a scorecard. Control: 4.0 is none
// of them, and 01 is none where there is a 1 beside it.
func TestACodeWrittenAsAFloatIsTheCode(t *testing.T) {
	plain, floats := "id,code,age\na,1,10\nb,2,20\nc,3,30\n", "id,code,age\na,1.0,10\nb,2.0,20\nc,3e0,30\n"
	codes := dataset.Options{Categorical: []string{"code"}}
	for _, way := range [][2]string{{plain, floats}, {floats, plain}} {
		for _, scale := range []string{"", string(kernel.Binned)} {
			_, m := trainedBy(t, way[0], codes, scale)
			for _, text := range way {
				rows, err := scored(t, text, m)
				must(t, err)
				if !slices.Equal(rows.Set[:3], []uint16{0, 1, 2}) && scale == "" {
					t.Errorf("%q scored by %q: codes %v", text, way[0], rows.Set)
				}
				for r := range 3 {
					if !slices.Contains(rows.Set, uint16(r)) {
						t.Errorf("%q scored by %q, scale %q: row %d has none of its codes: %v", text, way[0], scale, r, rows.Set)
					}
				}
				if unseen := Unseen(tableOf(t, text, m), m); unseen != nil {
					t.Errorf("%q scored by %q: unseen %+v", text, way[0], unseen)
				}
			}
		}
	}
	_, m := trained(t, "id,code,age\na,1,10\nb,01,20\nc,3,30\n", codes)
	unseen := Unseen(tableOf(t, "id,code,age\na,4.0,10\nb,001,20\nc,1.0,30\nd,03,30\n", m), m)
	if len(unseen) != 1 || unseen[0].Rows != 2 || !slices.Equal(unseen[0].Levels, []string{"4.0", "001"}) {
		t.Errorf("unseen %+v", unseen)
	}
}

// trainedBy is trained with a scale.
func trainedBy(t *testing.T, text string, o dataset.Options, scale string) (*Prepared, *joint.Model) {
	t.Helper()
	if scale == "" {
		return trained(t, text, o)
	}
	table, err := dataset.Read(written(t, text), o)
	must(t, err)
	n, err := kernel.Fit(KernelColumns(table), nil, kernel.FitOptions{Numeric: kernel.Binned, Bins: 3, MinCell: 1})
	must(t, err)
	return nil, &joint.Model{Columns: table.Names(), Normaliser: n, Reading: ReadingOf(table, o)}
}

// tableOf reads new rows for a part of a model.
func tableOf(t *testing.T, text string, m *joint.Model) *dataset.Table {
	t.Helper()
	table, err := dataset.Read(written(t, text), ScoringOptions(dataset.Options{}, m))
	must(t, err)
	return table
}
