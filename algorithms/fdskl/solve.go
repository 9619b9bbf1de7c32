package fdskl

import (
	"context"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// solve finds the coefficients from the opened angles. With one active party that is local work:
// normal equations for the square loss, L-BFGS for the others. With several, all parties run
// L-BFGS together: each holds its own coefficients and gradient, and only inner products, scores
// and derivatives are summed.
func (t *trainer) solve(ctx context.Context, held *angles) (*Model, error) {
	m := t.model()
	if t.rank >= 0 {
		first, count := t.share(t.rank)
		m.Held = []Run{{First: first, Count: count}}
	}
	switch {
	case len(t.actives) > 1:
		return m, t.descend(ctx, m, t.newJoint(held))
	case t.rank < 0:
		return m, nil
	case t.loss == kernel.Square:
		return m, t.ridge(m, held)
	}
	return m, t.descend(ctx, m, t.newLocal(held))
}

// ridge solves the square loss in closed form: with features phi = sqrt(2) cos and f = alpha . phi
// + intercept, (G/N + lambda D/2 I) alpha = h/N, where G and h are of centred features and
// targets. |f|^2 is D |alpha|^2 in expectation over the features, which gives the factor D; the
// loss has no 1/2, which gives the 1/2.
func (t *trainer) ridge(m *Model, held *angles) error {
	gram, err := kernel.NewGram(t.cosine, held.count)
	if err != nil {
		return err
	}
	size := t.blockRows()
	for lo := 0; lo < t.Rows; lo += size {
		hi := min(lo+size, t.Rows)
		if err := gram.Add(held.turns[lo*held.count:hi*held.count], t.target.values[lo:hi], t.Workers); err != nil {
			return err
		}
		t.report("normal equations", hi, t.Rows, math.NaN())
	}
	ridge, err := gram.Solve(t.Params.Lambda*float64(t.Params.Features)/2, t.Workers)
	if err != nil {
		return err
	}
	m.Alpha, m.Intercept = ridge.Alpha, ridge.Intercept
	m.Objective, m.TrainError = t.judge(held, m)
	return nil
}

// judge returns the objective and the training error of a finished local model.
func (t *trainer) judge(held *angles, m *Model) (objective, trainError float64) {
	scores := make([]float64, t.Rows)
	eachRow(t.Rows, t.Workers, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			scores[j] = t.cosine.Dot(held.row(j), m.Alpha) + m.Intercept
		}
	})
	var norm float64
	for _, a := range m.Alpha {
		norm += a * a
	}
	loss, trainError := t.lossOf(scores)
	return loss + t.Params.Lambda/2*float64(t.Params.Features)*norm, trainError
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
