package fdskl

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// ridge solves the square loss in closed form: with features phi, sqrt(2) cos and sin, and f = alpha . phi
// + intercept, (G/N + lambda D/2 I) alpha = h/N, where G and h are of centred features and
// targets. |f|^2 is D |alpha|^2 in expectation over the features, which gives the factor D; the
// loss has no 1/2, which gives the 1/2.
func (t *trainer) ridge(m *Model, held *angles) error {
	sides := t.Params.Scores()
	gram, err := kernel.NewGramOf(t.cosine, held.features(), sides)
	if err != nil {
		return err
	}
	size := t.blockRows()
	rights := make([]float64, t.Rows*sides) // row-major
	for k := range sides {
		t.target.against(k)
		for j, y := range t.target.values {
			rights[j*sides+k] = y
		}
	}
	for lo := 0; lo < t.Rows; lo += size {
		hi := min(lo+size, t.Rows)
		if err := gram.Add(held.turns[lo*held.count:hi*held.count], rights[lo*sides:hi*sides], t.Workers); err != nil {
			return err
		}
		t.report("normal equations", hi, t.Rows, math.NaN())
	}
	lambda, err := t.choose(m, func() (solver, error) { return t.ridgeWithout(gram, rights, held) }, held)
	if err != nil {
		return err
	}
	functions, err := t.solveEach(gram, lambda)
	if err != nil {
		return err
	}
	m.setFunctions(functions)
	m.Objective, m.TrainError = t.judge(held, m, lambda)
	return nil
}

// solveEach solves the equations of each right side.
func (t *trainer) solveEach(gram *kernel.Gram, lambda float64) ([]Coefficients, error) {
	each, err := gram.SolveEach(lambda*float64(t.Params.Features)/2, t.Workers)
	if err != nil {
		return nil, err
	}
	var functions []Coefficients
	for _, ridge := range each {
		functions = append(functions, Coefficients{ridge.Alpha, ridge.Intercept})
	}
	return functions, nil
}

// ridgeWithout solves the same equations, of which rights are the right sides, without the rows that are kept out.
func (t *trainer) ridgeWithout(whole *kernel.Gram, rights []float64, held *angles) (solver, error) {
	sides := t.Params.Scores()
	out, err := kernel.NewGramOf(t.cosine, held.features(), sides)
	if err != nil {
		return nil, err
	}
	for j, kept := range t.heldOut {
		if kept {
			if err := out.Add(held.row(j), rights[j*sides:(j+1)*sides], t.Workers); err != nil {
				return nil, err
			}
		}
	}
	rest := whole.Without(out, t.Workers)
	return func(lambda float64) ([]Coefficients, error) { return t.solveEach(rest, lambda) }, nil
}

// judge returns the objective, of several functions the sum of theirs, and the training error of a finished local
// model.
func (t *trainer) judge(held *angles, m *Model, lambda float64) (objective, trainError float64) {
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
func (t *trainer) lossOf(scores []float64) (loss, wrong float64) {
	var n float64
	for j, y := range t.target.values {
		if math.IsNaN(y) {
			continue
		}
		n++
		loss += t.loss.Value(scores[j], y)
		if t.Params.Target == Regression {
			wrong += (scores[j] - y) * (scores[j] - y)
		} else if (scores[j] > 0) != (y > 0) {
			wrong++
		}
	}
	if t.Params.Target == Regression {
		return loss / n, t.target.Scale * math.Sqrt(wrong/n)
	}
	return loss / n, wrong / n
}
