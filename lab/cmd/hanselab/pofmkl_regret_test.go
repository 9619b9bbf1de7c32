package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
)

// TestPOFMKLRegretIsOfTheSameRun: loss and regret of equation 11 are those of the row of Table 1, and the best
// function's loss falls with the length that its coefficients may have.
func TestPOFMKLRegretIsOfTheSameRun(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteNaval(t, dir, 23*pofmkl.Rounds)
	var table pofmkl.Report
	hanselab(t, &table, "pofmkl", "--set", "naval", "--data", dir, "--draws", "1", "--xi-draws", "0", "--rounds",
		"6", "--cpu",
		"0", "--json")
	var r pofmkl.RegretReport
	hanselab(t, &r, "pofmkl-regret", "--set", "naval", "--data", dir, "--rounds", "6", "--features", "9",
		"--chosen", "51",
		"--personal", "--plot", dir, "--json")
	row, last := table.Rows[7], r.Points[len(r.Points)-1]
	if row.Chosen != 51 || len(r.Points) != 4 || last.Round != 6 {
		t.Fatalf("row %+v, points %+v", row, r.Points)
	}
	if want := row.Mean / 1000 * 23 * 6; math.Abs(last.Loss-want) > 1e-9 {
		t.Errorf("the loss is %v, Table 1 has %v", last.Loss, want)
	}
	if want := row.Regret.Mean * 23; math.Abs(last.Clients-want) > 1e-9 {
		t.Errorf("the clients' regret is %v, Table 3 has %v", last.Clients, want)
	}
	for _, at := range r.Points {
		if !(at.Best[0] >= at.Best[1] && at.Best[1] >= at.Best[2] && at.Best[2] >= at.Free && at.Free >= 0) ||
			at.Loss-at.Best[2] > at.Bounds[2] {
			t.Errorf("round %d: %+v", at.Round, at)
		}
	}
	if !(r.Personal[0] <= last.Best[0] && r.Personal[0] >= r.Personal[2]) {
		t.Errorf("clients with functions of their own lose %v, with one for all %v", r.Personal, last.Best)
	}
	if (r.LargestLoss > 1) != (r.Above > 0) || r.LargestLoss > 4 || r.Above > 0.01 || r.LargestNorm == 0 {
		t.Errorf("the largest loss is %v, %v of them are above 1, the longest theta %v", r.LargestLoss, r.Above,
			r.LargestNorm)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pofmkl-regret-naval.svg"))
	if err != nil || !bytes.Contains(text, []byte("Theorem 2, C = 3")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
	var said strings.Builder
	if err := r.Print(&said); err != nil || !strings.Contains(said.String(), "its own function, C = 0.5: loss ") {
		t.Errorf("error %v, the report is\n%s", err, said.String())
	}
}

// TestWrongPOFMKLRegretCommandLines names what is wrong.
func TestWrongPOFMKLRegretCommandLines(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--set naval --rounds 0", "--rounds is 0, want 1 to 500"},
		{"--set naval --norms 1,-1", "--norms is [1 -1], want positive numbers"},
		{"--set naval", "the set \"naval\" is not here"},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab pofmkl-regret --data "+dir+" "+c.args), nil, &out, &said)
		if code != 1 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: exit code %d, said %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}
