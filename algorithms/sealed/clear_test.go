package sealed

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// clear computes the scores of the training rows from all model parts in one place.
func (f *fixture) clear(t testing.TB, models []*fdskl.Model) []float64 {
	t.Helper()
	o := f.newOracle(t, models[0].Sigma)
	at := seatsOf(f.params, f.names, 0).parties
	label, keeper := models[at[rss.LabelHolder]], models[at[rss.Keeper]]
	all := reals(rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares)), coefBits)
	last := len(all) - 1
	o.beta, o.intercept = all[:last], label.Intercept+all[last]
	for i, m := range o.means {
		o.intercept += m * o.beta[i]
	}
	return o.scores()
}

// solved holds the coefficients of a square loss against the same steps in floating point from the very system that the
// three have in their checkpoints: however often the steps were interrupted, they are off by their own rounding alone.
func (f *fixture) solved(t *testing.T, models []*fdskl.Model) {
	t.Helper()
	if f.params.Loss != "square" {
		return
	}
	d := f.params.Features
	at := seatsOf(f.params, f.names, 0).parties
	var shares [rss.Roles][]rss.Share
	var s *state
	for r, i := range at {
		tr := &trainer{Party: f.party(i, nil, 0)}
		var err error
		if s, err = tr.load(stageSystem.file(0)); err == nil {
			shares[r], err = s.shares(d*d, d, runs*d, runs-1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o := &oracle{loss: kernel.Square, steps: f.params.Iterations, beta: make([]float64, d)}
	o.scales, _ = scalesOf(f.params, f.rows)
	finer := (&trainer{Party: f.party(0, nil, 0), scales: o.scales}).precisionOf(s.Reach).extra()
	gram := reals(rss.Reconstruct(shares[0][0], shares[1][0]), gramBits)
	sides := reals(rss.Reconstruct(shares[0][2], shares[1][2]), gramBits+finer)
	o.solve(f, mat.NewSymDense(d, gram), &system{reach: s.Reach}, sides[:d], false)
	label, keeper := models[at[0]], models[at[1]]
	got := reals(rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares)), coefBits)[:d]
	if e, most := rms(got, o.beta), math.Ldexp(float64(f.params.Iterations), -coefBits); !(e <= most) {
		t.Errorf("coefficients are off by %.2g from their system's, want at most %.2g", e, most)
	}
}

// reals are words at a scale.
func reals(words []uint64, bits int) []float64 {
	var list []float64
	for _, w := range words {
		list = append(list, math.Ldexp(float64(int64(w)), -bits))
	}
	return list
}
