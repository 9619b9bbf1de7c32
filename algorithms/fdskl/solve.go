package fdskl

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// equations are the normal equations of the square loss, over all rows and, where a job chooses its regulariser, over
// those that are kept out of a first solution. What they hold are whole numbers: it does not matter in which order, and
// in how many runs, the rows came to them.
type equations struct {
	all, out *kernel.Gram // out: nil where none are kept out
}

// newEquations starts the equations of no row.
func (t *solver) newEquations() (e *equations, err error) {
	e = new(equations)
	if e.all, err = kernel.NewGramOf(t.cosine, t.Params.Features, t.Params.Scores()); err == nil && t.heldOut != nil {
		e.out, err = kernel.NewGramOf(t.cosine, t.Params.Features, t.Params.Scores())
	}
	return e, err
}

// addRows adds rows from lo on by their opened turns.
func (t *solver) addRows(e *equations, lo int, turns []uint16) error {
	sides, count := t.Params.Scores(), t.Params.Angles()
	rows := len(turns) / count
	rights := make([]float64, rows*sides) // row-major
	for i := range rights {
		rights[i] = t.target.of(lo+i/sides, i%sides)
	}
	for j := range rows {
		if e.out == nil || !t.heldOut[lo+j] {
			continue
		}
		if err := e.out.Add(turns[j*count:(j+1)*count], rights[j*sides:(j+1)*sides], t.Workers); err != nil {
			return err
		}
	}
	return e.all.Add(turns, rights, t.Workers)
}

// ridge solves the square loss in closed form: with features phi, sqrt(2) cos and sin, and f = alpha . phi
// + intercept, (G/N + lambda D/2 I) alpha = h/N, where G and h are of centred features and
// targets. |f|^2 is D |alpha|^2 in expectation over the features, which gives the factor D; the
// loss has no 1/2, which gives the 1/2.
//
// It writes the functions to the model and returns the regulariser. A regulariser is chosen by what the rows that are
// kept out add up to, so that it needs no row.
func (t *solver) ridge(m *Model, e *equations) (lambda float64, err error) {
	if e.out != nil {
		e.all.Remove(e.out, t.Workers)
	}
	lambda, err = t.choose(m, func(lambda float64) (loss float64, err error) {
		each, err := t.solveEach(e.all, lambda)
		for k, f := range each {
			loss += e.out.SquaredErrors(k, f, t.squares(k, t.heldOut), t.Workers)
		}
		return loss, err
	})
	if err != nil {
		return 0, err
	}
	if e.out != nil {
		e.all.Merge(e.out, t.Workers)
	}
	each, err := t.solveEach(e.all, lambda)
	if err != nil {
		return 0, err
	}
	var functions []Coefficients
	for _, f := range each {
		functions = append(functions, Coefficients{f.Alpha, f.Intercept})
	}
	m.setFunctions(functions)
	return lambda, nil
}

// solveEach solves the equations of each right side.
func (t *solver) solveEach(gram *kernel.Gram, lambda float64) ([]*kernel.Ridge, error) {
	return gram.SolveEach(lambda*float64(t.Params.Features)/2, t.Workers)
}

// squares adds up the squares of some rows' labels as the solver of the k-th function sees them; nil: of all rows.
func (t *solver) squares(k int, some []bool) (sum float64) {
	for j := range t.target.values {
		if some == nil || some[j] {
			y := t.target.of(j, k)
			sum += y * y
		}
	}
	return sum
}

// judge returns the objective, of several functions the sum of theirs, and the training error of a finished local
// model.
func (t *solver) judge(held *angles, m *Model, lambda float64) (objective, trainError float64) {
	functions := m.Functions()
	scores := make([]float64, t.Rows*len(functions))
	eachRow(t.Rows, t.Workers, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			for k, f := range functions {
				scores[j*len(functions)+k] = t.cosine.DotPairs(held.row(j), f.Alpha) + f.Intercept
			}
		}
	})
	if t.Scored != nil {
		t.Scored(scores)
	}
	for k, f := range functions {
		t.target.against(k)
		own := make([]float64, t.Rows)
		for j := range own {
			own[j] = scores[j*len(functions)+k]
		}
		var norm, loss float64
		for _, a := range f.Alpha {
			norm += a * a
		}
		loss, trainError = t.lossOf(own)
		objective += loss + lambda/2*float64(t.Params.Features)*norm
	}
	if t.target.places != nil {
		trainError = wrongClasses(scores, t.target.places, len(functions))
	}
	return objective, trainError
}

// lossOf returns the mean loss of scores over the labelled rows and the share of wrong labels, or
// for a regression the root mean square error in the target's own units.
func (t *solver) lossOf(scores []float64) (loss, wrong float64) {
	var n float64
	for j, y := range t.target.values {
		if math.IsNaN(y) {
			continue
		}
		n++
		loss += t.loss.Value(scores[j], y)
		if t.Params.Target == joint.Regression {
			wrong += (scores[j] - y) * (scores[j] - y)
		} else if (scores[j] > 0) != (y > 0) {
			wrong++
		}
	}
	if t.Params.Target == joint.Regression {
		return loss / n, t.target.Scale * math.Sqrt(wrong/n)
	}
	return loss / n, wrong / n
}
