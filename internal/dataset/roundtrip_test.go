package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWrittenTableReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		var file bytes.Buffer
		must(t, table.WriteCSV(&file))
		back, err := readString(file.String(), asCSV, optionsFor(table))
		if err != nil {
			t.Fatalf("%v in\n%s", err, file.String())
		}
		if err := sameTable(back, table); err != nil {
			t.Fatalf("%v in\n%s", err, file.String())
		}
	})
}

func TestNumbersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-maxMagnitude, maxMagnitude).Draw(t, "v")
		back, c := parseNumber(formatNumber(v))
		if c != isNumber || math.Float64bits(back) != math.Float64bits(v) {
			t.Fatalf("%v is written %q and read %v", v, formatNumber(v), back)
		}
	})
	for v, want := range map[float64]string{1e6: "1000000", 0.001: "0.001", 1e15: "1e+15", 1e-7: "1e-07", 0: "0"} {
		if got := formatNumber(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func TestWriteCSVTellsOfAFullDisk(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	if err := table.WriteCSV(fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

var errFull = errors.New("no space left")

// fullDisk is a writer that has no room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// drawTable draws a table that is sorted by id, with awkward texts and numbers in it.
func drawTable(t *rapid.T) *Table {
	ids := slices.Sorted(slices.Values(rapid.SliceOfNDistinct(awkward, 1, 8, rapid.ID[string]).Draw(t, "ids")))
	table := &Table{IDName: "id", IDs: ids}
	for i := range rapid.IntRange(0, 4).Draw(t, "columns") {
		c := Column{Name: fmt.Sprintf("c %d", i)}
		if rapid.Bool().Draw(t, "categorical") {
			c.Kind = Categorical
			// .0 and 0 are one category, as 1.0 and 1 are.
			c.Levels = rapid.SliceOfNDistinct(awkward, len(ids), len(ids), spelling{numbers: true}.less).Draw(t, "levels")
			for code := range ids {
				c.Codes = append(c.Codes, int32(code))
			}
			c.sortLevels()
		} else {
			n := rapid.Float64Range(-maxMagnitude, maxMagnitude)
			c.Values = rapid.SliceOfN(n, len(ids), len(ids)).Draw(t, "values")
		}
		table.Columns = append(table.Columns, c)
	}
	return table
}

// awkward draws texts with quotes, commas, numbers and foreign letters, but no outer blanks.
var awkward = rapid.StringMatching(`[a-zß€#"',;0-9.+-]([a-zß€"', ;0-9.+-]{0,6}[a-zß€"',;0-9.+-])?`)

// optionsFor returns the options that read a written table as it was.
func optionsFor(table *Table) Options {
	o := Options{ID: table.IDName, NA: []string{}}
	for _, c := range table.Columns {
		if c.Kind == Categorical {
			o.Categorical = append(o.Categorical, c.Name)
		}
	}
	return o
}

// sameTable compares ids and columns; NaN equals NaN.
func sameTable(a, b *Table) error {
	if !slices.Equal(a.IDs, b.IDs) || !slices.Equal(a.Names(), b.Names()) {
		return fmt.Errorf("ids %q and %q, columns %q and %q", a.IDs, b.IDs, a.Names(), b.Names())
	}
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	for i, x := range a.Columns {
		y := b.Columns[i]
		if x.Kind != y.Kind || !slices.EqualFunc(x.Values, y.Values, equal) ||
			!slices.Equal(x.Codes, y.Codes) || !slices.Equal(x.Levels, y.Levels) {
			return fmt.Errorf("column %+v differs from %+v", x, y)
		}
	}
	return nil
}
