package sealed

import (
	"context"
	"math"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the messages of a loss that is not the square.
const (
	kindScores      = "scores"
	kindDerivatives = "derivatives"
	kindGradient    = "gradient"
)

// outer is where the outer steps of a loss stand.
type outer struct {
	step      int
	beta      rss.Share // of all runs, [runs, D]
	intercept float64   // at the label holder
	scores    []float64 // of all rows, at the label holder
}

// newton takes the outer steps of a loss whose second derivative is at most kappa: each solves the system
// with the fixed Gram matrix for the gradient, which is a safe Newton step. All but the first open a
// score of every row to the label holder.
func (t *trainer) newton(ctx context.Context, s *system, from point) (*outer, error) {
	o := &outer{beta: rss.Zero(t.role, runs*t.features), scores: make([]float64, t.Rows)}
	if err := t.resumeOuter(o, from); err != nil {
		return nil, err
	}
	for o.step < t.Params.Outer {
		if err := t.openScores(ctx, o, s); err != nil {
			return nil, err
		}
		right, err := t.gradient(ctx, o)
		if err != nil {
			return nil, err
		}
		if right, err = t.multiplied(ctx, s, right); err != nil {
			return nil, err
		}
		d := t.newDescent(s, right)
		change, err := d.run(ctx, func() error {
			t.report("steps", o.step*t.Params.Iterations+d.step, t.Params.Outer*t.Params.Iterations)
			return nil
		})
		if err != nil {
			return nil, err
		}
		o.beta.Add(change)
		o.step++
		if t.z != nil && o.step == t.Params.Outer {
			break // z-scores want the scores, which a checkpoint does not have; the solution is kept soon
		}
		if err := t.saveOuter(o, s.session); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// openScores opens the scores of all rows to the label holder, rounded to trainBits behind the point. What
// may have opened in an earlier session opens as it was then.
func (t *trainer) openScores(ctx context.Context, o *outer, s *system) error {
	if o.step == 0 {
		return nil
	}
	opened, err := t.openings.openVector(ctx, t.scores, o.step, t.Rows, func() (rss.Share, error) {
		beta := o.beta.Slice(0, t.features)
		offset, err := t.offsets(ctx, 1, beta, s)
		if err != nil {
			return rss.Share{}, err
		}
		shift := rss.Shift{Count: t.Rows, Bits: t.sz + t.bs - trainBits}
		terms, err := t.scoreTerms(ctx, t.scoring(beta), offset)
		if err != nil {
			return rss.Share{}, err
		}
		return t.truncate(ctx, kindScores, t.Params.Iterations+1, t.k, terms, shift)
	})
	if err != nil || t.role != rss.LabelHolder {
		return err
	}
	t.told(kindScores, t.Rows)
	for j, w := range opened {
		o.scores[j] = math.Ldexp(float64(w), -trainBits)
	}
	return nil
}

// scoring returns coefficients at their scale in scores. Their last form has no finer bits, in no share: the steps'
// check has seen all that scores are made of, and no message comes between. They are right modulo 2^58 at least, which
// is more than the words of scores have.
func (s *scales) scoring(beta rss.Share) rss.Share {
	coarse := rss.Share{X: slices.Clone(beta.X), Y: slices.Clone(beta.Y)}
	for i := range coarse.X {
		coarse.X[i] >>= coefBits - s.bs
		coarse.Y[i] >>= coefBits - s.bs
	}
	return coarse
}

// scoreTerms returns the terms of the scores of all rows, scale sz+bs.
func (t *trainer) scoreTerms(ctx context.Context, beta, offset rss.Share) ([]uint64, error) {
	if t.role == rss.Outside {
		return nil, nil
	}
	out := make([]uint64, t.Rows)
	return out, t.kept.each(ctx, func(b *block, z rss.Share) error {
		scoreRows(t.three, out[b.lo:b.hi], z, beta, offset, t.sz+t.bs-coefBits)
		return nil
	})
}

// scoreRows writes the terms of the scores of rows with the given features; they have finer bits more behind the point
// than the offset.
func scoreRows(three *rss.Party, out []uint64, z, beta, offset rss.Share, finer int) {
	three.MulVec(out, z, beta)
	for j := range out {
		out[j] += offset.X[0] << finer
	}
}

// gradient shares the right side of an outer step, scale gs: minus the gradient over kappa, of which the
// label holder has the derivatives.
func (t *trainer) gradient(ctx context.Context, o *outer) (rss.Share, error) {
	var words []uint64
	if t.role == rss.LabelHolder {
		words = t.derivatives(o)
	}
	g, err := t.three.Input(ctx, kindDerivatives, t.k, t.Rows, words)
	if err != nil {
		return rss.Share{}, err
	}
	terms, err := t.gradientTerms(ctx, o, g)
	if err != nil {
		return rss.Share{}, err
	}
	return t.truncate(ctx, kindGradient, 1, t.sums.k, terms,
		rss.Shift{Count: t.features, Bits: t.sums.sz + t.sums.sy + t.p - gramBits})
}

// derivatives returns the loss derivatives of all rows less their mean, over kappa, and moves the intercept by
// their mean.
func (t *trainer) derivatives(o *outer) []uint64 {
	g := make([]float64, t.Rows)
	for j, y := range t.begun.Targets(0) {
		g[j] = t.loss.Derivative(o.scores[j]+o.intercept, y) / t.kappa
	}
	mean, words := t.labels(g)
	o.intercept -= mean
	return words
}

// gradientTerms returns the terms of -(Z^T g + lambda beta), at the scale of a feature times a label and p.
func (t *trainer) gradientTerms(ctx context.Context, o *outer, g rss.Share) ([]uint64, error) {
	ends := t.ending(0, t.Rows, derivativeRows(t.kappa), t.WindowRows, nil)
	var out []uint64
	if t.role != rss.Outside {
		out = make([]uint64, len(ends)*t.features)
		err := t.kept.each(ctx, func(b *block, z rss.Share) error {
			at := windowOf(ends, b.lo) * t.features
			t.three.MulVecT(out[at:at+t.features], z, g.Slice(b.lo, b.hi))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if t.lifts() {
		for i := range out {
			out[i] *= 2
		}
		lifted, err := t.lift(ctx, kindSums, o.step, len(ends)*t.features, out)
		if err != nil || t.role == rss.Outside {
			return nil, err
		}
		clear(out)
		for at := range ends {
			lifted.Slice(at*t.features, (at+1)*t.features).AddTo(out[:t.features], 1<<(t.sums.sz+t.sums.sy-t.sz-t.sy))
		}
	}
	if t.role == rss.Outside {
		return nil, nil
	}
	out = out[:t.features]
	o.beta.Slice(0, t.features).AddTo(out,
		uint64(math.Round(math.Ldexp(t.lambda/t.kappa, t.sums.sz+t.sums.sy+t.p-coefBits))))
	for i := range out {
		out[i] = -out[i]
	}
	return out, nil
}
