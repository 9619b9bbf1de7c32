package sealed

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the messages that make the system of equations.
const (
	kindLabels  = "labels"
	kindMeans   = "means"
	kindGram    = "gram"
	kindSides   = "sides"
	kindBound   = "bound"
	kindReach   = "reach"
	kindOffset  = "offset"
	kindProduct = "step"
	kindRounded = "coefficients"
)

// sums are what the rows add up to, as terms and shares of one party: all that a square loss keeps of them.
type sums struct {
	next    int       // rows that are in
	squares []uint64  // of the features i <= j, row after row of the upper triangle; see rss.Party.AddSquares
	columns rss.Share // of the features, [D]
	sides   []uint64  // term: of features times labels, [D]
}

// system is a shared system of equations (G + lambda) beta = h, with what is public of it.
type system struct {
	gram  rss.Share // [D, D], scale gs, lambda on the diagonal
	sides rss.Share // h and its multiples, [runs, D], scale gs + extra; the square loss

	precision
	multiples rss.Share // the secret factors of the second and the third run
	means     rss.Share // of the features, [D], scale sz
	reach     float64   // L, at least the largest eigenvalue of G
	mean      float64   // of the labels, at the label holder

	session uint32 // that made it
}

// gram makes the system from all rows, or takes it from a checkpoint.
func (t *trainer) gram(ctx context.Context, from point) (*system, error) {
	s, err := t.savedSystem(from)
	if err != nil || s != nil && t.loss == kernel.Square {
		return s, err
	}
	acc, labels, mean, err := t.prepare(ctx, from)
	if err != nil {
		return nil, err
	}
	err = t.columns.each(ctx, acc.next, t.Rows, t.BlockRows, func(b *block, z rss.Share) error {
		t.keep(b, z)
		if s == nil {
			t.take(acc, b, z, labels)
		}
		acc.next = b.hi
		t.report("columns", b.hi, t.Rows)
		return t.saveSums(acc, s != nil)
	})
	t.columns.spare = nil
	if err != nil || s != nil {
		return s, err
	}
	if s, err = t.finish(ctx, acc); err != nil {
		return nil, err
	}
	s.mean = mean
	return s, t.saveSystem(s)
}

// triangle is how many entries the upper triangle of a matrix has.
func triangle(d int) int { return d * (d + 1) / 2 }

// prepare starts the sums, from a checkpoint if there is one, and shares the labels of a square loss.
func (t *trainer) prepare(ctx context.Context, from point) (acc *sums, labels rss.Share, mean float64, err error) {
	if acc, err = t.savedSums(from); err != nil {
		return nil, labels, 0, err
	}
	if t.loss != kernel.Square {
		return acc, labels, 0, nil
	}
	var words []uint64
	if t.role == rss.LabelHolder {
		mean, words = centred(t.begun.Targets(), t.sy)
	}
	labels, err = t.three.Input(ctx, kindLabels, t.k, t.Rows, words)
	return acc, labels, mean, err
}

// centred returns the mean of values, and what is left of them at a scale, as words that add up to
// exactly 0: the features are not centred, and a remainder would count once for every row.
func centred(values []float64, scale int) (mean float64, words []uint64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	words = make([]uint64, len(values))
	var rest int64
	for i, v := range values {
		w := int64(math.RoundToEven(math.Ldexp(v-mean, scale)))
		rest += w
		words[i] = uint64(w)
	}
	one := int64(1)
	if rest < 0 {
		one = -1
	}
	for i := 0; rest != 0; i++ {
		words[i%len(words)] -= uint64(one)
		rest -= one
	}
	return mean, words
}

// take adds a block to the sums.
func (t *trainer) take(acc *sums, b *block, z, labels rss.Share) {
	if t.role == rss.Outside {
		return
	}
	t.three.AddSquares(acc.squares, z, t.features)
	acc.columns.AddColumns(z)
	if t.loss == kernel.Square {
		t.three.MulVecT(acc.sides, z, labels.Slice(b.lo, b.hi))
	}
}

// finish makes the system of the sums: the means, the centred Gram matrix, the right side, and a bound on
// the spectrum.
func (t *trainer) finish(ctx context.Context, acc *sums) (*system, error) {
	s := new(system)
	var err error
	if s.means, err = t.means(ctx, acc); err != nil {
		return nil, err
	}
	d := t.features
	upper, err := t.truncate(ctx, kindGram, 1, t.k, t.centre(acc, s.means), rss.Shift{Count: triangle(d), Bits: 1 + 2*t.sz + t.p - gramBits})
	if err != nil {
		return nil, err
	}
	s.gram = mirrored(upper, d)
	if t.loss == kernel.Square {
		if s.sides, err = t.truncate(ctx, kindSides, 0, t.k, acc.sides, rss.Shift{Count: d, Bits: t.sz + t.sy + t.p - gramBits}); err != nil {
			return nil, err
		}
	}
	if s.reach, err = t.bound(ctx, s.gram); err != nil {
		return nil, err
	}
	s.precision = t.precisionOf(s.reach)
	if s.multiples, err = t.drawMultiples(); err != nil {
		return nil, err
	}
	if t.loss == kernel.Square {
		if s.sides, err = t.multiplied(ctx, s, s.sides); err != nil {
			return nil, err
		}
	}
	if t.role != rss.Outside {
		for i := range d {
			s.gram.AddPublic(t.role, i*d+i, uint64(math.Round(math.Ldexp(t.lambda/t.kappa, gramBits))))
		}
	}
	return s, nil
}

// means shares the features' means, zeros when the bound is public: then the Gram matrix is not centred.
func (t *trainer) means(ctx context.Context, acc *sums) (rss.Share, error) {
	d := t.features
	if t.Params.Bound == boundPublic {
		return rss.Zero(t.role, d), nil
	}
	e := min(36, t.k-4-t.sz)
	var term []uint64
	if t.role != rss.Outside {
		term = make([]uint64, d)
		acc.columns.AddTo(term, uint64(math.Round(math.Ldexp(1, e)/float64(t.Rows))))
	}
	return t.truncate(ctx, kindMeans, 0, t.k, term, rss.Shift{Count: d, Bits: e})
}

// centre returns the terms of 2 sum_r (z - m)_i (z - m)_j for i <= j, row by row of the upper triangle. It is
// positive semidefinite however the means are rounded.
func (t *trainer) centre(acc *sums, m rss.Share) []uint64 {
	if t.role == rss.Outside {
		return nil
	}
	d, n := t.features, uint64(t.Rows)
	s := acc.columns
	out := make([]uint64, 0, triangle(d))
	twice := t.three.TwiceGram(acc.squares)
	both, rest := make([]uint64, d), make([]uint64, d)
	for j := range d { // of m, and of s - N m
		both[j] = m.X[j] + m.Y[j]
		rest[j] = s.X[j] + s.Y[j] - n*both[j]
	}
	for i := range d {
		sx, sy, mx, my := s.X[i], s.Y[i], m.X[i], m.Y[i]
		for j := i; j < d; j++ {
			product := sx*both[j] + sy*m.X[j] + mx*rest[j] + my*(s.X[j]-n*m.X[j])
			out = append(out, twice[len(out)]-2*product)
		}
	}
	return out
}

// mirrored makes a symmetric matrix of the rows of its upper triangle.
func mirrored(upper rss.Share, d int) rss.Share {
	if upper.X == nil {
		return upper
	}
	full := rss.Share{X: make([]uint64, d*d), Y: make([]uint64, d*d)}
	at := 0
	for i := range d {
		for j := i; j < d; j++ {
			full.X[i*d+j], full.X[j*d+i] = upper.X[at], upper.X[at]
			full.Y[i*d+j], full.Y[j*d+i] = upper.Y[at], upper.Y[at]
			at++
		}
	}
	return full
}

// boundSlack is the share of the square of the norm, as a power of two, by which the matrices of two sessions may
// differ.
const boundSlack = 10

// rareTrace is the deviation of the trace, in units of 1/sqrt(D), of probability 2^-20.
const rareTrace = 5.3

// boundPublic is the parameter that asks for a bound without an opening.
const boundPublic = "public"

// publicReach is a bound of the spectrum that nothing opens for.
func (s *scales) publicReach() float64 {
	return min(2, 1+rareTrace/math.Sqrt(float64(s.features))) * s.s0
}

// bound returns a power of the root of two that is at least the Gram matrix's largest eigenvalue: of its
// Frobenius norm, whose square opens to the label holder, who tells all the exponent. A public bound is the trace's:
// 1 and the mean of D numbers from -1 to 1 that the secret phases make independent with mean 0, so that it passes
// 1 + t with a probability of at most exp(-D t^2 / 2) (Hoeffding), and 2 never.
func (t *trainer) bound(ctx context.Context, gram rss.Share) (float64, error) {
	if t.Params.Bound == boundPublic {
		return t.publicReach(), nil
	}
	opened, err := t.openings.open(ctx, t.bounds, 1, 1, func() (rss.Share, error) {
		return t.truncate(ctx, kindBound, 1, wordBits, t.three.Dot(gram, gram), rss.Shift{Count: 1, Bits: 2*gramBits - boundBits})
	})
	if err != nil {
		return 0, err
	}
	exponent := make([]byte, 1)
	if t.role == rss.LabelHolder {
		t.told(kindBound, 1)
		v := min(max(opened[0]+1, 1), 4<<boundBits) // it was rounded
		v += v >> boundSlack                        // it may be of the shares of an earlier session, rounded in another way
		exponent[0] = min(byte(math.Ceil(math.Log2(float64(v)))), boundBits+2)
	}
	if exponent, err = t.Network.Broadcast(ctx, kindReach, t.parties[rss.LabelHolder], exponent, 1); err != nil {
		return 0, err
	}
	if err := t.Network.Confirm(ctx); err != nil {
		return 0, err
	}
	if len(exponent) != 1 || exponent[0] > boundBits+2 {
		return 0, fmt.Errorf("%s: %s sent %v, want one byte up to %d", kindReach, t.Names[t.parties[rss.LabelHolder]], exponent, boundBits+2)
	}
	if t.role != rss.LabelHolder {
		t.told(kindReach, 1)
	}
	return math.Sqrt(math.Ldexp(1, int(exponent[0])-boundBits)), nil
}
