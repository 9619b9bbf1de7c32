package pofmkl

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestStepBounds(t *testing.T) {
	for _, c := range []struct {
		p       Params
		clients int
		want    float64
	}{
		{Params{}, 4, 1 / (51.0/4 + 0.75)},
		{Params{Chosen: 10}, 4, 1 / (6.0/4 + 0.75)},
		{Params{Chosen: 51}, 1, 1},
		{Params{Chosen: 51, Lambda: 1}, 1, 0.5},
		{Params{Chosen: 51, Explore: 0.5}, 1, 0.5},
		{Params{Chosen: 51, RoundsPerUpload: 10}, 5, 1 / (0.2 + 9.8)},
		{Params{Chosen: 51, Explores: map[string]float64{"1": 0.5, "4": 0.25}}, 4, 1 / ((2+4+1+1)/16.0 + 0.75)},
		{Params{Chosen: 10, CommonBin: true}, 4, 1 / 6.0},
		{Params{Chosen: 10, CommonBin: true, RoundsPerUpload: 5, Lambda: 1}, 560, 1 / 60.0},
	} {
		if got := c.p.WithDefaults().StepBound(c.clients); math.Abs(got/c.want-1) > 1e-12 {
			t.Errorf("%+v of %d clients: %v, want %v", c.p, c.clients, got, c.want)
		}
	}
}

func TestStepsThatAreWarnedOf(t *testing.T) {
	p := Params{Chosen: 25, Explore: 0.5, RoundsPerUpload: 2}.WithDefaults()
	p.Step = 0.31
	want := "step is 0.31, want one below 0.308: with 3 bins, explore 0.5, 4 clients and rounds_per_upload 2 the " +
		"error of wide kernels grows from round to round"
	if got := p.StepWarning(4); got != want {
		t.Errorf("the warning is %q, want %q", got, want)
	}
	common := Params{Chosen: 25, CommonBin: true, RoundsPerUpload: 2, Step: 0.31}.WithDefaults()
	want = "step is 0.31, want one below 0.167: with a common bin, one of 3, and rounds_per_upload 2 the error of " +
		"wide kernels grows from round to round"
	if got := common.StepWarning(4); got != want {
		t.Errorf("the warning is %q, want %q", got, want)
	}
	p.Step = 0.3
	if got := p.StepWarning(4); got != "" {
		t.Errorf("a step within the bound: %q", got)
	}
	for _, clients := range []int{3, 10, 560} {
		if got := (Params{}).WithDefaults().StepWarning(clients); got != "" {
			t.Errorf("the defaults with %d clients: %q", clients, got)
		}
	}
}

// TestTheStepBoundIsCloseToTheTruth: with wide kernels theta comes to rest a little below it and runs away
// above.
func TestTheStepBoundIsCloseToTheTruth(t *testing.T) {
	for _, c := range []struct {
		clients, perUpload int
		common             bool
	}{{1, 1, false}, {4, 1, false}, {8, 10, false}, {4, 1, true}, {4, 3, true}} {
		p := Params{CommonBin: c.common, Seed: "bound", Bandwidths: []float64{100, 150, 200}, Features: 20, Rounds: 3000,
			RoundsPerUpload: c.perUpload, WeightStep: 0.05, Clip: 1e6}.WithDefaults()
		bound := p.StepBound(c.clients)
		if p.Step = 0.8 * bound; lateLoss(t, p, c.clients) > 0.1 {
			t.Errorf("%+v: step %v, below the bound %v, and the kernels' loss is %v", c, p.Step, bound,
				lateLoss(t, p, c.clients))
		}
		if p.Step = 1.3 * bound; lateLoss(t, p, c.clients) < 10 {
			t.Errorf("%+v: step %v, above the bound %v, and the kernels' loss is %v", c, p.Step, bound,
				lateLoss(t, p, c.clients))
		}
	}
}

// lateLoss returns the kernels' mean loss over the last tenth of a job's rounds.
func lateLoss(t *testing.T, p Params, clients int) float64 {
	t.Helper()
	f, err := NewFederation(newDictionary(t, p, 3), clients, [32]byte{1})
	mustDo(t, err)
	rng, streams := rand.New(rand.NewPCG(1, 2)), make([]stream, clients)
	for k := range streams {
		streams[k] = newStream(rng, p.Rounds, 3)
	}
	rows, labels, predictions := make([][]float64, clients), make([]float64, clients), make([]float64, clients)
	sum, n := 0.0, 0
	for i := range p.Rounds {
		for k, s := range streams {
			rows[k], labels[k] = s.rows[i], s.labels[i]
		}
		mustDo(t, f.Round(rows, labels, predictions))
		for _, c := range f.Clients {
			for _, l := range c.Losses() {
				if i >= p.Rounds*9/10 {
					sum, n = sum+l, n+1
				}
			}
		}
	}
	return sum / float64(n)
}
