package fdskl

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// newObjective makes an objective over random angles. Labels follow the first one but for a share of noise.
func newObjective(rows, features int, loss kernel.Loss, lambda, noise float64, seed uint64) *local {
	p := Params{Features: features}.WithDefaults()
	t := newParts(&setting{Party: &Party{Params: p, Rows: rows, Workers: 2, newtonSide: newtonSide},
		cosine: kernel.Cosines(), loss: loss})
	held := &angles{turns: make([]uint16, rows*p.Angles()), count: p.Angles()}
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range held.turns {
		held.turns[i] = uint16(rng.Uint32())
	}
	t.target.values = make([]float64, rows)
	for j := range t.target.values {
		t.target.values[j] = 1
		if wave := math.Cos(float64(held.row(j)[0]) / 65536 * 2 * math.Pi); (wave > 0.3) == (rng.Float64() < noise) {
			t.target.values[j] = -1
		}
	}
	return t.solver.newLocal(held, lambda, nil)
}

// drawnObjective draws an objective, of all rows or of some.
func drawnObjective(t *rapid.T) *local {
	rows := rapid.IntRange(2, 90).Draw(t, "rows")
	o := newObjective(rows, 2*rapid.IntRange(1, 20).Draw(t, "angles"),
		rapid.SampledFrom([]kernel.Loss{kernel.Logistic, kernel.SmoothHinge}).Draw(t, "loss"),
		rapid.SampledFrom([]float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1}).Draw(t, "lambda"),
		rapid.SampledFrom([]float64{0, 0.1, 0.4}).Draw(t, "noise"), rapid.Uint64().Draw(t, "seed"))
	if rapid.Bool().Draw(t, "only some rows") {
		for j := 0; j < rows; j += 2 {
			o.rows = append(o.rows, j)
		}
	}
	return o
}

// solve runs newton from 0 and returns the states that it kept and the last.
func solve(t testing.TB, o *local) (kept []*lbfgs.State, last *lbfgs.State) {
	t.Helper()
	vault := &keeper{memory: newVault()}
	last, _, err := o.newton(t.Context(), make([]float64, o.size()), nil, vault)
	mustDo(t, err)
	for _, data := range vault.saved {
		s := new(lbfgs.State)
		mustDo(t, cbor.Unmarshal(data, s))
		kept = append(kept, s)
	}
	return kept, last
}

// keeper is a vault that remembers all that was saved.
type keeper struct {
	*memory
	saved [][]byte
}

// Save implements joint.Vault.
func (k *keeper) Save(name string, data []byte) error {
	k.saved = append(k.saved, bytes.Clone(data))
	return k.memory.Save(name, data)
}

// plainMinimum is the oracle: the objective and its derivatives from their definitions, on a dense matrix of features,
// and steps that are halved until the value falls. It returns the value where none falls any more.
func plainMinimum(o *local) float64 {
	d, n := o.held.features(), float64(o.count())
	var features [][]float64
	var labels []float64
	for i := range o.count() {
		row := make([]float64, d, d+1)
		o.cosine.Pairs64(row, o.held.row(o.row(i)))
		floats.Scale(1/math.Sqrt(float64(d)), row)
		features, labels = append(features, append(row, 1)), append(labels, o.target.values[o.row(i)])
	}
	value := func(x []float64) float64 {
		sum := o.lambda / 2 * floats.Dot(x[:d], x[:d])
		for j, row := range features {
			sum += o.loss.Value(floats.Dot(row, x), labels[j]) / n
		}
		return sum
	}
	x := make([]float64, d+1)
	best := value(x)
	for range 500 {
		gradient, h := mat.NewVecDense(d+1, nil), mat.NewSymDense(d+1, nil)
		for i := range d {
			gradient.SetVec(i, o.lambda*x[i])
			h.SetSym(i, i, o.lambda)
		}
		h.SetSym(d, d, 1e-9)
		for j, row := range features {
			f, v := floats.Dot(row, x), mat.NewVecDense(d+1, row)
			gradient.AddScaledVec(gradient, o.loss.Derivative(f, labels[j])/n, v)
			h.SymRankOne(h, o.loss.Second(f, labels[j])/n, v)
		}
		var step mat.VecDense
		var factor mat.Cholesky
		if !factor.Factorize(h) || factor.SolveVecTo(&step, gradient) != nil && step.Len() == 0 {
			break
		}
		fell := false
		for size := 1.0; size > 1e-12; size /= 2 {
			next := slices.Clone(x)
			floats.AddScaled(next, -size, step.RawVector().Data)
			if v := value(next); v < best {
				fell, x, best = best-v > 1e-13*best, next, v
				break
			}
		}
		if !fell {
			break
		}
	}
	return best
}

// TestNewtonEndsAtTheMinimumOfTheOracle: all rows together have less than an eighth of a nat to fall.
func TestNewtonEndsAtTheMinimumOfTheOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := drawnObjective(rt)
		_, last := solve(t, o)
		best := plainMinimum(o)
		if !(float64(o.count())*(last.Value-best) < Reached/2 && last.Value >= best*(1-1e-6)-1e-12) {
			rt.Fatalf("the value is %v after %d steps, the oracle's %v", last.Value, last.Iteration, best)
		}
	})
}

// TestNewtonNeverRises from a step to the next, and ends where the gradient is as short as its bound says.
func TestNewtonNeverRises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := drawnObjective(rt)
		kept, last := solve(t, o)
		if len(kept) != last.Iteration {
			rt.Fatalf("%d states of %d steps are kept", len(kept), last.Iteration)
		}
		gradient, scores := make([]float64, o.size()), make([]float64, o.count())
		before := o.evaluate(gradient, make([]float64, o.size()), scores)
		for _, s := range kept {
			value := o.evaluate(s.Alpha, gradient, scores)
			if value > before*(1+1e-14) {
				rt.Fatalf("step %d: the value rises from %v to %v", s.Iteration, before, value)
			}
			before = value
		}
		most := math.Sqrt(2 * o.lambda * newtonGap * min(newtonFall*last.Value+newtonRest, Reached/2/float64(o.count())))
		if norm := floats.Norm(gradient, 2); norm > most || before != last.Value {
			rt.Fatalf("the gradient's norm is %v, want at most %v; the value %v, want %v", norm, most, last.Value, before)
		}
	})
}

// TestNewtonGoesOn from every state that it kept, to the same end, bit for bit.
func TestNewtonGoesOn(t *testing.T) {
	for _, loss := range []kernel.Loss{kernel.Logistic, kernel.SmoothHinge} {
		o := newObjective(150, 40, loss, 1e-6, 0.1, 1)
		kept, want := solve(t, o)
		if len(kept) < 2 {
			t.Fatalf("%s: %d states are kept: the test tells little", loss, len(kept))
		}
		for _, s := range kept {
			got, _, err := o.newton(t.Context(), nil, s, nil)
			if err != nil || !slices.Equal(got.Alpha, want.Alpha) || got.Iteration != want.Iteration {
				t.Errorf("%s from step %d: another end, error %v", loss, s.Iteration, err)
			}
		}
		kept[0].Alpha[3] = math.NaN()
		_, _, err := o.newton(t.Context(), nil, kept[0], nil)
		wantError(t, err, "the checkpoint of solver iteration 1 holds a number that is not finite")
	}
}

// TestNewtonOnAnyNumberOfCores ends in the same bits, by the features' matrix and by the rows'.
func TestNewtonOnAnyNumberOfCores(t *testing.T) {
	for _, rows := range []int{250, 900} {
		for _, loss := range []kernel.Loss{kernel.Logistic, kernel.SmoothHinge} {
			var want []float64
			for _, cores := range []int{1, 2, 5} {
				o := newObjective(rows, 300, loss, 1e-5, 0.1, 1)
				o.Workers = cores
				before := runtime.GOMAXPROCS(cores)
				_, last := solve(t, o)
				runtime.GOMAXPROCS(before)
				if want == nil {
					want = last.Alpha
				}
				if !slices.Equal(last.Alpha, want) {
					t.Errorf("%d rows, %s: other coefficients on %d cores", rows, loss, cores)
				}
			}
		}
	}
}

// TestLargeObjectivesAreLeftToLBFGS, which ends about where newton does.
func TestLargeObjectivesAreLeftToLBFGS(t *testing.T) {
	for _, loss := range []kernel.Loss{kernel.Logistic, kernel.SmoothHinge} {
		o := newObjective(200, 40, loss, 1e-3, 0.1, 1)
		_, want := solve(t, o)
		for _, side := range []int{39, 40} {
			o.newtonSide = side
			got, _, err := o.solver.minimise(t.Context(), o, make([]float64, o.size()), nil, nil)
			if err != nil || 200*math.Abs(got.Value-want.Value) > Reached/2 {
				t.Fatalf("%s: the value is %v, newton's %v, error %v", loss, got.Value, want.Value, err)
			}
			if is := slices.Equal(got.Alpha, want.Alpha); is != (side == 40) {
				t.Errorf("%s, matrices up to %d: the coefficients are newton's: %v", loss, side, is)
			}
		}
	}
}

// levelled makes an objective over rows that tell little: all alike, of one class, of one but for one row, or of no
// angle but 0.
func levelled(what string, rows int, loss kernel.Loss, lambda float64) *local {
	o := newObjective(rows, 20, loss, lambda, 0.1, 7)
	y := o.target.values
	if strings.Contains(what, "one class") || strings.Contains(what, "one other") {
		copy(y, slices.Repeat([]float64{-1}, rows))
	}
	if strings.Contains(what, "one other") {
		y[0] = 1
	}
	if strings.Contains(what, "alike") {
		for j := range rows {
			copy(o.held.row(j), o.held.row(0))
		}
	}
	if strings.Contains(what, "zeros") {
		clear(o.held.turns)
	}
	return o
}

// TestTheLevellerGetsAFiniteModel of rows that tell little, with any lambda: newton ends within the job's iterations,
// at finite numbers, where the value is no larger than at the start. From a lambda of 1e-6 on, the smallest that "auto"
// tries, it is the oracle's minimum to an eighth of a nat, after at most 50
// steps. Far below that the matrix's whole numbers do
// not lead there where rows are fewer than features, or alike; see decision 0061.
func TestTheLevellerGetsAFiniteModel(t *testing.T) {
	for _, loss := range []kernel.Loss{kernel.Logistic, kernel.SmoothHinge} {
		for _, what := range []string{"noise", "one class", "one other", "alike", "alike, one class", "zeros",
			"zeros, one other"} {
			for _, rows := range []int{1, 2, 13, 40} {
				for _, lambda := range []float64{math.SmallestNonzeroFloat64, 1e-300, 1e-12, 1e-6, 1e-3, 1, 1e30, 1e300,
					math.MaxFloat64} {
					o := levelled(what, rows, loss, lambda)
					o.Params.Iterations = 60
					name := fmt.Sprintf("%s, %s, %d rows, lambda %g", loss, what, rows, lambda)
					kept, last := solve(t, o)
					start := o.evaluate(make([]float64, o.size()), make([]float64, o.size()), make([]float64, rows))
					if !parameters.AreFinite(last.Alpha) || !(last.Value <= start) || len(kept) > o.Params.Iterations {
						t.Fatalf("%s: the value is %v after %d steps, at first %v", name, last.Value, len(kept), start)
					}
					if lambda < 1e-6 || lambda > 1e30 {
						continue
					}
					best := plainMinimum(o)
					if !(float64(rows)*(last.Value-best) < Reached/2) || len(kept) > 50 {
						t.Errorf("%s: the value is %v after %d steps, the oracle's %v", name, last.Value, len(kept), best)
					}
				}
			}
		}
	}
}
