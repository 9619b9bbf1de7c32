package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		insurer, "\ufeff" + insurer, "id\na\n", "id,y\na,\nb,1\n", "id,\"a,b\"\r\nx,\"1\"\r\n",
		"id,r\na,\nb,x\n", "id,age\na,NaN\n", "id;age\n1;2\n", "a,b,\"c\n", "id,x\na,1e99\nb,-0\n",
		"id,since\na,2024-01-02\nb,NA\n", "id,since\na,13/02/2024 10:00\nb,?\n", ",x\na,1\n",
	} {
		f.Add([]byte(seed), "y", "mean,level")
		f.Add(gzipped(f, seed), "", "")
	}
	f.Fuzz(func(t *testing.T, content []byte, label, way string) {
		checkFuzzed(t, content, asCSV, Options{Label: label, Missing: way})
	})
}

func FuzzLIBSVM(f *testing.F) {
	for _, seed := range []string{
		"-1 3:1 11:1\n+1 1:0.5\n", "1\n\n0 7:-1e-3 \n", "1 1:1 1:1\n", "nan 1:1\n", "1 70000:1\n", "2 qid:3 1:1\n",
	} {
		f.Add([]byte(seed))
		f.Add(gzipped(f, seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		checkFuzzed(t, content, asLIBSVM, Options{})
	})
}

// checkFuzzed reads content and, where that works, checks the table and its round trip.
func checkFuzzed(t *testing.T, content []byte, as format, o Options) {
	lim := standardLimits()
	lim.cells, lim.text = 1<<20, 1<<22
	table, err := parse(bytes.NewReader(content), as, o, lim)
	if err != nil {
		if table != nil {
			t.Fatal("a table beside an error")
		}
		return
	}
	label := o.Label
	must(t, checkTable(table))
	var file bytes.Buffer
	must(t, table.WriteCSV(&file))
	again := optionsFor(table)
	again.Label = label
	back, err := parse(&file, asCSV, again, lim)
	if err != nil {
		t.Fatalf("written, it does not read back: %v", err)
	}
	must(t, sameTable(back, table))
}

// checkTable checks what Read promises.
func checkTable(table *Table) error {
	n := table.Rows()
	if n == 0 || !slices.IsSorted(table.IDs) || len(slices.Compact(slices.Clone(table.IDs))) != n {
		return fmt.Errorf("ids %q", table.IDs)
	}
	for _, c := range table.Columns {
		if err := checkColumn(c, n); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
	}
	return nil
}

// checkColumn checks lengths and ranges.
func checkColumn(c Column, n int) error {
	if c.Kind == Categorical {
		bad := func(code int32) bool { return int(code) >= len(c.Levels) || code < -1 }
		if len(c.Codes) != n || c.Values != nil || slices.ContainsFunc(c.Codes, bad) || !slices.IsSorted(c.Levels) {
			return errors.New("bad codes or levels")
		}
		return nil
	}
	bad := func(v float64) bool { return math.Abs(v) > maxMagnitude }
	if len(c.Values) != n || c.Codes != nil || slices.ContainsFunc(c.Values, bad) {
		return errors.New("bad values")
	}
	return nil
}
