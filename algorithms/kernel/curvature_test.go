package kernel

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// drawnCurvature is a second derivative of some rows, with the gradient there.
func drawnCurvature(t *rapid.T) (*Curvature, []float64, []CurvedRow) {
	angles := rapid.IntRange(1, 12).Draw(t, "angles")
	counting := rapid.IntRange(0, 4*angles).Draw(t, "rows that count")
	c := &Curvature{Table: Cosines(), Features: 2 * angles, Rows: counting + rapid.IntRange(1, 20).Draw(t, "others"),
		Top: rapid.SampledFrom([]float64{0.25, 1, 2}).Draw(t, "top"), Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		Lambda: rapid.SampledFrom([]float64{1e-6, 1e-3, 0.1}).Draw(t, "lambda")}
	var rows []CurvedRow
	for range counting {
		rows = append(rows, CurvedRow{
			Turns: rapid.SliceOfN(rapid.Uint16(), angles, angles).Draw(t, "turns"),
			Root:  rapid.SampledFrom([]float64{0.01, 0.3, 0.7, 1}).Draw(t, "root"),
		})
	}
	return c, rapid.SliceOfN(rapid.Float64Range(-1, 1), c.Features+1, c.Features+1).Draw(t, "gradient"), rows
}

// plainStep is the oracle: H from its definition, the intercept's row and all, and a solution of it.
func plainStep(c *Curvature, gradient []float64, rows []CurvedRow) []float64 {
	d := c.Features
	h, right := mat.NewSymDense(d+1, nil), mat.NewVecDense(d+1, nil)
	for i := range d {
		h.SetSym(i, i, c.Lambda)
	}
	h.SetSym(d, d, c.Top/float64(c.Rows)/(1<<22)) // of a row of 1 / 2048
	for _, r := range rows {
		v := mat.NewVecDense(d+1, nil)
		for i, turn := range r.Turns {
			for k, w := range c.Table.whole[turn] {
				scaled := math.RoundToEven(float64(w) * r.Root)
				v.SetVec(2*i+k, scaled/2048*math.Sqrt2/math.Sqrt(float64(d)))
			}
		}
		v.SetVec(d, math.RoundToEven(2048*r.Root)/2048)
		h.SymRankOne(h, c.Top/float64(c.Rows), v)
	}
	for i, g := range gradient {
		right.SetVec(i, -g)
	}
	var step mat.VecDense
	if err := step.SolveVec(h, right); err != nil {
		if _, rough := err.(mat.Condition); !rough {
			panic(err)
		}
	}
	return step.RawVector().Data
}

// promise is what the quadratic of H says a step changes.
func promise(c *Curvature, gradient []float64, rows []CurvedRow, step []float64) float64 {
	d := c.Features
	sum := floats.Dot(gradient, step) + c.Lambda/2*floats.Dot(step[:d], step[:d])
	sum += c.Top / float64(c.Rows) / (1 << 22) / 2 * step[d] * step[d]
	for _, r := range rows {
		along := step[d] * math.RoundToEven(2048*r.Root) / 2048
		for i, turn := range r.Turns {
			for k, w := range c.Table.whole[turn] {
				along += step[2*i+k] * math.RoundToEven(float64(w)*r.Root) / 2048 * math.Sqrt2 / math.Sqrt(float64(d))
			}
		}
		sum += c.Top / float64(c.Rows) / 2 * along * along
	}
	return sum
}

// TestStepsAreThoseOfTheDefinition, with fewer rows than features and with more: they reach the minimum of the
// quadratic that a plain solution reaches.
func TestStepsAreThoseOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, gradient, rows := drawnCurvature(t)
		got, err := c.Step(gradient, rows)
		must(t, err)
		want := plainStep(c, gradient, rows)
		best, reached := promise(c, gradient, rows, want), promise(c, gradient, rows, got)
		if math.Abs(reached-best) > 1e-6*math.Abs(best) {
			t.Fatalf("of %d rows and %d features the step changes the quadratic by %v, a plain solution by %v", len(rows),
				c.Features, reached, best)
		}
	})
}

// TestBothFormsOfAStepAgree: the features' matrix and the rows' say the same.
func TestBothFormsOfAStepAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, gradient, rows := drawnCurvature(t)
		if len(rows) == 0 {
			return
		}
		one, err := c.byFeatures(gradient, rows, c.Lambda)
		must(t, err)
		other, err := c.byRows(gradient, rows, c.Lambda)
		must(t, err)
		if d := floats.Distance(one, other, 2); d > 1e-6*(1+floats.Norm(one, 2)) {
			t.Fatalf("the steps are %v apart, of a length of %v", d, floats.Norm(one, 2))
		}
	})
}

// TestStepsAreTheSameWithAnyWorkers, to the bit.
func TestStepsAreTheSameWithAnyWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, gradient, rows := drawnCurvature(t)
		want, err := c.Step(gradient, rows)
		must(t, err)
		c.Workers = 7 - c.Workers
		if got, err := c.Step(gradient, rows); err != nil || !slices.Equal(got, want) {
			t.Fatalf("with %d workers the step is another: %v", c.Workers, err)
		}
	})
}

// TestStepsOfOtherLengths are refused.
func TestStepsOfOtherLengths(t *testing.T) {
	c := &Curvature{Table: Cosines(), Features: 4, Rows: 3, Top: 1, Lambda: 1}
	const want = "the gradient has 4 numbers for 4 features and an intercept"
	if _, err := c.Step(make([]float64, 4), nil); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// TestNoLambdaIsTooSmall: rows that say the same again and again leave H no more than lambda.
func TestNoLambdaIsTooSmall(t *testing.T) {
	c := &Curvature{Table: Cosines(), Features: 64, Rows: 300, Top: 1, Lambda: 1e-300, Workers: 2}
	for _, n := range []int{40, 300} {
		var rows []CurvedRow
		for range n {
			rows = append(rows, CurvedRow{make([]uint16, 32), 1})
		}
		gradient := make([]float64, 65)
		gradient[3], gradient[64] = 1, -1
		step, err := c.Step(gradient, rows)
		if err != nil || !(floats.Dot(step, gradient) < 0) {
			t.Errorf("%d rows: slope %v, error %v", n, floats.Dot(step, gradient), err)
		}
	}
}
