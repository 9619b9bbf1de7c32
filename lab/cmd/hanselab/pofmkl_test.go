package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
)

// TestPOFMKLReportsAllRows runs a few rounds on a small stand-in of the naval set.
func TestPOFMKLReportsAllRows(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteNaval(t, dir, 23*pofmkl.Rounds)
	var r pofmkl.Report
	hanselab(t, &r, "pofmkl", "--set", "naval", "--data", dir, "--draws", "2", "--xi-draws", "1", "--bin-draws",
		"1", "--rounds", "4", "--cpu", "0.001", "--plot", dir, "--json")
	if len(r.Rows) != 11 || len(r.Explored) != 12 || len(r.Common) != 16 || r.Clients != 23 || r.Columns != 15 ||
		r.Rounds != 4 || r.Draws != 2 {
		t.Fatalf("%d rows, %d with other xi, %d clients, %d columns, %d rounds, %d draws", len(r.Rows),
			len(r.Explored), r.Clients, r.Columns, r.Rounds, r.Draws)
	}
	if own, common := r.Common[0], r.Common[1]; own.Common || !common.Common || own.Words != 10200 ||
		common.Words != 200 || common.Step != 0.5/51 {
		t.Errorf("of common bins: %+v and %+v", own, common)
	}
	for _, row := range slices.Concat(r.Rows, r.Explored, r.Common) {
		if !(row.Mean > 0 && row.Mean < 1000) || row.Verdict != "none expected" {
			t.Errorf("%s: error %v, verdict %q", row.Name(), row.Mean, row.Verdict)
		}
		if plain := row.Algorithm == "PerFedAvg" || row.Algorithm == "OFSKL"; plain != (row.Regret == nil) {
			t.Errorf("%s: regret %v", row.Name(), row.Regret)
		}
	}
	for _, row := range r.Rows {
		if row.Carried != (row.RunSeconds == 0) || row.Carried != (row.PaperSeconds == 0) {
			t.Errorf("%s: %v processor seconds of a client, the paper %v", row.Name(), row.RunSeconds,
				row.PaperSeconds)
		}
	}
	first, last := r.Rows[5], r.Rows[8]
	if first.Carried || !last.Carried || first.Words != 10200 || first.OpenWords != 200 ||
		last.Paper.Value != 16.16 || last.Spec.Value != 16.37 {
		t.Errorf("POF-MKL's rows are %+v and %+v", first, last)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pofmkl-naval.svg"))
	if err != nil || !bytes.Contains(text, []byte("mean squared error so far")) || !bytes.Contains(text,
		[]byte("regret")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
	if s, err := os.Stat(filepath.Join(dir, "pofmkl-naval.png")); err != nil || s.Size() == 0 {
		t.Errorf("the bitmap: %v", err)
	}
}

// TestPOFMKLRunsAreRepeatable runs one draw twice.
func TestPOFMKLRunsAreRepeatable(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteNaval(t, dir, 23*pofmkl.Rounds)
	var a, b pofmkl.Report
	for _, r := range []*pofmkl.Report{&a, &b} {
		hanselab(t, r, "pofmkl", "--set", "naval", "--data", dir, "--draws", "1", "--xi-draws", "0", "--bin-draws",
			"0", "--rounds", "3", "--cpu", "0", "--json")
	}
	for i := range a.Rows {
		if a.Rows[i].Mean != b.Rows[i].Mean {
			t.Errorf("%s: %v and %v", a.Rows[i].Name(), a.Rows[i].Mean, b.Rows[i].Mean)
		}
	}
}

// TestWrongPOFMKLCommandLines names what is wrong.
func TestWrongPOFMKLCommandLines(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteNaval(t, dir, 30)
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
