package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// TestRegretsStandBelowTheBounds runs the cases of --bounds on a small stand-in of the air set, and computes the
// clients' bound by hand.
func TestRegretsStandBelowTheBounds(t *testing.T) {
	dir := t.TempDir()
	writeAirStream(t, dir)
	var r ofmsftReport
	lab(t, &r, "ofmsft", "--set", "air", "--data", dir, "--bounds", "--hindsight", "3", "--seeds", "1", "--clients", "6",
		"--rounds", "40", "--warm-up", "2", "--window", "3", "--plot", dir, "--json")
	if len(r.Rows) != 5 || r.Hindsight != 3 || !(r.Radius > 0 && r.Gradient > 0) {
		t.Fatalf("%d rows, %d epochs, R = %v, G = %v", len(r.Rows), r.Hindsight, r.Radius, r.Gradient)
	}
	sizes := map[float64]float64{2: 19, 5: 5,
		10: 3} // mu: 19 others of cost 1 or less beside one; costs here are 1 and below
	for _, row := range r.Rows {
		b := row.Bound
		if b.Clusters > sizes[row.Budget] || b.Clusters < 1 || b.Groups < 1 {
			t.Errorf("B = %g: mu is %v, want at most %v; %d groups", row.Budget, b.Clusters, sizes[row.Budget], b.Groups)
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

// TestServerRegretIsThatOfEquation3 has networks that nobody changes: the regret is the losses' difference.
func TestServerRegretIsThatOfEquation3(t *testing.T) {
	dir := t.TempDir()
	writeAirStream(t, dir)
	set, err := readOFMSFTSet(setAir, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.keep(4); err != nil {
		t.Fatal(err)
	}
	l := &ofmsftLab{set: set, workers: 1, log: &bytes.Buffer{}, options: ofmsftOptions{
		rounds: 15, perUpload: 1, window: 1, warmUp: 15, seeds: 1, bandwidth: 1, regret: true, hindsight: 2,
	}}
	if err := l.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateEquation11, budget: 5}
	runs, err := l.runAll(t.Context(), []ofmsftCase{c})
	if err != nil {
		t.Fatal(err)
	}
	best, err := l.findRivals(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.bound(c, runs[0], best)
	if err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for k, n := range set.live.networks {
		sum, w := 0.0, n.NewWorkspace()
		for i, rows := range set.live.rows {
			var y []float64
			for _, v := range set.labels[i][:15] {
				y = append(y, (v-set.low)/(set.high-set.low))
			}
			losses := make([]float64, 15)
			w.Losses(set.live.scaled(rows[:15]), y, 15, losses)
			for _, loss := range losses {
				sum += loss / 4
			}
		}
		least = math.Min(least, sum-best.losses[k][14])
	}
	if math.Abs(b.ServerLeast-least) > 1e-5*math.Max(1, least) || least < 0 {
		t.Errorf("the least regret is %v, want %v, not below 0", b.ServerLeast, least)
	}
}

// TestTables2And5 runs the cases of --mixed and --times on a small stand-in of the air set.
func TestTables2And5(t *testing.T) {
	dir := t.TempDir()
	writeAirStream(t, dir)
	small := []string{"ofmsft", "--set", "air", "--data", dir, "--seeds", "1", "--clients", "10", "--rounds", "8",
		"--warm-up", "2", "--window", "3"}
	var mixed ofmsftReport
	lab(t, &mixed, append(append([]string{}, small...), "--mixed", "--json")...)
	if len(mixed.Rows) != 9 || mixed.Rows[0].Small != 0.6 || mixed.Rows[8].Small != 0.4 ||
		mixed.Rows[8].Update != ofmsft.UpdateNone {
		t.Errorf("rows %+v", mixed.Rows)
	}
	var out, said bytes.Buffer
	args := append(append([]string{"hanselab"}, small...), "--times", "--only", ofmsMAB, "--only", ofmsFT)
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

// TestSmallBudgetsAreSpread counts those that have them, in both halves.
func TestSmallBudgetsAreSpread(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.4: 20, 0.5: 25, 0.6: 30, 1: 50} {
		c := ofmsftCase{small: share}
		for half := range 2 {
			n := 0
			for i := range 50 {
				if c.has(50*half + i) {
					n++
				}
			}
			if n != want {
				t.Errorf("%v of half %d: %d clients, want %d", share, half+1, n, want)
			}
		}
	}
	if f, _ := publishedOFMSFT(setWEC, ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: 5,
		small: 0.4}); f.clients() != "7.32 (1.54)" {
		t.Errorf("table 2 has %s", f.clients())
	}
}
