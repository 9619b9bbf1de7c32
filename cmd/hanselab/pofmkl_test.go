package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// writeGzip writes text to a file, compressed.
func writeGzip(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeNaval writes a set of the shape of the naval one.
func writeNaval(t *testing.T, dir string, rows int) {
	t.Helper()
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "   %.7e", 1+float64(i%9))
		for c := range 17 {
			fmt.Fprintf(&b, "   %.7e", float64((i*(c+3))%11))
		}
		b.WriteByte('\n')
	}
	writeGzip(t, filepath.Join(dir, "naval.txt.gz"), b.String())
}

// TestPOFMKLReportsAllRows runs a few rounds on a small stand-in of the naval set.
func TestPOFMKLReportsAllRows(t *testing.T) {
	dir := t.TempDir()
	writeNaval(t, dir, 23*pofmklRounds)
	var r pofmklReport
	lab(t, &r, "pofmkl", "--set", "naval", "--data", dir, "--draws", "2", "--xi-draws", "1", "--bin-draws", "1", "--rounds", "4", "--cpu", "0.001", "--plot", dir, "--json")
	if len(r.Rows) != 11 || len(r.Explored) != 12 || len(r.Common) != 16 || r.Clients != 23 || r.Columns != 15 || r.Rounds != 4 || r.Draws != 2 {
		t.Fatalf("%d rows, %d with other xi, %d clients, %d columns, %d rounds, %d draws", len(r.Rows), len(r.Explored), r.Clients, r.Columns, r.Rounds, r.Draws)
	}
	if own, common := r.Common[0], r.Common[1]; own.Common || !common.Common || own.Words != 10200 || common.Words != 200 || common.Step != 0.5/51 {
		t.Errorf("of common bins: %+v and %+v", own, common)
	}
	for _, row := range slices.Concat(r.Rows, r.Explored, r.Common) {
		if !(row.Mean > 0 && row.Mean < 1000) || row.Verdict != "none expected" {
			t.Errorf("%s: error %v, verdict %q", row.name(), row.Mean, row.Verdict)
		}
		if plain := row.Algorithm == perFedAvg || row.Algorithm == ofskl; plain != (row.Regret == nil) {
			t.Errorf("%s: regret %v", row.name(), row.Regret)
		}
	}
	for _, row := range r.Rows {
		if row.Carried != (row.RunSeconds == 0) || row.Carried != (row.PaperSeconds == 0) {
			t.Errorf("%s: %v processor seconds of a client, the paper %v", row.name(), row.RunSeconds, row.PaperSeconds)
		}
	}
	first, last := r.Rows[5], r.Rows[8]
	if first.Carried || !last.Carried || first.Words != 10200 || first.OpenWords != 200 || last.Paper.Value != 16.16 || last.Spec.Value != 16.37 {
		t.Errorf("POF-MKL's rows are %+v and %+v", first, last)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pofmkl-naval.svg"))
	if err != nil || !bytes.Contains(text, []byte("mean squared error so far")) || !bytes.Contains(text, []byte("regret")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
	if s, err := os.Stat(filepath.Join(dir, "pofmkl-naval.png")); err != nil || s.Size() == 0 {
		t.Errorf("the bitmap: %v", err)
	}
}

// TestPOFMKLRunsAreRepeatable runs one draw twice.
func TestPOFMKLRunsAreRepeatable(t *testing.T) {
	dir := t.TempDir()
	writeNaval(t, dir, 23*pofmklRounds)
	var a, b pofmklReport
	for _, r := range []*pofmklReport{&a, &b} {
		lab(t, r, "pofmkl", "--set", "naval", "--data", dir, "--draws", "1", "--xi-draws", "0", "--bin-draws", "0", "--rounds", "3", "--cpu", "0", "--json")
	}
	for i := range a.Rows {
		if a.Rows[i].Mean != b.Rows[i].Mean {
			t.Errorf("%s: %v and %v", a.Rows[i].name(), a.Rows[i].Mean, b.Rows[i].Mean)
		}
	}
}

// TestWrongPOFMKLCommandLines names what is wrong.
func TestWrongPOFMKLCommandLines(t *testing.T) {
	dir := t.TempDir()
	writeNaval(t, dir, 30)
	short := filepath.Join(dir, "naval.txt.gz")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--set", "uji"}, `the set "uji" is not here: ` + filepath.Join(dir, "uji") +
			" has no trainingData.csv, plain, .gz or .bz2; get it from: UCI Machine Learning Repository, UJIIndoorLoc"},
		{[]string{"--set", "mnist"}, `there is no set "mnist"; there are air, naval, uji, wec`},
		{[]string{"--set", "naval"}, short + " has 30 rows, want 11500"},
		{[]string{"--set", "naval", "--rounds", "501"}, "--rounds is 501, want 1 to 500"},
		{[]string{"--set", "naval", "--draws", "0"}, "--draws is 0, want at least 1"},
		{[]string{"--set", "naval", "--xi-draws", "-1"}, "--xi-draws is -1, want at least 0"},
		{[]string{"--set", "naval", "--cpu", "-1"}, "--cpu is -1, want 0 to 3600 seconds"},
		{[]string{"--set", "naval", "--bin-draws", "-1"}, "--bin-draws is -1, want at least 0"},
		{[]string{"--set", "air"}, `the set "air" is not here: ` + filepath.Join(dir, "air") +
			" has no PRSA_Data_Aotizhongxin.csv"},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "pofmkl", "--data", dir}, c.args...), nil, &out, &said)
		if code != 1 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%v: exit code %d, said %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}

// TestNavalRowsAreRead names the column of a bad cell.
func TestNavalRowsAreRead(t *testing.T) {
	e, err := navalRow(strings.Fields("5 1 2 3 9"), 3)
	if err != nil || e.target != 5 || fmt.Sprint(e.inputs) != "[1 2 3]" {
		t.Errorf("error %v, row %+v", err, e)
	}
	_, err = navalRow(strings.Fields("5 1 NaN 3"), 3)
	if err == nil || err.Error() != `column 3: the value is "NaN", want a finite number` {
		t.Errorf("error %v", err)
	}
	_, err = navalRow(strings.Fields("5 1"), 3)
	if err == nil || err.Error() != "it has 2 columns, want more than 3" {
		t.Errorf("error %v", err)
	}
}

// airHead is the head of a site's file.
const airHead = `"No","year","month","day","hour","PM2.5","PM10","SO2","NO2","CO","O3","TEMP","PRES","DEWP","RAIN","wd","WSPM","station"` + "\n"

// writeSite writes so many complete rows of a site, and after every second one a row with a missing value.
func writeSite(t *testing.T, dir, site string, complete int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(airHead)
	for i := range complete*3/2 + 2 {
		no2 := "NA"
		if i%3 != 2 {
			no2 = fmt.Sprint(i % 100)
		}
		fmt.Fprintf(&b, "%d,2013,3,1,0,4,4,%d,%s,300,77,-0.7,1023,-18.8,0,\"%s\",4.4,\"%s\"\n", i+1, i, no2, []string{"NNW", "E", "N"}[i%3], site)
	}
	writeGzip(t, filepath.Join(dir, "air", "PRSA_Data_"+site+".csv.gz"), b.String())
}

// TestAirIsDealtAsTheSpecificationSays checks sizes, scales and who has which rows.
func TestAirIsDealtAsTheSpecificationSays(t *testing.T) {
	dir := t.TempDir()
	for _, site := range []string{"Aotizhongxin", "Changping", "Dingling", "Dongsi"} {
		writeSite(t, dir, site, 30000)
	}
	s, err := readPOFMKLSet("air", dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.rows) != 240 || len(s.columns) != 14 {
		t.Fatalf("%d clients, %d columns", len(s.rows), len(s.columns))
	}
	longest, low, high := 0.0, 1.0, 0.0
	for k := range s.rows {
		if len(s.rows[k]) != 500 || len(s.labels[k]) != 500 {
			t.Fatalf("client %d has %d rows and %d labels", k+1, len(s.rows[k]), len(s.labels[k]))
		}
		for r, x := range s.rows[k] {
			sum := 0.0
			for _, v := range x {
				sum += v * v
			}
			longest, low, high = max(longest, sum), min(low, s.labels[k][r]), max(high, s.labels[k][r])
		}
	}
	if math.Abs(longest-1) > 1e-12 || low != 0 || high != 1 {
		t.Errorf("the largest squared norm is %v, labels run from %v to %v", longest, low, high)
	}
}

// TestSitesRefuseBadCells names line and column.
func TestSitesRefuseBadCells(t *testing.T) {
	const row = "1,2013,3,1,0,4,4,4,7,300,77,-0.7,1023,-18.8,0,NNW,4.4,A\n"
	for _, c := range []struct{ text, want string }{
		{airHead + row, "1 rows have no missing values, want 30000"},
		{airHead + strings.Replace(row, "300", "many", 1), `line 2: column "CO": the value is "many", want a finite number`},
		{strings.Replace(airHead, "TEMP", "T", 1) + row, `there is no column "TEMP"`},
	} {
		if _, err := readSite(strings.NewReader(c.text), 30000); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestVerdicts compare with the specification by its deviation.
func TestVerdicts(t *testing.T) {
	spec := &pofmklFigure{10, 0.1}
	for _, c := range []struct {
		row           pofmklRow
		rounds, draws int
		want          string
	}{
		{pofmklRow{Mean: 10.25, Spec: spec}, 500, 2, "within 3 sd (2.5)"},
		{pofmklRow{Mean: 9.6, Spec: spec}, 500, 2, "outside 3 sd (4.0)"},
		{pofmklRow{Mean: 10, Spec: spec}, 400, 2, "none expected"},
		{pofmklRow{Mean: 10}, 500, 2, "none expected"},
		{pofmklRow{Mean: 10, Spec: spec, Carried: true}, 500, 2, "none: it is of 20 draws"},
		{pofmklRow{Mean: 10, Spec: spec, Carried: true}, 500, 20, "within 3 sd (0.0)"},
	} {
		if got := c.row.judge(c.rounds, c.draws); got != c.want {
			t.Errorf("verdict %q, want %q", got, c.want)
		}
	}
}

// TestTheoremOneIsThePapersFigure has the bound that the specification states.
func TestTheoremOneIsThePapersFigure(t *testing.T) {
	if b := theoremOne(pofmkl.Params{}.WithDefaults(), 500); math.Abs(b-99.1) > 0.05 {
		t.Errorf("the bound is %v", b)
	}
}
