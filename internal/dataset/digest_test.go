package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// digestOracle is the digest of a table of numbers and texts, written once more from its description: rows of cells by
// name, of which "" is missing.
func digestOracle(id string, ids, names []string, columns map[string][]string) keys.Hash {
	hash := func(domain string, parts ...string) []byte {
		var b []byte
		for _, p := range append([]string{domain}, parts...) {
			b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
			b = append(b, p...)
		}
		h := sha256.Sum256(b)
		return h[:]
	}
	head := hash("hanse/table/columns/v1", append([]string{id}, names...)...)
	var rows []string
	for i := range ids {
		var cells []byte
		for _, name := range names {
			cell := columns[name][i]
			if cell == "" {
				cells = append(cells, 0)
			} else if v, err := strconv.ParseFloat(cell, 64); err == nil {
				cells = binary.BigEndian.AppendUint64(append(cells, 1), math.Float64bits(v))
			} else {
				cells = append(binary.BigEndian.AppendUint64(append(cells, 2), uint64(len(cell))), cell...)
			}
		}
		rows = append(rows, string(hash("hanse/table/row/v1", ids[i], string(cells))))
	}
	slices.Sort(rows)
	return keys.Hash(hash("hanse/table/v1", string(head), strings.Join(rows, "")))
}

// TestDigestOracle holds the digest against the oracle, for tables whose rows come in any order.
func TestDigestOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(rt, "rows")
		columns := make(map[string][]string)
		var names, ids []string
		for c := range rapid.IntRange(1, 4).Draw(rt, "columns") {
			name := string(rune('a'+c)) + "x"
			names = append(names, name)
			for range n {
				columns[name] = append(columns[name], rapid.SampledFrom([]string{
					"", "0", "1.5", "-3e-07", "12", "north", "nørd", "x1",
				}).Draw(rt, "cell"))
			}
		}
		for i := range n {
			ids = append(ids, fmt.Sprintf("P%03d", i))
		}
		shuffled := rapid.Permutation(names).Draw(rt, "order of columns")
		var b strings.Builder
		b.WriteString(strings.Join(shuffled, ",") + ",id\n")
		for _, i := range rapid.Permutation(slices.Collect(seq(n))).Draw(rt, "order of rows") {
			for _, name := range shuffled {
				b.WriteString(columns[name][i] + ",")
			}
			b.WriteString(ids[i] + "\n")
		}
		location := writeFile(t, "table.csv", []byte(b.String()))
		got, err := Digest(context.Background(), location, Options{})
		must(rt, err)
		if want := digestOracle("id", ids, shuffled, columns); got != want {
			rt.Errorf("%v, want %v of\n%s", got, want, b.String())
		}
	})
}

// seq counts from 0 to n-1.
func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// digestOf returns the digest of a table.
func digestOf(t testing.TB, location string, o Options) keys.Hash {
	t.Helper()
	sum, err := Digest(t.Context(), location, o)
	must(t, err)
	r, err := Load(t.Context(), location, o)
	must(t, err)
	if r.Sum != sum {
		t.Errorf("%s: a reading's sum is %v, the digest %v", location, r.Sum, sum)
	}
	return sum
}

// TestDigestOfChangedTables plays the owner of a table who shows another one than that a job was agreed on: every
// change that a model could see changes the digest, and what is only spelt in another way does not.
func TestDigestOfChangedTables(t *testing.T) {
	const table = "id,age,region\n1,34,north\n2,,south\n"
	want := digestOf(t, writeFile(t, "t.csv", []byte(table)), Options{})
	for name, content := range map[string]string{
		"rows in another order": "id,age,region\n2,,south\n1,34,north\n",
		"the id elsewhere":      "age,id,region\n,2,south\n34,1,north\n",
		"another spelling":      "id,age,region\r\n1, 34.0 ,\"north\"\r\n2,,south",
		"an exponent":           "id,age,region\n1,3.4e1,north\n2,,south\n",
		"gzip":                  string(gzipped(t, table)),
	} {
		if got := digestOf(t, writeFile(t, "t.csv", []byte(content)), Options{}); got != want {
			t.Errorf("%s: another digest", name)
		}
	}
	seen := map[keys.Hash]string{want: "the table"}
	for name, content := range map[string]string{
		"another number":              "id,age,region\n1,35,north\n2,,south\n",
		"another text":                "id,age,region\n1,34,nord\n2,,south\n",
		"a number for nothing":        "id,age,region\n1,34,north\n2,0,south\n",
		"another id":                  "id,age,region\n1,34,north\n3,,south\n",
		"another name":                "id,years,region\n1,34,north\n2,,south\n",
		"names exchanged":             "id,region,age\n1,34,north\n2,,south\n",
		"columns exchanged":           "id,region,age\n1,north,34\n2,south,\n",
		"a row less":                  "id,age,region\n1,34,north\n",
		"a row more":                  table + "3,1,north\n",
		"a column less":               "id,age\n1,34\n2,\n",
		"a column more":               "id,age,region,x\n1,34,north,\n2,,south,\n",
		"ids exchanged":               "id,age,region\n2,34,north\n1,,south\n",
		"the last digit":              "id,age,region\n1,34.00000000000001,north\n2,,south\n",
		"the id spelt in another way": "id,age,region\n1.0,34,north\n2,,south\n",
		"a code":                      "id,age,region\n1,034,north\n2,,south\n",
	} {
		got := digestOf(t, writeFile(t, "t.csv", []byte(content)), Options{})
		if other, twice := seen[got]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[got] = name
	}
}

// TestDigestDoesNotDependOnHowATableIsRead: whoever has the table finds its digest, with none of its owner's options.
func TestDigestDoesNotDependOnHowATableIsRead(t *testing.T) {
	path := writeFile(t, "a.csv", []byte("id,version,since,x\n1,3.1,2024-01-02,NA\n2,4,-,\n"))
	want := digestOf(t, path, Options{})
	for _, o := range []Options{
		{Categorical: []string{"version"}}, {NA: []string{"-"}}, {Ignore: []string{"x"}}, {Columns: []string{"version"}},
		{Missing: Refuse, Dates: "text", Levels: StrictLevel},
	} {
		if digestOf(t, path, o) != want {
			t.Errorf("%+v: another digest", o)
		}
	}
	other := writeFile(t, "b.csv", []byte("id,version,since,x\n1,3.1,2024-01-02,\n2,4,-,NULL\n"))
	if digestOf(t, other, Options{}) != want {
		t.Error("what stands for a missing cell has another digest than an empty one")
	}
}

func TestWrittenNumber(t *testing.T) {
	for cell, want := range map[string]float64{
		"0": 0, "-0": 0, "34": 34, "-1.50": -1.5, ".5": .5, "5.": 5, "1e+05": 1e5, "1E-7": 1e-7, "1.0E10": 1e10, "0.1": .1,
		"999999999999999": 999999999999999, "1234567890123456.5": 1234567890123456.5,
	} {
		if v, is := writtenNumber(cell); !is || v != want {
			t.Errorf("%s: %v, %v", cell, v, is)
		}
	}
	for _, cell := range []string{
		"", "-", ".", "e", "007", "-01", "+5", "12E4", "1e", "1e+", "1e+-5", "0x10", "1_000", "1,5", "nan", "inf", "1e+400",
		"1234567890123456", "north", "1.2.3", "--1", "00.5",
	} {
		if v, is := writtenNumber(cell); is {
			t.Errorf("%s is the number %v", cell, v)
		}
	}
}

// TestDigestOfLIBSVM wants the digest of the same table as CSV.
func TestDigestOfLIBSVM(t *testing.T) {
	svm := digestOf(t, writeFile(t, "t.svm", []byte("1 2:0.5 3:-1\n-1 1:7\n0\n")), Options{})
	csv := digestOf(t, writeFile(t, "t.csv", []byte("label,f1,f2,f3,id\n1,0,.5,-1,1\n-1,7,0,0,2\n0,0,0,0,3\n")), Options{})
	if svm != csv {
		t.Error("another digest")
	}
}

// BenchmarkLoad reads 50,000 rows of 30 columns.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString("id")
	for c := range 30 {
		fmt.Fprintf(&text, ",c%d", c)
	}
	for r := range 50_000 {
		fmt.Fprintf(&text, "\nP%05d", r)
		for c := range 30 {
			fmt.Fprintf(&text, ",%.4f", float64(r*(c+7)%(100<<(c/3)))/7)
		}
	}
	location := writeFile(b, "large.csv", []byte(text.String()+"\n"))
	for b.Loop() {
		if _, err := Load(b.Context(), location, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
