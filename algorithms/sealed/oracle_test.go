package sealed

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// oracle is the pooled training in floating point: the same features, the same steps, no shares.
type oracle struct {
	z         *mat.Dense // features, centred
	means     []float64
	y         []float64 // targets
	scales    *scales
	steps     int
	loss      kernel.Loss
	beta      []float64
	intercept float64
}

// newOracle computes the features of all rows, from everybody's columns in one place.
func (f *fixture) newOracle(t testing.TB, sigma float64) *oracle {
	t.Helper()
	var parts []fdskl.Part
	for _, p := range f.parts {
		parts = append(parts, p...)
	}
	params := f.params
	params.Sigma = sigma
	begun, err := fdskl.Begin(t.Context(), &fdskl.Party{
		Names: f.names, Params: params, Privacy: fdskl.Sealed, Parts: parts, Rows: f.rows, Labels: f.labels, Network: fdskl.Solo{}, Vault: newVault(), Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	turns, err := begun.Turns(begun.Matrices(), 0, f.rows)
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{y: begun.Targets(), steps: f.params.Iterations, means: make([]float64, f.params.Features)}
	if o.scales, err = scalesOf(f.params, f.rows); err != nil {
		t.Fatal(err)
	}
	o.loss, _ = kernel.ParseLoss(f.params.Loss)
	o.z = mat.NewDense(f.rows, f.params.Features, nil)
	for i, turn := range turns {
		j, d := i/f.params.Features, i%f.params.Features
		o.z.Set(j, d, kernel.Cosine(turn))
		if f.params.Bound != boundPublic {
			o.means[d] += kernel.Cosine(turn) / float64(f.rows)
		}
	}
	for j := range f.rows {
		for d, m := range o.means {
			o.z.Set(j, d, o.z.At(j, d)-m)
		}
	}
	return o
}

// fit runs the same steps as the parties; exact solves the square loss's equations instead.
func (o *oracle) fit(f *fixture, exact bool) {
	rows, features := o.z.Dims()
	gram := mat.NewSymDense(features, nil)
	gram.SymOuterK(o.scales.s0*2/float64(features*rows), o.z.T())
	s := &system{reach: o.scales.publicReach()}
	if f.params.Bound != boundPublic {
		norm := mat.Norm(gram, 2)
		s.reach = math.Pow(2, math.Ceil(2*math.Log2(norm))/2)
	}
	for d := range features {
		gram.SetSym(d, d, gram.At(d, d)+o.scales.lambda/o.scales.kappa)
	}
	o.beta = make([]float64, features)
	if o.loss == kernel.Square {
		o.intercept = mean(o.y)
		o.solve(f, gram, s, o.side(o.y, o.intercept), exact)
		return
	}
	for range f.params.Outer {
		g := make([]float64, rows)
		for j, score := range o.scores() {
			g[j] = -o.loss.Derivative(score, o.y[j]) / o.scales.kappa
		}
		o.intercept += mean(g)
		right := o.side(g, mean(g))
		for d := range right {
			right[d] -= o.scales.lambda / o.scales.kappa * o.beta[d]
		}
		before := append([]float64(nil), o.beta...)
		clear(o.beta)
		o.solve(f, gram, s, right, exact)
		for d := range before {
			o.beta[d] += before[d]
		}
	}
}

// side returns s0 (2/D) (1/N) Z^T (v - mean).
func (o *oracle) side(v []float64, mean float64) []float64 {
	rows, features := o.z.Dims()
	h := make([]float64, features)
	for j := range rows {
		for d := range h {
			h[d] += o.scales.s0 * 2 / float64(rows*features) * o.z.At(j, d) * (v[j] - mean)
		}
	}
	return h
}

// solve adds the solution of the system to beta.
func (o *oracle) solve(f *fixture, gram *mat.SymDense, s *system, right []float64, exact bool) {
	n := len(right)
	x, r := mat.NewVecDense(n, o.beta), mat.NewVecDense(n, right)
	if exact {
		var chol mat.Cholesky
		chol.Factorize(gram)
		chol.SolveVecTo(x, r)
		return
	}
	factors, err := Steps(f.params, f.rows, s.reach)
	if err != nil {
		panic(err)
	}
	direction, residual := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for _, by := range factors[:o.steps] {
		residual.MulVec(gram, x)
		residual.SubVec(r, residual)
		direction.ScaleVec(by.Direction, direction)
		direction.AddScaledVec(direction, by.Residual, residual)
		x.AddVec(x, direction)
	}
}

// scores returns f of all rows.
func (o *oracle) scores() []float64 {
	rows, _ := o.z.Dims()
	f := mat.NewVecDense(rows, nil)
	f.MulVec(o.z, mat.NewVecDense(len(o.beta), o.beta))
	for j := range rows {
		f.SetVec(j, f.AtVec(j)+o.intercept)
	}
	return f.RawVector().Data
}

// mean returns the mean of v.
func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// rms returns the root mean square of a - b.
func rms(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// TestSealedTrainingIsTheSameStepsInTheClear trains and predicts in sessions that a contract holds, and
// compares the scores with the same steps in floating point.
func TestSealedTrainingIsTheSameStepsInTheClear(t *testing.T) {
	for name, c := range map[string]struct {
		q        int
		params   fdskl.Params
		idle     []int
		receiver int
		within   float64
	}{
		"three parties":           {q: 3, params: fdskl.Params{Features: 48, Iterations: 60}, within: 5e-3},
		"five, two outside":       {q: 5, params: fdskl.Params{Features: 33, Iterations: 40, Sigma: 2}, receiver: 4, within: 5e-3},
		"a helper without data":   {q: 3, params: fdskl.Params{Features: 32, Iterations: 40}, idle: []int{2}, receiver: 1, within: 5e-3},
		"keeper and helper swap":  {q: 4, params: fdskl.Params{Features: 32, Iterations: 40, Keeper: "p3", Helper: "p1"}, receiver: 1, within: 5e-3},
		"compact":                 {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Ring: 48}, within: 4e-2},
		"regression":              {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Target: fdskl.Regression}, within: 5e-3},
		"a public bound":          {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Bound: "public"}, within: 5e-3},
		"logistic":                {q: 3, params: fdskl.Params{Features: 48, Iterations: 40, Loss: "logistic", Outer: 4}, within: 3e-2},
		"smooth hinge, two outer": {q: 4, params: fdskl.Params{Features: 32, Iterations: 40, Loss: "smooth-hinge", Outer: 2}, within: 3e-2},
	} {
		t.Run(name, func(t *testing.T) {
			c.params.ScoreBits, c.params.Lambda = 14, 1e-4
			f := newFixture(t, c.q, 150, c.params, c.idle...)
			league := newFederation(t, f.names)
			models := f.train(t, league)
			o := f.newOracle(t, models[0].Sigma)
			o.fit(f, false)
			got := f.predict(t, league, models, c.receiver)
			if d := rms(got, o.scores()); !(d < c.within) {
				t.Errorf("scores differ by %.2g, want less than %.2g", d, c.within)
			}
			o.fit(f, true)
			t.Logf("rms beside the exact solution: %.3g", rms(got, o.scores()))
		})
	}
}
