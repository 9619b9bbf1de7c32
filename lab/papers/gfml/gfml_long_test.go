//go:build long

package gfml

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/gfml"
)

// TestGFMLComesToTheTable: four runs are within 0.6 dB of the means of 20 at n = 200 and 500. Runs differ
// by about 1 dB, so that few of them cannot come closer.
func TestGFMLComesToTheTable(t *testing.T) {
	bench := simulation{runs: 4, iterations: 500, log: io.Discard}
	results, err := bench.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	curves, err := curvesOf(results, bench.iterations)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range curves {
		for _, r := range c.Readings {
			if r.Difference != nil && math.Abs(*r.Difference) > 0.6 {
				t.Errorf("%s, %s: %.2f dB, want about %.2f", c.Name, r.Moment, r.DB, *r.Table)
			}
		}
	}
	for i, claim := range claimsOf(curves) {
		if (claim.Holds == "yes") != (i != 2) {
			t.Errorf("%s: %s: %s", claim.Claim, claim.Holds, claim.Figures)
		}
	}
}

// TestAStepOfTwoDiverges: M = 40 diverges at mu = 2.1, which equation 19 allows; the other rule warns
// of it, and the run stops.
func TestAStepOfTwoDiverges(t *testing.T) {
	params, parties, clusters := sectionIV(setting{"", gfml.Coordinated, 40}, 1, Iterations)
	params.Step = 2.1
	plan, err := gfml.NewPlan(params, parties)
	if err != nil {
		t.Fatal(err)
	}
	features := plan.Features()
	world, err := newWorld(1, clusters, features, plan.Params().Features)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]float64
	for i := range serverClients * clientTests {
		rows = append(rows, world.tests[0].z[200*i:200*(i+1)])
	}
	warnings, err := plan.StepWarnings(rows)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Rule, "mean square") {
		t.Errorf("error %v, warnings %v", err, warnings)
	}
	f, err := gfml.NewFederation(plan, plan.NewServer)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < Iterations && err == nil; n++ {
		if err = world.next(features); err == nil {
			err = f.Step(n, world.round())
		}
	}
	if stop := (*gfml.DivergenceError)(nil); !errors.As(err, &stop) {
		t.Errorf("the run ends with %v", err)
	} else {
		t.Logf("%v", err)
	}
}
