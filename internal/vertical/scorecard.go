package vertical

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Scorecard is a linear or logistic model of bins, learned in the clear from all owners' parts: the optimum that a
// sealed job of algorithm "glm" goes towards.
type Scorecard struct {
	Weights   []float64 // of the bins, owner after owner
	Intercept float64
	ToGo      float64 // how many standard errors away the optimum still is, 0 where it is reached; see fdskl.ToGo
}

// Limits of Newton's steps. The last one is from where the squared distance to go, in standard errors, is below
// scorecardTiny; it leaves about the square of that. No card of docs/decisions/0083 takes ten.
const (
	scorecardSteps = 100
	scorecardTiny  = 1e-6
)

// leastCurve is what a row of the smooth hinge counts where it is straight, of what it counts where it is curved.
const leastCurve = 1e-6

// FitScorecard minimises the mean loss and (lambda/2) C |beta|^2, where C is the number of columns, by Newton's method
// with the loss's own second derivative. The intercept is not penalised. A step is halved until the objective falls.
func FitScorecard(parts []*kernel.Matrix, y []float64, columns int, lambda float64, loss kernel.Loss) (*Scorecard,
	error) {
	z := stack(parts)
	n, d := z.Dims()
	o := &cardObjective{rows: z.Grow(0, 1).(*mat.Dense), labels: y, loss: loss, ridge: lambda * float64(columns)}
	for i := range n {
		o.rows.Set(i, d, 1)
	}
	at := make([]float64, d+1) // the intercept's last
	if loss == kernel.Logistic {
		ones := 0.5
		for _, t := range y {
			ones += max(t, 0)
		}
		at[d] = math.Log(ones / (float64(n) + 1 - ones))
	}
	scores := o.scores(at)
	var factor mat.Cholesky
	var q float64
	for step := range scorecardSteps {
		gradient, second := o.derivatives(at, scores, step == 0 || loss != kernel.Square)
		var down mat.VecDense
		if second != nil && !factor.Factorize(second) ||
			factor.SolveVecTo(&down, mat.NewVecDense(d+1, gradient)) != nil {
			return nil, errors.New("the scorecard's equations are singular: lambda is too small")
		}
		direction := down.RawVector().Data
		slope := floats.Dot(gradient, direction)
		if q = float64(n) * slope; q < scorecardTiny {
			floats.Sub(at, direction)
			break
		}
		length := o.fall(at, scores, direction, slope)
		if length == 0 {
			break
		}
		floats.AddScaled(at, -length, direction)
		scores = o.scores(at)
	}
	return &Scorecard{Weights: at[:d], Intercept: at[d], ToGo: fdskl.ToGo(q)}, nil
}

// cardObjective is what FitScorecard minimises.
type cardObjective struct {
	rows   *mat.Dense // rows x (bins, and 1 for the intercept)
	labels []float64
	loss   kernel.Loss
	ridge  float64 // of the mean loss, for each bin
}

// fall returns how much of a direction, whose slope is given, to go down: all of it, or half as often as it takes. It
// is 0 where the objective falls nowhere, at the limit of precision.
func (o *cardObjective) fall(at, scores, direction []float64, slope float64) float64 {
	before, more := o.value(at, scores), o.scores(direction)
	next, moved := make([]float64, len(at)), make([]float64, len(scores))
	for length := 1.0; length > 1e-12; length /= 2 {
		floats.AddScaledTo(next, at, -length, direction)
		floats.AddScaledTo(moved, scores, -length, more)
		if o.value(next, moved) <= before-1e-4*length*slope {
			return length
		}
	}
	return 0
}

// scores returns the scores of all rows.
func (o *cardObjective) scores(at []float64) []float64 {
	f := mat.NewVecDense(len(o.labels), nil)
	f.MulVec(o.rows, mat.NewVecDense(len(at), at))
	return f.RawVector().Data
}

// value returns the objective where rows have these scores.
func (o *cardObjective) value(at, scores []float64) float64 {
	sum := 0.0
	for i, f := range scores {
		sum += o.loss.Value(f, o.labels[i]) / float64(len(scores))
	}
	bins := at[:len(at)-1]
	return sum + o.ridge/2*floats.Dot(bins, bins)
}

// derivatives returns the gradient where rows have these scores and, if it is asked for, the second derivative.
func (o *cardObjective) derivatives(at, scores []float64, curved bool) (gradient []float64, second *mat.SymDense) {
	n, width := o.rows.Dims()
	slopes := make([]float64, n)
	for i, f := range scores {
		slopes[i] = o.loss.Derivative(f, o.labels[i]) / float64(n)
	}
	g := mat.NewVecDense(width, nil)
	g.MulVec(o.rows.T(), mat.NewVecDense(n, slopes))
	gradient = g.RawVector().Data
	floats.AddScaled(gradient[:width-1], o.ridge, at[:width-1])
	if !curved {
		return gradient, nil
	}
	second = mat.NewSymDense(width, nil)
	const some = 2048 // rows at a time, for the memory
	block := mat.NewDense(min(some, n), width, nil)
	for lo := 0; lo < n; lo += some {
		hi := min(lo+some, n)
		for i := lo; i < hi; i++ {
			curve := o.loss.Second(scores[i], o.labels[i])
			if o.loss == kernel.SmoothHinge { // which has none but 0 and 1, and may be straight at every row
				curve = max(curve, leastCurve)
			}
			floats.ScaleTo(block.RawRowView(i-lo), math.Sqrt(curve), o.rows.RawRowView(i))
		}
		second.SymRankK(second, 1/float64(n), block.Slice(0, hi-lo, 0, width).T())
	}
	for j := range width - 1 {
		second.SetSym(j, j, second.At(j, j)+o.ridge)
	}
	return gradient, second
}

// Score returns the scores of rows.
func (s *Scorecard) Score(parts []*kernel.Matrix) []float64 {
	return ScoreEach([]*Linear{{weights: s.Weights, intercept: s.Intercept}}, parts)
}
