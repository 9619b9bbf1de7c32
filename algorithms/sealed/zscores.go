package sealed

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// tester opens z-scores.
type tester struct {
	*setting
	scorer    *scorer
	assembler *assembler
	cardmaker *cardmaker
	z         *zscores // what is public of them; nil where none open
	zcards    *series
	tested    *fdskl.ZScores
}

// The z-score of a bin is its coefficient over its standard error. Coefficients of bins are what is above and below a
// mean of their column, and lambda holds them there; so is their covariance that of a ridge regression,
//
//	S = (1/kappa) 2^-p sigma^2 M G M,   M = (G + lambda)^-1,
//
// where 2^-p is between the sums over rows and G. It has nothing in the directions in which the bins of a column move
// together, of which the rows tell nothing. With the logistic loss sigma is 1, and G has each row weighed by
// 4 p (1 - p), and is centred by the means that these weights give: the information matrix, the intercept profiled out.
// p is that of the coefficients found. With the square loss sigma^2 is the residual variance, of which the label holder
// knows the variance of the labels.
//
// M comes of Newton's iteration X = X (2 - A X) (Schulz 1933), which begins at a public multiple of the identity and
// opens nothing. The diagonal of S gives t = S + beta^2 / c^2, and Newton's iteration w = w (3 - t w^2) / 2 its inverse
// root. What opens is u = beta w = z / sqrt(1 + z^2 / c^2), whose magnitude is below c = 16 whatever z is: no bit
// wraps.

// The kinds of the messages of z-scores.
const (
	kindZScores   = "z-scores"    // the openings, and their truncation
	kindResidual  = "z residual"  // the residual variance
	kindZInverse  = "z inverse"   // Newton's iteration for M
	kindVariances = "z variances" // the diagonal of M G M, and t
	kindRoots     = "z roots"     // Newton's iteration for 1 / sqrt(t)
)

// Scales and limits of z-scores.
const (
	zWidth    = 8                        // bits of a bin's z-score that open
	oneBits   = 22                       // behind the point of products that come to the identity
	tBits     = 38                       // of t
	rootBits  = 17                       // of 1 / sqrt(t)
	mostT     = 10                       // t is below 2^mostT
	sigmaBits = 20                       // of the residual variance
	halfRange = 4                        // c is 2^halfRange
	fineBits  = 2*coefBits + 2*halfRange // behind the point of beta^2 / c^2

	leastZRows = 1 << 14 // of the sample that the information matrix is of
	zShare     = 8       // and not less than one row in so many

	// MostZBins is the most bins of a job with z-scores: an iteration for the inverse sends their square twice.
	MostZBins = 1024
)

// zscores are the public numbers of z-scores.
type zscores struct {
	diagonal float64 // what is added to the diagonal
	begin    float64 // a multiple of the identity
	point    int     // bits behind the point of M
	finer    int     // and of the G between two of them, with the logistic loss
	inverses int     // steps for it
	low      int     // the iteration for the roots begins at 2^-low
	roots    int     // steps for them
	freedom  int     // rows that the residual variance is of
}

// zscoresOf derives them, and refuses jobs whose numbers could wrap. It is nil where none open.
func zscoresOf(p fdskl.Params, s *scales) (*zscores, error) {
	if p.ZScores == "" {
		return nil, nil
	}
	if p.Features > MostZBins {
		return nil, fmt.Errorf("z_scores: the parties have %d bins, want at most %d: take fewer bins a column", p.Features,
			MostZBins)
	}
	end := s.s0 + math.Ldexp(float64(p.Features), 1-gramBits) // of the spectrum: the trace
	z := &zscores{diagonal: max(s.lambda/s.kappa, s.rounding())}
	z.begin = 1 / (end + z.diagonal)
	z.inverses = int(math.Ceil(math.Log2(8 / (z.begin * z.diagonal))))
	size := int(math.Ceil(math.Log2(1 / z.diagonal)))
	z.point = min(30, topBits-2-oneBits-size, fineBits+int(math.Floor(math.Log2(s.spread()))))
	z.finer = max(gramBits, min(topBits-2-z.point, 2+slopeBits+centreBits+s.p-4))
	columns := 0
	for _, n := range p.PartyColumns {
		columns += n
	}
	z.freedom = s.rows - (p.Features - columns) - 1
	if z.freedom < 1 && s.square {
		return nil, fmt.Errorf("z_scores: %d rows have no residual variance beside %d bins of %d columns: take fewer bins",
			s.rows, p.Features, columns)
	}
	most := math.Ldexp(s.reach()*s.reach(), -2*halfRange) + 2*s.spread()/(4*z.diagonal)
	if most > 1<<mostT {
		return nil, fmt.Errorf("z_scores: with lambda %v a coefficient could have a variance of %.2g, want at most %d: take "+
			"a larger lambda", s.lambda/s.s0, most, 1<<mostT)
	}
	// A bin has at most all rows, and the smallest variance is that of a residual variance of 1/64.
	least := 4 / (s.kappa * float64(s.rows))
	if s.square {
		least /= 64
	}
	z.low = max(0, int(math.Ceil(math.Log2(most)/2)))
	z.roots = 5 + int(math.Ceil((math.Log2(1/least)/2+float64(z.low))/math.Log2(1.5)))
	return z, nil
}

// ZSteps returns how many steps of the two iterations a training over rows takes for its z-scores: for an inverse, and
// for the inverse roots.
func ZSteps(p fdskl.Params, rows int) (inverses, roots int, err error) {
	s, err := scalesOf(p, rows)
	if err != nil {
		return 0, 0, err
	}
	z, err := zscoresOf(p, s)
	if err != nil || z == nil {
		return 0, 0, err
	}
	return z.inverses, z.roots, nil
}

// spread is the factor between M G M and the covariance, but for the residual variance.
func (s *scales) spread() float64 { return math.Ldexp(1/s.kappa, -s.p) }

// inverseRoots shares w, the inverse roots of t, of all bins, [D], scale rootBits. o is nil for the square loss.
func (t *tester) inverseRoots(ctx context.Context, s *solution, sys *system, o *outer) (rss.Share, error) {
	gram, finer, point := sys.gram, sys.gram, gramBits
	if o != nil {
		w, err := t.information(ctx, o, sys)
		if err != nil {
			return rss.Share{}, err
		}
		gram, finer, point = w.gram, w.finer, t.z.finer
	}
	inverse, err := t.inverse(ctx, gram)
	if err != nil {
		return rss.Share{}, err
	}
	variances, err := t.variances(ctx, finer, point, inverse)
	if err != nil {
		return rss.Share{}, err
	}
	if o == nil {
		residual, err := t.residual(ctx, s, sys)
		if err != nil {
			return rss.Share{}, err
		}
		if variances, err = t.truncate(ctx, kindVariances, 1, wordBits, t.three.Times(variances, residual),
			rss.Shift{Count: t.features, Bits: sigmaBits}); err != nil {
			return rss.Share{}, err
		}
	}
	return t.roots(ctx, s.beta.Slice(0, t.features), variances)
}

// information shares the Gram matrix of a sample of the rows, weighed by 4 p (1 - p), at the scores found.
func (t *tester) information(ctx context.Context, o *outer, s *system) (*weighed, error) {
	_, scores, err := t.scorer.terms(ctx, o, s)
	if err != nil {
		return nil, err
	}
	n, of := sampleRows(t.Rows, leastZRows, zShare)
	return t.assembler.weighed(ctx, t.Params.Outer, t.assembler.sampled(n, t.Params.Outer), of, scores, t.z.finer)
}

// inverse shares (gram + the diagonal)^-1, [D, D].
func (t *tester) inverse(ctx context.Context, gram rss.Share) (rss.Share, error) {
	d, z := t.features, t.z
	a, x := gram.Clone(), rss.Zero(t.role, d*d)
	for i := range d {
		a.AddPublic(t.role, i*d+i, uint64(math.Round(math.Ldexp(z.diagonal, gramBits))))
		x.AddPublic(t.role, i*d+i, uint64(math.Round(math.Ldexp(z.begin, z.point))))
	}
	for step := range z.inverses {
		// A X is not quite symmetric: rounding stands in X in the directions of which A is nearly nothing. X A X is.
		product, err := t.product(ctx, kindZInverse, 2*step, gramBits, a, x)
		if err != nil {
			return rss.Share{}, err
		}
		var terms []uint64
		if t.role != rss.Outside {
			whole := make([]uint64, d*d)
			t.three.MulVecs(whole, x, product, d)
			for i := range d {
				for j := i; j < d; j++ {
					terms = append(terms, x.X[i*d+j]<<(oneBits+1)-whole[i*d+j])
				}
			}
		}
		upper, err := t.truncate(ctx, kindZInverse, 2*step+1, wordBits, terms, rss.Shift{Count: triangle(d), Bits: oneBits})
		if err != nil {
			return rss.Share{}, err
		}
		x = mirrored(upper, d)
		t.report("z-scores", step+1, z.inverses)
	}
	return x, nil
}

// product shares the product of a symmetric matrix, with point bits, and M, column by column, scale oneBits.
func (t *tester) product(ctx context.Context, kind string, turn, point int, a, x rss.Share) (rss.Share, error) {
	d := t.features
	var terms []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, d*d)
		t.three.MulVecs(terms, a, x, d)
	}
	return t.truncate(ctx, kind, turn, wordBits, terms, rss.Shift{Count: d * d, Bits: point + t.z.point - oneBits})
}

// variances shares the diagonal of M G M, [D], at the scale of M. Where the bins of a column move together M is
// 1/lambda, and G, which is nothing there, is to have as many bits, point, as there is space for.
func (t *tester) variances(ctx context.Context, gram rss.Share, point int, inverse rss.Share) (rss.Share, error) {
	d := t.features
	product, err := t.product(ctx, kindVariances, 0, point, gram, inverse)
	if err != nil {
		return rss.Share{}, err
	}
	var terms []uint64
	for i := range d {
		terms = append(terms, t.three.Dot(inverse.Slice(i*d, (i+1)*d), product.Slice(i*d, (i+1)*d))...)
	}
	return t.truncate(ctx, kindVariances, 1, wordBits, terms, rss.Shift{Count: d, Bits: oneBits})
}

// residual shares the residual variance of the square loss, scale sigmaBits: with all sums times 2^-p it is
//
//	(sum y^2 + beta^T (G beta - 2 h)) 2^p / freedom.
func (t *tester) residual(ctx context.Context, s *solution, sys *system) (rss.Share, error) {
	const errorBits, fine = 36, 40 // behind the point of G beta - 2 h, and of its product with beta
	d := t.features
	beta := s.beta.Slice(0, d)
	var terms []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, d)
		t.three.MulVec(terms, sys.gram, beta)
		sys.sides.Slice(0, d).AddTo(terms, -(uint64(2) << (coefBits - sys.extra())))
	}
	errs, err := t.truncate(ctx, kindResidual, 0, wordBits, terms,
		rss.Shift{Count: d, Bits: coefBits + gramBits - errorBits})
	if err != nil {
		return rss.Share{}, err
	}
	loss, err := t.truncate(ctx, kindResidual, 1, wordBits, t.three.Dot(beta, errs),
		rss.Shift{Count: 1, Bits: coefBits + errorBits - fine})
	if err != nil || t.role == rss.Outside {
		terms = nil
	} else {
		terms = make([]uint64, 1)
		factor := uint64(math.Round(math.Ldexp(1/float64(t.z.freedom), t.p+4)))
		loss.AddTo(terms, factor)
		if t.role == rss.LabelHolder {
			y, sum := t.begun.Targets(0), 0.0
			for _, v := range y {
				sum += (v - s.intercepts[0]) * (v - s.intercepts[0])
			}
			terms[0] += uint64(math.Round(math.Ldexp(sum, fine-t.p))) * factor
		}
	}
	if err != nil {
		return rss.Share{}, err
	}
	return t.truncate(ctx, kindResidual, 2, wordBits, terms, rss.Shift{Count: 1, Bits: fine + 4 - sigmaBits})
}

// roots shares the inverse roots of t = S + beta^2 / c^2, [D], scale rootBits.
func (t *tester) roots(ctx context.Context, beta, variances rss.Share) (rss.Share, error) {
	d := t.features
	shift := func(by int) rss.Shift { return rss.Shift{Count: d, Bits: by} }
	terms := t.three.Products(beta, beta)
	variances.AddTo(terms, uint64(math.Round(math.Ldexp(t.spread(), fineBits-t.z.point))))
	total, err := t.truncate(ctx, kindVariances, 2, wordBits, terms, shift(fineBits-tBits))
	if err != nil {
		return rss.Share{}, err
	}
	w := rss.Zero(t.role, d)
	for i := range w.X {
		w.AddPublic(t.role, i, 1<<(rootBits-t.z.low))
	}
	const rootPoint, square = 24, 20 // of t w, and of t w^2
	for step := range t.z.roots {
		product, err := t.truncate(ctx, kindRoots, 3*step, wordBits, t.three.Products(total, w),
			shift(tBits+rootBits-rootPoint))
		if err != nil {
			return rss.Share{}, err
		}
		if product, err = t.truncate(ctx, kindRoots, 3*step+1, wordBits, t.three.Products(product, w),
			shift(rootPoint+rootBits-square)); err != nil {
			return rss.Share{}, err
		}
		lessThan(t.role, product, 3<<square)
		if w, err = t.truncate(ctx, kindRoots, 3*step+2, wordBits, t.three.Products(product, w),
			shift(square+1)); err != nil {
			return rss.Share{}, err
		}
	}
	return w, nil
}

// openZScores opens the z-scores that the job opens, once the steps are checked, and returns those of this party.
func (t *tester) openZScores(ctx context.Context, s *solution) (*fdskl.ZScores, error) {
	wanted := cardsOf(t.Params.ZScores, false, t.Params, t.Names)
	own, c, err := t.cardmaker.openCards(ctx, t.zcards, wanted, coefBits+rootBits+2,
		func(c *cardOf) []uint64 {
			var terms []uint64
			for _, k := range c.bins {
				lo, hi := t.cardmaker.binsOf(k)
				for _, w := range t.three.Products(s.beta.Slice(lo, hi), s.roots.Slice(lo, hi)) {
					terms = append(terms, w*fdskl.ZUnits) // a quarter of it, by the shift
				}
			}
			return terms
		})
	if err != nil || c == nil {
		return nil, err
	}
	z := new(fdskl.ZScores)
	z.Owners, z.Bins = c.split(t.Params, t.Names, own)
	return z, nil
}

// zOpenings lists who learns z-scores.
func zOpenings(p fdskl.Params, names []string) []contract.Opening {
	var list []contract.Opening
	for _, c := range cardsOf(p.ZScores, false, p, names) {
		whose := "its own bins"
		if p.ZScores != fdskl.ToOwners {
			whose = "everybody's bins, without what the bins are"
		}
		list = append(list, contract.Opening{To: names[c.party], Kind: kindZScores, Count: int64(c.size(p)),
			Meaning: fmt.Sprintf("the z-scores of %s, %d bits each: how many standard errors each coefficient is from that "+
				"of the mean bin", whose, zWidth)})
	}
	return list
}
