// Package ofmsft is a walk through a job of OFMS-FT by hand; its test runs it, and makes its networks.
package ofmsft

import (
	"flag"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/examples/walk"
	"github.com/hanse-project/hanse/internal/trial/online"
)

// update has the networks made anew.
var update = flag.Bool("update", false, "write the networks into this folder")

// TestWalk runs every command of the page. The houses do at least twice as well as who guesses each one's mean.
func TestWalk(t *testing.T) {
	found := regexp.MustCompile(`mean squared error\s+(\S+),`).FindAllStringSubmatch(walk.Page(t, 2), -1)
	if len(found) != 5 {
		t.Fatalf("%d houses say how well they predict, want 5", len(found))
	}
	sum := 0.0
	for _, f := range found {
		e, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += e
	}
	if guess := 0.0661 + 0.0699 + 0.0315 + 0.0196 + 0.0100; !(sum < guess/2) { // the variances of their heat
		t.Errorf("the errors come to %v, want less than half of %v", sum, guess)
	}
}

// TestNetworksAreTheDemos: the files in networks are what hanse demo --algorithm ofmsft trains, one for each of ten
// towns on that town's past; the houses are of none of them. On other processors than the one that they were made on
// the last digits differ.
func TestNetworksAreTheDemos(t *testing.T) {
	trial, err := online.NewHouses(online.Options{Servers: 1, Clients: 1, Rounds: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if *update {
		dir = "networks"
	}
	if err := trial.WriteNetworks(dir); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(made) != 10 {
		t.Fatalf("%d networks were made (%v)", len(made), err)
	}
	for _, path := range made {
		want, got := parameters(t, path), parameters(t, filepath.Join("networks", filepath.Base(path)))
		if len(got) != len(want) {
			t.Fatalf("%s has %d parameters, want %d", path, len(got), len(want))
		}
		for i, v := range want {
			if d := got[i] - v; d > 1e-3 || d < -1e-3 {
				t.Fatalf("%s: parameter %d is %v, want %v", path, i+1, got[i], v)
			}
		}
	}
}

// parameters reads a network's.
func parameters(t *testing.T, path string) []float32 {
	t.Helper()
	n, err := nn.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return n.Parameters()
}
