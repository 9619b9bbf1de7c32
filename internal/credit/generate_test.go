package credit

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// written returns the CSV of a part.
func written(t *testing.T, p Part) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Table.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Demonstrations, examples and the figures of the package comment rest on these very bytes.
func TestGeneratedBytesAreFixed(t *testing.T) {
	want := map[string]string{"bank": "e42d1998", "insurer": "0e93fffb", "telco": "386b8161", "retailer": "84b1b9ac"}
	for _, p := range Generate(300, 1) {
		if got := keys.HashOf("test", written(t, p)).Short(); got != want[p.Name] {
			t.Errorf("%s: digest %s, want %s", p.Name, got, want[p.Name])
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	one, two := Generate(50, 1), Generate(50, 2)
	for i := range one {
		if reflect.DeepEqual(byID(one[i].Table).Columns, byID(two[i].Table).Columns) {
			t.Errorf("%s is the same for two seeds", one[i].Name)
		}
	}
}

func TestFewerPeopleAreTheFirstOfMany(t *testing.T) {
	few, many := Generate(40, 3), Generate(90, 3)
	first := make([]int, 40)
	for i := range first {
		first[i] = i
	}
	for i := range few {
		a, b := byID(few[i].Table), byID(many[i].Table).Select(first)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the first 40 of 90 people differ from 40 people", few[i].Name)
		}
	}
}

func TestFirmsHoldTheSamePeopleInTheirOwnOrder(t *testing.T) {
	parts := Generate(200, 1)
	for i, p := range parts {
		if !slices.Equal(slices.Sorted(slices.Values(p.Table.IDs)), slices.Sorted(slices.Values(parts[0].Table.IDs))) {
			t.Errorf("%s holds other people than the %s", p.Name, parts[0].Name)
		}
		if slices.IsSorted(p.Table.IDs) {
			t.Errorf("%s lists its people by id", p.Name)
		}
		for _, q := range parts[:i] {
			if slices.Equal(p.Table.IDs, q.Table.IDs) {
				t.Errorf("%s and %s list their people alike", p.Name, q.Name)
			}
		}
	}
}

func TestOnlyTheBankHasTheLabel(t *testing.T) {
	for i, p := range Generate(10, 1) {
		if has := slices.Contains(p.Table.Names(), Label); has != (i == 0) || (p.Name == "bank") != (i == 0) {
			t.Errorf("%s: label %v", p.Name, has)
		}
	}
}

func TestWrittenFilesReadBack(t *testing.T) {
	for _, p := range Generate(500, 4) {
		path := filepath.Join(t.TempDir(), p.Table.Path)
		if err := os.WriteFile(path, written(t, p), 0o600); err != nil {
			t.Fatal(err)
		}
		back, err := dataset.Read(path, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := byID(p.Table); !reflect.DeepEqual(back.Columns, want.Columns) || !slices.Equal(back.IDs, want.IDs) {
			t.Errorf("%s does not read back as it was", p.Name)
		}
	}
}

func TestFiguresArePlausible(t *testing.T) {
	bounds := map[string][2]float64{
		"income": {300, 30000}, "utilisation": {0, 1}, "late_payments": {0, 12},
		"age": {18, 85}, "claims": {0, 10}, "premium": {50, 6000}, "vehicle_age": {0, 20},
		"tenure": {1, 180}, "data_use": {0.1, 200}, "late_bills": {0, 10},
		"basket": {3, 500}, "visits": {0, 30}, "night_share": {0, 1}, Label: {0, 1},
	}
	for _, p := range Generate(3000, 5) {
		if n := len(p.Table.Columns); n < 6 || n > 9 {
			t.Errorf("%s has %d columns", p.Name, n)
		}
		for _, c := range p.Table.Columns {
			if c.Kind == dataset.Categorical {
				checkLevels(t, c)
				continue
			}
			low, high := slices.Min(c.Values), slices.Max(c.Values)
			if b, known := bounds[c.Name]; known && (low < b[0] || high > b[1]) {
				t.Errorf("%s goes from %v to %v", c.Name, low, high)
			}
			if low == high || math.IsNaN(low+high) {
				t.Errorf("%s goes from %v to %v", c.Name, low, high)
			}
		}
	}
}

// checkLevels checks that the levels are sorted and all occur.
func checkLevels(t *testing.T, c dataset.Column) {
	t.Helper()
	for code := range c.Levels {
		if !slices.Contains(c.Codes, int32(code)) {
			t.Errorf("%s: nobody has %q", c.Name, c.Levels[code])
		}
	}
	if !slices.IsSorted(c.Levels) {
		t.Errorf("%s: levels %q are not sorted", c.Name, c.Levels)
	}
}

// Columns of one firm go together, but none is a copy of another.
func TestColumnsCorrelateModerately(t *testing.T) {
	for _, p := range Generate(4000, 6) {
		strongest := 0.0
		columns := p.Table.Without(Label).Columns
		for i, a := range columns {
			for _, b := range columns[:i] {
				if a.Kind == dataset.Numeric && b.Kind == dataset.Numeric {
					strongest = max(strongest, math.Abs(correlation(a.Values, b.Values)))
				}
			}
		}
		if strongest < 0.4 || strongest > 0.8 {
			t.Errorf("%s: the strongest correlation is %.2f", p.Name, strongest)
		}
	}
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	var sx, sy, sxx, syy, sxy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		sxx, syy, sxy = sxx+x[i]*x[i], syy+y[i]*y[i], sxy+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
}

func TestNobody(t *testing.T) {
	for _, p := range Generate(0, 1) {
		if p.Table.Rows() != 0 {
			t.Errorf("%s has %d rows", p.Name, p.Table.Rows())
		}
	}
}
