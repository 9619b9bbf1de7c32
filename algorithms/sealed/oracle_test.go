package sealed

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
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
	lambda    float64 // the job's, or the one that was chosen
}

// newOracle computes the features of all rows, from everybody's columns in one place.
func (f *fixture) newOracle(t testing.TB, sigma float64) *oracle {
	t.Helper()
	return f.newOracleOf(t, sigma, 0)
}

// newOracles are those of all functions.
func (f *fixture) newOracles(t testing.TB, sigma float64) (list []*oracle) {
	t.Helper()
	for k := range f.params.Scores() {
		list = append(list, f.newOracleOf(t, sigma, k))
	}
	return list
}

// together are the scores of all oracles, row-major.
func together(list []*oracle) []float64 {
	rows, _ := list[0].z.Dims()
	all := make([]float64, rows*len(list))
	for k, o := range list {
		for j, score := range o.scores() {
			all[j*len(list)+k] = score
		}
	}
	return all
}

// newOracleOf is newOracle for the k-th function.
func (f *fixture) newOracleOf(t testing.TB, sigma float64, k int) *oracle {
	t.Helper()
	var parts []fdskl.Part
	for _, p := range f.parts {
		parts = append(parts, p...)
	}
	params := f.params
	params.Sigma = sigma
	angles := parts
	if params.Binned() {
		angles = nil
	}
	begun, err := fdskl.Begin(t.Context(), &fdskl.Party{
		Names: f.names, Params: params, Privacy: fdskl.Sealed, Parts: angles, Rows: f.rows, Labels: f.labels,
		Network: fdskl.Solo{}, Vault: newVault(), Workers: 1,
	})
	must(t, err)
	if params.Binned() {
		return f.newBinOracle(t, parts, begun.Targets(k))
	}
	turns, err := begun.Turns(begun.Matrices(), 0, f.rows)
	must(t, err)
	o := &oracle{y: begun.Targets(k), steps: f.params.Iterations, means: make([]float64, f.params.Features)}
	if o.scales, err = scalesOf(f.params, f.rows); err != nil {
		t.Fatal(err)
	}
	o.loss, _ = kernel.ParseLoss(f.params.Loss)
	o.z = mat.NewDense(f.rows, f.params.Features, nil)
	for i, turn := range turns {
		j, pair := 2*i/f.params.Features, 2*i%f.params.Features
		angle := 2 * math.Pi * float64(turn) / 65536
		for d, z := range []float64{math.Cos(angle), math.Sin(angle)} {
			o.z.Set(j, pair+d, z)
			if f.params.Bound != boundPublic || o.loss != kernel.Square {
				o.means[pair+d] += z / float64(f.rows)
			}
		}
	}
	o.centre()
	return o
}

// newBinOracle computes the bins of all rows, from everybody's columns in one place: the dumb way, value by value.
func (f *fixture) newBinOracle(t testing.TB, parts []fdskl.Part, targets []float64) *oracle {
	t.Helper()
	o := &oracle{y: targets, steps: f.params.Iterations, means: make([]float64, f.params.Features)}
	var err error
	if o.scales, err = scalesOf(f.params, f.rows); err != nil {
		t.Fatal(err)
	}
	o.loss, _ = kernel.ParseLoss(f.params.Loss)
	o.z = mat.NewDense(f.rows, f.params.Features, nil)
	at := 0
	for _, part := range parts {
		for j := range f.rows {
			part.Rows.EachInRow(j, func(bin int, v float64) {
				o.z.Set(j, at+bin, v)
				if f.params.Bound != boundPublic || o.loss != kernel.Square {
					o.means[at+bin] += v / float64(f.rows)
				}
			})
		}
		at += part.Rows.Columns()
	}
	o.centre()
	return o
}

// centre takes the means off the features.
func (o *oracle) centre() {
	rows, _ := o.z.Dims()
	for j := range rows {
		for d, m := range o.means {
			o.z.Set(j, d, o.z.At(j, d)-m)
		}
	}
}

// fit runs the same steps as the parties; exact solves the square loss's equations instead.
func (o *oracle) fit(f *fixture, exact bool) {
	_, features := o.z.Dims()
	gram, s := o.gram(f)
	if o.lambda == 0 {
		o.lambda = float64(f.params.Lambda)
	}
	for d := range features {
		gram.SetSym(d, d, gram.At(d, d)+o.scales.scaled(o.lambda)/o.scales.kappa)
	}
	o.beta = make([]float64, features)
	if o.loss == kernel.Square {
		o.intercept = mean(o.y)
		o.solve(f, gram, s, o.side(o.y, o.intercept), exact)
		return
	}
	best := optimumOf(o.z, o.y, o.lambda*float64(o.scales.weight)/2)
	o.beta, o.intercept = best.beta, best.intercept
}

// gram returns the Gram matrix of all rows and how far its spectrum reaches.
func (o *oracle) gram(f *fixture) (*mat.SymDense, *system) {
	rows, features := o.z.Dims()
	gram := mat.NewSymDense(features, nil)
	gram.SymOuterK(o.scales.s0*2/float64(o.scales.weight*rows), o.z.T())
	s := &system{reach: newParts(&setting{Party: f.party(0, nil, 0), scales: o.scales}).assembler.publicReach()}
	if f.params.Bound != boundPublic {
		s.reach = f.reach(mat.Norm(gram, 2))
	}
	return gram, s
}

// reach is the bound of the spectrum that the job had, which has chance in it: by its checkpoint, where that is such a
// bound of a matrix of the given norm, at most twice as large, and else the smallest.
func (f *fixture) reach(norm float64) float64 {
	least := math.Pow(2, math.Ceil(2*math.Log2(norm))/2)
	s, err := newParts(&setting{Party: f.party(0, nil, 0)}).checkpoints.load(stageSystem.file(0))
	const tolerance = 1 << boundTolerance
	if err != nil || s == nil || s.Reach < least*(1-1e-9) || s.Reach > 2*norm*(1+1.0/tolerance) {
		return least
	}
	return s.Reach
}

// side returns s0 (2/D) (1/N) Z^T (v - mean).
func (o *oracle) side(v []float64, mean float64) []float64 {
	rows, features := o.z.Dims()
	h := make([]float64, features)
	for j := range rows {
		for d := range h {
			h[d] += o.scales.s0 * 2 / float64(rows*o.scales.weight) * o.z.At(j, d) * (v[j] - mean)
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
	factors, err := Steps(f.params, f.rows, o.lambda, s.reach)
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

// binned makes parameters of a job with bins.
func binned(p fdskl.Params) fdskl.Params {
	p.Bins, p.MinCell = 3, 2
	return p
}

// sameClasses wants each row to be of the class that the scores in the clear say, unless two of these are nearer to
// each other than twice what a score is off.
func (f *fixture) sameClasses(t testing.TB, got, want []float64, off float64) {
	t.Helper()
	each := f.params.Scores()
	if each == 1 {
		return
	}
	seen, close := make(map[int]bool), 0
	for j := range f.rows {
		a, b := joint.Class(got[j*each:(j+1)*each]), joint.Class(want[j*each:(j+1)*each])
		switch {
		case want[j*each+b]-want[j*each+a] > 2*off:
			t.Errorf("row %d is of class %d, want %d", j, a, b)
		case a != b:
			close++
		}
		seen[a] = true
	}
	if len(seen) != each || close > f.rows/10 {
		t.Errorf("all rows are of %d classes of %d, %d of them of another than in the clear: the test says little", len(seen),
			each, close)
	}
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
		"three parties": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60}, within: 5e-3},
		"five, two outside": {q: 5, params: fdskl.Params{Features: 34, Iterations: 40, Sigma: 2}, receiver: 4,
			within: 5e-3},
		"a helper without data": {q: 3, params: fdskl.Params{Features: 32, Iterations: 40}, idle: []int{2}, receiver: 1,
			within: 5e-3},
		"keeper and helper swap": {q: 4, params: fdskl.Params{Features: 32, Iterations: 40, Keeper: "p3", Helper: "p1"},
			receiver: 1, within: 5e-3},
		"compact": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Ring: 48}, within: 4e-2},
		"small":   {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Ring: 32}, within: 4e-2},
		"small, a public bound, two outside": {q: 5, params: fdskl.Params{Features: 48, Iterations: 60, Ring: 32,
			Bound: "public"}, receiver: 4, within: 4e-2},
		"small, regression": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Ring: 32, Target: joint.Regression},
			within: 4e-2},
		"small, three classes": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Ring: 32, Classes: 3},
			within: 4e-2},
		"small, logistic": {q: 3, params: fdskl.Params{Features: 48, Iterations: 40, Ring: 32, Loss: "logistic"},
			within: 5e-2},
		"small, logistic, one outside": {q: 4, params: fdskl.Params{Features: 32, Iterations: 40, Ring: 32,
			Loss: "logistic"}, within: 5e-2},
		"regression": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Target: joint.Regression},
			within: 5e-3},
		"three classes": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Classes: 3}, within: 5e-3},
		"five classes, two outside": {q: 5, params: fdskl.Params{Features: 34, Iterations: 40, Classes: 5}, receiver: 4,
			within: 5e-3},
		"four classes, compact, a helper without data": {q: 3, idle: []int{2}, receiver: 1, within: 4e-2,
			params: fdskl.Params{Features: 48, Iterations: 60, Classes: 4, Ring: 48}},
		"a public bound": {q: 3, params: fdskl.Params{Features: 48, Iterations: 60, Bound: "public"}, within: 5e-3},
		"logistic": {q: 3, params: fdskl.Params{Features: 48, Iterations: 40, Loss: "logistic"},
			within: 3e-2},
		"bins": {q: 3, params: binned(fdskl.Params{Iterations: 60}), within: 5e-3},
		"bins, five, two outside": {q: 5, params: binned(fdskl.Params{Iterations: 60, Keeper: "p3", Helper: "p1"}),
			receiver: 4, within: 5e-3},
		"bins, a helper without data": {q: 3, params: binned(fdskl.Params{Iterations: 40}), idle: []int{2}, receiver: 1,
			within: 5e-3},
		"bins, compact, a public bound": {q: 4, params: binned(fdskl.Params{Iterations: 60, Ring: 48, Bound: "public"}),
			within: 4e-2},
		"bins, logistic": {q: 4, params: binned(fdskl.Params{Iterations: 60, Loss: "logistic"}), within: 3e-2},
		"bins, regression": {q: 4, params: binned(fdskl.Params{Iterations: 60, Target: joint.Regression}),
			within: 5e-3},
		"logistic, one outside": {q: 4, params: fdskl.Params{Features: 32, Iterations: 40, Loss: "logistic"},
			within: 3e-2},
	} {
		t.Run(name, func(t *testing.T) {
			c.params.ScoreBits, c.params.Lambda = 14, max(1e-4, fdskl.Lambda(leastLambda(c.params, 150)))
			f := newFixture(t, c.q, 150, c.params, c.idle...)
			f.window = 40
			testNetwork := newFederation(t, f.names)
			models := f.train(t, testNetwork)
			list := f.newOracles(t, models[0].Sigma)
			for _, o := range list {
				o.fit(f, false)
			}
			got := f.predict(t, testNetwork, models, c.receiver)
			want := together(list)
			if d := rms(got, want); !(d < c.within) {
				t.Errorf("scores differ by %.2g, want less than %.2g", d, c.within)
			}
			f.sameClasses(t, got, want, 8*c.within)
			for _, o := range list {
				o.fit(f, true)
			}
			t.Logf("rms beside the exact solution: %.3g", rms(got, together(list)))
		})
	}
}
