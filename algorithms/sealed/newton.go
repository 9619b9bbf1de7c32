package sealed

import (
	"context"
	"math"

	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the messages of a loss that is not the square.
const (
	kindScores      = "scores"
	kindDerivatives = "derivatives"
	kindGradient    = "gradient"
)

// kept is a block whose features stay: components 1 and 2 are key streams, component 0 is in memory at the
// keeper and the helper.
type kept struct {
	*block
	zero []uint64
}

// keep keeps a block of a loss that needs the rows again.
func (t *trainer) keep(b *block, z rss.Share) {
	if t.Params.Outer == 0 || t.role == rss.Outside {
		return
	}
	k := &kept{block: b}
	switch t.role {
	case rss.Keeper:
		k.zero = z.Y
	case rss.Helper:
		k.zero = z.X
	}
	t.blocks = append(t.blocks, k)
}

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
func (t *trainer) newton(ctx context.Context, s *system, from point) (rss.Share, float64, error) {
	o := &outer{beta: rss.Zero(t.role, runs*t.features), scores: make([]float64, t.Rows)}
	if err := t.resumeOuter(o, from); err != nil {
		return rss.Share{}, 0, err
	}
	for o.step < t.Params.Outer {
		if err := t.openScores(ctx, o, s); err != nil {
			return rss.Share{}, 0, err
		}
		right, err := t.gradient(ctx, o)
		if err != nil {
			return rss.Share{}, 0, err
		}
		if right, err = t.multiplied(ctx, s, right); err != nil {
			return rss.Share{}, 0, err
		}
		d := t.newDescent(s, right)
		change, err := d.run(ctx, func() error {
			t.report("steps", o.step*t.Params.Iterations+d.step, t.Params.Outer*t.Params.Iterations)
			return nil
		})
		if err != nil {
			return rss.Share{}, 0, err
		}
		o.beta.Add(change)
		o.step++
		if err := t.saveOuter(o, s.session); err != nil {
			return rss.Share{}, 0, err
		}
	}
	return o.beta, o.intercept, nil
}

// openScores opens the scores of all rows to the label holder, rounded to trainBits behind the point. What
// may have opened in an earlier session opens as it was then.
func (t *trainer) openScores(ctx context.Context, o *outer, s *system) error {
	if o.step == 0 {
		return nil
	}
	opened, err := t.openings.open(ctx, t.scores, o.step, t.Rows, func() (rss.Share, error) {
		beta := o.beta.Slice(0, t.features)
		offset, err := t.offsets(ctx, 1, beta, s)
		if err != nil {
			return rss.Share{}, err
		}
		shift := rss.Shift{Count: t.Rows, Bits: t.sz + coefBits - trainBits}
		return t.truncate(ctx, kindScores, t.Params.Iterations+1, t.k, t.scoreTerms(beta, offset), shift)
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

// scoreTerms returns the terms of the scores of all rows, scale sz+bs.
func (t *trainer) scoreTerms(beta, offset rss.Share) []uint64 {
	if t.role == rss.Outside {
		return nil
	}
	out := make([]uint64, t.Rows)
	for _, b := range t.blocks {
		scoreRows(t.three, out[b.lo:b.hi], t.columns.again(b.block, b.zero), beta, offset, t.sz)
		t.columns.release(b.block)
	}
	return out
}

// scoreRows writes the terms of the scores of rows with the given features.
func scoreRows(three *rss.Party, out []uint64, z, beta, offset rss.Share, sz int) {
	three.MulVec(out, z, beta)
	for j := range out {
		out[j] += offset.X[0] << sz
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
	return t.truncate(ctx, kindGradient, 1, t.k, t.gradientTerms(o, g), rss.Shift{Count: t.features, Bits: t.sz + t.sy + t.p - gramBits})
}

// derivatives returns the loss derivatives of all rows less their mean, over kappa, and moves the intercept by
// their mean.
func (t *trainer) derivatives(o *outer) []uint64 {
	g := make([]float64, t.Rows)
	for j, y := range t.begun.Targets() {
		g[j] = t.loss.Derivative(o.scores[j]+o.intercept, y) / t.kappa
	}
	mean, words := centred(g, t.sy)
	o.intercept -= mean
	return words
}

// gradientTerms returns the terms of -(Z^T g + lambda beta), scale sz+sy+p.
func (t *trainer) gradientTerms(o *outer, g rss.Share) []uint64 {
	if t.role == rss.Outside {
		return nil
	}
	out := make([]uint64, t.features)
	for _, b := range t.blocks {
		t.three.MulVecT(out, t.columns.again(b.block, b.zero), g.Slice(b.lo, b.hi))
		t.columns.release(b.block)
	}
	o.beta.Slice(0, t.features).AddTo(out, uint64(math.Round(math.Ldexp(t.lambda/t.kappa, t.sz+t.sy+t.p-coefBits))))
	for i := range out {
		out[i] = -out[i]
	}
	return out
}
