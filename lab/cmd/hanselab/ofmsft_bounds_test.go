package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/papers/ofmsft"
)

// TestRegretsStandBelowTheBounds runs the cases of --bounds on a small stand-in of the air set, and computes the
// clients' bound by hand.
func TestRegretsStandBelowTheBounds(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteAirStream(t, dir)
	var r ofmsft.Report
	hanselab(t, &r, "ofmsft", "--set", "air", "--data", dir, "--bounds", "--hindsight", "3", "--seeds", "1",
		"--clients", "6",
		"--rounds", "40", "--warm-up", "2", "--window", "3", "--plot", dir, "--json")
	if len(r.Rows) != 5 || r.Hindsight != 3 || !(r.Radius > 0 && r.Gradient > 0) {
		t.Fatalf("%d rows, %d epochs, R = %v, G = %v", len(r.Rows), r.Hindsight, r.Radius, r.Gradient)
	}
	sizes := map[float64]float64{2: 19, 5: 5,
		10: 3} // mu: 19 others of cost 1 or less beside one; costs here are 1 and below
	for _, row := range r.Rows {
		b := row.Bound
		if b.Clusters > sizes[row.Budget] || b.Clusters < 1 || b.Groups < 1 {
			t.Errorf("B = %g: mu is %v, want at most %v; %d groups", row.Budget, b.Clusters, sizes[row.Budget],
				b.Groups)
		}
		eta := 10 / math.Sqrt(40)
		if want := math.Log(20)/eta + eta*b.Clusters*float64(row.PerUpload)*40; math.Abs(b.RegretBound-want) > 1e-9*want {
			t.Errorf("B = %g, n = %d: bound %v, want %v", row.Budget, row.PerUpload, b.RegretBound, want)
		}
		if b.Regret.Mean > b.RegretBound || b.Server.Mean > b.ServerBound || b.ServerLeast > b.Server.Mean ||
			b.ServerMost < b.Server.Mean {
			t.Errorf("B = %g, n = %d: %+v", row.Budget, row.PerUpload, b)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "ofmsft-air-bounds.svg"))
	if err != nil || !bytes.Contains(text, []byte("equation 3")) || !bytes.Contains(text, []byte("B = 5, n = 20")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
}

// TestTables2And5 runs the cases of --mixed and --times on a small stand-in of the air set.
func TestTables2And5(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteAirStream(t, dir)
	small := []string{"ofmsft", "--set", "air", "--data", dir, "--seeds", "1", "--clients", "10", "--rounds", "8",
		"--warm-up", "2", "--window", "3"}
	var mixed ofmsft.Report
	hanselab(t, &mixed, append(append([]string{}, small...), "--mixed", "--json")...)
	if len(mixed.Rows) != 9 || mixed.Rows[0].Small != 0.6 || mixed.Rows[8].Small != 0.4 ||
		mixed.Rows[8].Update != "none" {
		t.Errorf("rows %+v", mixed.Rows)
	}
	var out, said bytes.Buffer
	args := append(append([]string{"hanselab"}, small...), "--times", "--only", "MAB", "--only", "OFMS-FT")
	if code := run(t.Context(), args, nil, &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	for _, want := range []string{"| algorithm |   B | ours, s | paper, s |", "| MAB       |   5 |", " |     8.89 |",
		"| OFMS-FT   |   2 |", " |    27.78 |", " 0.500 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}
