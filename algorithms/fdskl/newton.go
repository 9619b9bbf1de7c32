package fdskl

import (
	"context"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// newtonSide is the largest matrix that newton factorises, which takes side^3 / 3 operations a step. Objectives with
// both more rows and more features than that are left to L-BFGS, whose steps are passes over the angles.
const newtonSide = 4096

// A run has reached the optimum after a step from where q, see Reached, was that small: what the step's quadratic
// promised was an eighth of a nat of all rows together, and the step took most of it. Over few rows that is much of the
// value: it is also less than newtonFall of the value and newtonRest, which is for labels without an error, whose loss
// has no end, but falls by a factor a step. And since the smooth hinge's second derivative tells nothing of rows that
// come to the curved part or leave it, the duality gap where the run ends is at most newtonGap times as large as the
// promise may be. That gap is |g|^2 / (2 lambda), where g is the gradient: by no more the value lies above the minimum,
// since the objective, the intercept chosen for it, is convex and has lambda for its least second derivative.
const (
	newtonFall = 1e-3
	newtonRest = 1e-6
	newtonGap  = 10
)

// Reached is the squared distance to the optimum, in standard errors, up to which a run has reached it:
//
//	q = N g . H^-1 g
//
// over N rows, where g is the gradient and H the second derivative of the mean objective. About q/2 is what the
// objective of all rows together has yet to fall: at q = 1/4 an eighth of a nat of the log loss, beside which the one
// function cannot be told from the other by these rows.
const Reached = 0.25

// ToGo returns how many standard errors the optimum is away where q is what Reached bounds, 0 where it is reached.
func ToGo(q float64) float64 {
	switch {
	case q <= Reached:
		return 0
	case q <= math.MaxFloat64:
		return math.Sqrt(q)
	}
	return math.MaxFloat64 // it is not even a number
}

// NotConverged says that a run did not reach its optimum, and is "" where it did: so many standard errors are to go
// after what it did, and some change of the job helps.
func NotConverged(toGo float64, after, helps string) string {
	if toGo == 0 {
		return ""
	}
	much := fmt.Sprintf("about %.1f", toGo)
	switch {
	case toGo > 10_000:
		much = "more than 10,000"
	case toGo >= 10:
		much = fmt.Sprintf("about %.0f", toGo)
	}
	return fmt.Sprintf("not converged: %s standard errors to go%s; %s", much, after, helps)
}

// leastCurvature is the share of the largest second derivative of a row below which another's does not count. A
// direction without them goes down all the same, and the hinge has none but 0 and 1.
const leastCurvature = 1e-4

// slopeLeft is the share of its slope at the start that a step's end may have.
const slopeLeft = 0.01

// NewtonSide returns the side of the largest matrix that a step of the solver of one active party may factorise, for a
// loss that is not the square and so many rows. It is 0 where it factorises none.
func (p Params) NewtonSide(rows int) int { return p.newtonWithin(newtonSide, rows) }

// newtonWithin is NewtonSide where matrices may have so many rows.
func (p Params) newtonWithin(most, rows int) int {
	side := min(p.Features, rows)
	if p.Features > kernel.MaxGram || side > most {
		return 0
	}
	return side
}

// solvable reports whether newton is the solver of this objective.
func (o *local) solvable() bool { return o.Params.newtonWithin(o.newtonSide, o.count()) > 0 }

// newton minimises the objective from a start on, or a state, by Newton's method: each step goes down the direction
// that minimises the quadratic of value, gradient and second derivative at x, as far as the objective itself falls.
// From 0, where every row of the smooth hinge counts as in the square loss, the first direction is the ridge's.
//
// A step ends where the objective still falls, so that it never rises, but less steeply than slopeLeft. The run stops
// at the optimum, see newtonFall, or after the job's iterations; q is then how far it is, see Reached. States are kept
// in a vault unless that is nil, one a step: nothing but x and the promise goes from one step to the next, so that a
// resumed run is the same, bit for bit, and all sums are in an order of their own, on any number of cores.
func (o *local) newton(ctx context.Context, start []float64, from *lbfgs.State, vault joint.Vault) (
	_ *lbfgs.State, q float64, err error) {
	n := float64(o.count())
	s := &lbfgs.State{Alpha: start, Decrease: math.MaxFloat64} // Decrease is what the last step promised
	if from != nil {
		s = from
		if !parameters.AreFinite(s.Alpha) {
			return nil, 0, fmt.Errorf("the checkpoint of solver iteration %d holds a number that is not finite", s.Iteration)
		}
	}
	gradient, scores := make([]float64, o.size()), make([]float64, o.count())
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		s.Value = o.evaluate(s.Alpha, gradient, scores)
		left := min(newtonFall*s.Value+newtonRest, Reached/2/n)
		gap := floats.Dot(gradient, gradient) / (2 * o.lambda)
		if s.Decrease < left && gap < newtonGap*left {
			return s, 0, nil
		}
		direction, err := o.direction(gradient, scores)
		if err != nil {
			return nil, 0, fmt.Errorf("iteration %d: %w", s.Iteration+1, err)
		}
		slope := floats.Dot(gradient, direction)
		length := 0.0
		if s.Iteration < o.Params.Iterations {
			length = o.fall(s.Alpha, direction, scores, slope)
		}
		if length == 0 {
			q = -n * slope
			if o.loss == kernel.SmoothHinge { // whose second derivative is no guide: by the gap's bound
				q = max(q, 2*n*gap)
			}
			return s, q, nil
		}
		value := s.Value // before the step
		next := &lbfgs.State{Iteration: s.Iteration + 1, Decrease: -slope / 2, Alpha: make([]float64, o.size())}
		floats.AddScaledTo(next.Alpha, s.Alpha, length, direction)
		s = next
		if vault == nil {
			continue
		}
		o.report("solver", s.Iteration, o.Params.Iterations, value)
		data, err := cbor.Marshal(s)
		if err != nil {
			return nil, 0, err
		}
		if err := vault.Save(slotName(solverFile(o.class), s.Iteration), data); err != nil {
			return nil, 0, err
		}
	}
}

// direction minimises the quadratic at the point with this gradient and these scores.
func (o *local) direction(gradient, scores []float64) ([]float64, error) {
	c := &kernel.Curvature{Table: o.cosine, Features: o.held.features(), Rows: o.count(), Lambda: o.lambda,
		Workers: o.Workers}
	second := make([]float64, len(scores))
	for i, f := range scores {
		second[i] = o.loss.Second(f, o.target.values[o.row(i)])
		c.Top = max(c.Top, second[i])
	}
	if c.Top == 0 { // no row counts
		c.Top = o.loss.Curvature()
	}
	var rows []kernel.CurvedRow
	for i, s := range second {
		if share := s / c.Top; share >= leastCurvature {
			rows = append(rows, kernel.CurvedRow{Turns: o.held.row(o.row(i)), Root: math.Sqrt(share)})
		}
	}
	return c.Step(gradient, rows)
}

// fall returns how many times a direction to go: to where the slope, which begins with the given one, below 0, is still
// below 0 but by no more than slopeLeft of it. The objective is convex, so it falls all the way. It is 0 where no such
// step is to be had, at the limit of precision.
func (o *local) fall(x, direction, scores []float64, slope float64) float64 {
	n := len(x) - 1
	more := o.scores(direction)
	cross, square := floats.Dot(x[:n], direction[:n]), floats.Dot(direction[:n], direction[:n])
	at := func(t float64) float64 {
		sum := 0.0
		for i, f := range scores {
			sum += more[i] * o.loss.Derivative(f+t*more[i], o.target.values[o.row(i)])
		}
		return sum/float64(o.count()) + o.lambda*(cross+t*square)
	}
	if !(slope < 0) {
		return 0
	}
	const trials = 60
	low, high, atLow, atHigh := 0.0, 1.0, slope, at(1)
	for range trials { // a step of which the end goes up
		if atHigh > 0 {
			break
		}
		low, atLow = high, atHigh
		if atLow >= slopeLeft*slope {
			return low
		}
		high *= 2
		atHigh = at(high)
	}
	for range trials { // of an end that is far too far, ever shorter ones
		if low > 0 || atHigh < -slope {
			break
		}
		t := high / 8
		if s := at(t); s > 0 {
			high, atHigh = t, s
		} else {
			low, atLow = t, s
		}
	}
	// Between them by the Illinois form of the rule of false position, but never all the way to an end.
	weightLow, weightHigh := atLow, atHigh
	for range trials {
		if atLow >= slopeLeft*slope {
			break
		}
		t := low + (high-low)*min(max(weightLow/(weightLow-weightHigh), 0x1p-10), 1-0x1p-10)
		if s := at(t); s <= 0 {
			low, atLow, weightLow, weightHigh = t, s, s, weightHigh/2
		} else {
			high, weightHigh, weightLow = t, s, weightLow/2
		}
	}
	return low
}

// scores returns the function at x of every row that counts.
func (o *local) scores(x []float64) []float64 {
	n := o.held.features()
	out := make([]float64, o.count())
	eachPiece(o.count(), o.Workers, func(_, lo, hi int) {
		phi := make([]float64, passRows*n)
		for ; lo < hi; lo += passRows {
			some := out[lo:min(lo+passRows, hi)]
			o.score(some, lo, x, phi)
		}
	})
	return out
}

// score writes the scores at x of at most passRows rows from the given one on, and their features to phi.
func (o *local) score(scores []float64, from int, x, phi []float64) {
	n := o.held.features()
	for r := range scores {
		o.cosine.Pairs64(phi[r*n:(r+1)*n], o.held.row(o.row(from+r)))
	}
	block := blas64.General{Rows: len(scores), Cols: n, Stride: n, Data: phi}
	blas64.Gemv(blas.NoTrans, 1/o.root, block, vector(x[:n]), 0, vector(scores))
	floats.AddConst(x[n], scores)
}
