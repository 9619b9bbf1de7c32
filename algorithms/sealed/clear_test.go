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
	list := f.newOracles(t, models[0].Sigma)
	at := rolesOf(f.params, f.names, 0).parties
	label, keeper := models[at[rss.LabelHolder]], models[at[rss.Keeper]]
	all := reals(rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares)), coefBits)
	for k, o := range list {
		d := f.params.Features
		o.beta, o.intercept = all[k*d:(k+1)*d], label.Functions()[k].Intercept+all[len(list)*d+k]
		for i, m := range o.means {
			o.intercept += m * o.beta[i]
		}
	}
	return together(list)
}

// solved holds the coefficients of a square loss against the same steps in floating point from the very system that the
// three have in their checkpoints: however often the steps were interrupted, they are off by their own rounding alone:
// by a unit of the last bit each step, which the step's direction carries on into later ones.
func (f *fixture) solved(t *testing.T, models []*fdskl.Model) {
	t.Helper()
	if f.params.Loss != "square" {
		return
	}
	d, each := f.params.Features, f.params.Scores()
	at := rolesOf(f.params, f.names, 0).parties
	var shares [rss.Roles][]rss.Share
	var s *state
	for r, i := range at {
		tr := newParts(&setting{Party: f.party(i, nil, 0)})
		var err error
		if s, err = tr.checkpoints.load(stageSystem.file(0)); err == nil {
			lengths := []int{d * d, d, runs * each * d, runs - 1}
			if f.params.Lambda == 0 {
				lengths = append(lengths, d*d, 2*each*d)
			}
			shares[r], err = s.shares(lengths...)
		}
		must(t, err)
	}
	o := &oracle{loss: kernel.Square, steps: f.params.Iterations}
	o.scales, _ = scalesOf(f.params, f.rows)
	finer := (&setting{Party: f.party(0, nil, 0), scales: o.scales}).precisionOf(s.Reach).extra()
	gram := reals(rss.Reconstruct(shares[0][0], shares[1][0]), gramBits)
	o.lambda = models[0].Regulariser()
	for i := range d {
		gram[i*d+i] += o.scales.scaled(o.lambda)
	}
	sides := reals(rss.Reconstruct(shares[0][2], shares[1][2]), gramBits+finer)
	label, keeper := models[at[0]], models[at[1]]
	all := reals(rss.Reconstruct(rss.Share(*label.Shares), rss.Share(*keeper.Shares)), coefBits)
	for k := range each {
		o.beta = make([]float64, d)
		o.solve(f, mat.NewSymDense(d, gram), &system{reach: s.Reach}, sides[k*d:(k+1)*d], false)
		// A step rounds a coefficient twice; the last form, which has the bits of scores, and the system that is read here,
		// each once or twice.
		most := math.Ldexp(2*float64(f.params.Iterations)+4, -coefBits) + math.Ldexp(1, -o.scales.bs)
		if e := rms(all[k*d:(k+1)*d], o.beta); !(e <= most) {
			t.Errorf("coefficients are off by %.2g from their system's, want at most %.2g", e, most)
		}
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
