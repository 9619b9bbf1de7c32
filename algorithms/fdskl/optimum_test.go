package fdskl

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/internal/testnet/optimum"
)

// objectiveOf makes the objective of the logistic loss over random angles of a table's rows.
func objectiveOf(table optimum.Table, features int, lambda float64) *local {
	n, d := table.X.Dims()
	o := newObjective(n, features, kernel.Logistic, lambda, 0, 1)
	rng := rand.New(rand.NewPCG(3, 4))
	omega := make([]float64, d*o.held.count)
	for i := range omega {
		omega[i] = rng.NormFloat64() / (2 * math.Pi * 2)
	}
	for j := range n {
		row := o.held.row(j)
		for a := range row {
			turn := float64(a) / float64(len(row)) // phases, which hide nothing here
			for c, v := range table.X.RawRowView(j) {
				turn += v * omega[a*d+c]
			}
			row[a] = uint16(int64(math.Round(turn*65536)) & 65535)
		}
		o.target.values[j] = 2*table.Y[j] - 1
	}
	return o
}

// featuresOf computes the features of the objective's rows from their angles: rows x features.
func featuresOf(o *local) *mat.Dense {
	x := mat.NewDense(o.Rows, o.held.features(), nil)
	for j := range o.Rows {
		for a, turn := range o.held.row(j) {
			angle := 2 * math.Pi * float64(turn) / 65536
			x.Set(j, 2*a, math.Cos(angle)*math.Sqrt(2/float64(o.held.features())))
			x.Set(j, 2*a+1, math.Sin(angle)*math.Sqrt(2/float64(o.held.features())))
		}
	}
	return x
}

// TestRunsThatEndAreAtTheOptimum: of every made table, with large and small lambdas, what all rows together have yet to
// fall is below an eighth of a nat, and the mean probability right to a hundredth: by Newton's method, and by L-BFGS.
func TestRunsThatEndAreAtTheOptimum(t *testing.T) {
	const features = 64
	for _, table := range optimum.Tables() {
		for _, lambda := range []float64{1e-3, 1e-5, 1e-7} {
			o := objectiveOf(table, features, lambda)
			x := featuresOf(o)
			want, err := optimum.Fit(x, table.Y, slices.Repeat([]float64{lambda}, features))
			mustDo(t, err)
			for _, side := range []int{newtonSide, 1} {
				o.newtonSide, o.Params.Iterations = side, 300
				last, q, err := o.solver.minimise(t.Context(), o, make([]float64, o.size()), nil, nil)
				mustDo(t, err)
				value := func(w []float64, intercept float64) (value, mean float64) {
					f := mat.NewVecDense(o.Rows, nil)
					f.MulVec(x, mat.NewVecDense(features, w))
					scores := f.RawVector().Data
					for i := range scores {
						scores[i] += intercept
						mean += 1 / (1 + math.Exp(-scores[i])) / float64(o.Rows)
					}
					value = optimum.Loss(scores, table.Y)
					for _, v := range w {
						value += lambda / 2 * v * v
					}
					return value, mean
				}
				is, mean := value(last.Alpha[:features], last.Alpha[features])
				best, _ := value(want.Weights, want.Intercept)
				excess := float64(o.Rows) * (is - best)
				t.Logf("%s, lambda %g, side %d: %d iterations, %.2g nats to fall, q %.2g, mean %.5g for %.5g", table.Name, lambda,
					side, last.Iteration, excess, q, mean, want.Mean())
				if !(excess < Reached/2) || !(excess > -1e-6) || math.Abs(mean/want.Mean()-1) > .01 || ToGo(q) > 0 {
					t.Errorf("%s, lambda %g, side %d: %v nats to fall after %d iterations, mean probability %v, want %v, q %v",
						table.Name, lambda, side, excess, last.Iteration, mean, want.Mean(), q)
				}
			}
		}
	}
}

// TestRunsThatAreCutShortSaySo: after few of the job's iterations the model has how far the optimum is, about as far as
// it is, with one active party and with several, each of which has the same number; with enough iterations it has none.
func TestRunsThatAreCutShortSaySo(t *testing.T) {
	for _, actives := range []int{1, 2} {
		for iterations, far := range map[int]bool{1: true, 300: false} {
			f := newFixture(t, 3, 200, actives, Params{Features: 96, Iterations: iterations,
				Lambda: 1e-6, Sigma: 1, Seed: "j"})
			if actives > 1 {
				f.splitLabels()
			}
			models := f.train(t)
			for _, m := range models[:actives] {
				if far != (m.ToGo > 0) || m.ToGo != models[0].ToGo || far == (m.NotConverged() == "") {
					t.Errorf("%d active, %d iterations: %v standard errors to go, %q", actives, m.Iterations, m.ToGo,
						m.NotConverged())
				}
			}
			again, err := DecodeModel([]byte(bytesOf(t, models[0])))
			if err != nil || again.ToGo != models[0].ToGo {
				t.Errorf("%d active: the decoded part is another, error %v", actives, err)
			}
		}
	}
}

// TestHowFarIsSaidInWords with one digit behind the point where there are few standard errors, and without where many.
func TestHowFarIsSaidInWords(t *testing.T) {
	const helps = "a larger lambda or more iterations"
	for _, c := range []struct {
		q          float64
		iterations int
		want       string
	}{
		{Reached, 7, ""},
		{9, 100, "not converged: about 3.0 standard errors to go after 100 iterations; " + helps},
		{400, 1, "not converged: about 20 standard errors to go after 1 iteration; " + helps},
		{math.NaN(), 2, "not converged: more than 10,000 standard errors to go after 2 iterations; " + helps},
		{math.Inf(1), 2, "not converged: more than 10,000 standard errors to go after 2 iterations; " + helps},
	} {
		m := &Model{ToGo: ToGo(c.q), Iterations: c.iterations}
		if got := m.NotConverged(); got != c.want || !parameters.IsFinite(m.ToGo) {
			t.Errorf("q %v: %q, want %q", c.q, got, c.want)
		}
	}
	kernel := Params{Outer: 32, Iterations: 300, Features: 64}
	card := Params{Outer: 8, Iterations: 60, Features: 64, BinParams: BinParams{Bins: 10}}
	for _, c := range []struct {
		p          Params
		iterations int
		toGo       float64
		want       string
	}{
		{kernel, 32 * MostSolverSteps, 4, "up to 4 standard errors to go after 32 steps; a larger lambda, fewer features or " +
			"more outer"},
		{kernel, 32 * MostSolverSteps, math.MaxFloat64, "more than 32 standard errors to go after 32 steps, so that scores " +
			"say little; a larger lambda, fewer features or more outer"},
		{card, 8 * 60, 32, "up to 32 standard errors to go after 8 steps, so that no points and no z-scores open; a larger " +
			"lambda, fewer bins or more outer"},
	} {
		m := &Model{Privacy: Sealed, Params: c.p, ToGo: c.toGo, Iterations: c.iterations}
		if got, want := m.NotConverged(), "not converged: "+c.want; got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
