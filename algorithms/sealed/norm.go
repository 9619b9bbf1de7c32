package sealed

import (
	"context"
	"math"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// The order of magnitude of the Gram matrix's norm. The steps need a bound of the spectrum, and F^2, the sum of the
// squares of the matrix's entries, gives one. But F^2 itself tells of single rows: two jobs that differ in one row's
// columns differ in F^2 by what the row has to do with the others. So of F^2 opens
//
//	n = floor(log2(u F^2)) + 1 + boundBits,    u = 2^(e / 2^blindBits),
//
// where e has blindBits bits that nobody knows: bit i of e is the sum modulo 2 of three pads' bits, of which each of
// the three lacks one. log2 u is uniform in [0, 1), so that n is log2 F^2 rounded up or down at random: of
// log2 F^2 = k + r it is one more with probability r, and that probability is all that n tells of r. To tell two values
// of F^2 apart that differ by a share d takes about 1/d^2 jobs over the same rows, not two.
//
// The product u F^2 must not open, to nobody and with no bits of its own. It would tell more: log2(u F^2) modulo
// 2^-blindBits is that of F^2, whatever e is, so that 20 bits behind the point tell the last bits of F^2. Of a finer u
// the smallest and the largest of many products are the ends of [log2 F^2, log2 F^2 + 1), which come near with the
// number of jobs and not with its root. That the product's fraction is uniform, whatever F is, does not help: the whole
// part and the fraction together are the product.
//
// So the three compute the number of bits of u F^2 in shares, by arithmetic alone that they have anyway: products of
// shared numbers and truncations that are exact where nothing is left to round. Each message is under a pad that its
// receiver lacks, and 5 bits open: in the highest bits of a word of 8, whose others are zeros.
//
//	u        the bits of e are sums modulo 2 of pads; u is the product of 1 or 2^(1/2), 1 or 2^(1/4), and so on
//	bits     u F^2 = a + b, where the label holder knows a, the sum of its two components, and keeper and helper know
//	         b, the third. It shares the bits of a; those of b are shares as they are. The carries of the sum are a
//	         prefix of pairs, in five layers for 23 bits, and so is whether a higher bit is set, from the top down
//	n        how many bits are set or have a higher one that is
//
// A party that deviates can have the five bits be others, of its choice, and no more; see docs/sealed.md.
const (
	kindNorm     = "norm"      // truncations of the products on the way
	kindNormBits = "norm bits" // of the part of the sum that the label holder knows

	blindBits  = 12            // of e
	blindPoint = 28            // bits behind the point of u and of F^2 on their way
	orderWords = boundBits + 3 // bits of u F^2: F^2 is below 4
	orderBits  = 5             // that open
)

// useBlind is the use of the pads that e is made of.
const useBlind = rss.FirstFree + 2

// norm computes the order of magnitude.
type norm struct{ gates }

// order shares how many bits u F^2 has, with boundBits behind the point: 0 to orderWords. The sum of the squares is
// taken a little larger than it is, by boundTolerance and two units, so that 2^n is more than that of any session.
func (t *assembler) order(ctx context.Context, gram rss.Share) (rss.Share, error) {
	n := &norm{gates{setting: t.setting, kind: kindNorm, turn: 1}}
	square, err := n.blinded(ctx, gram)
	if err != nil {
		return rss.Share{}, err
	}
	return n.length(ctx, square)
}

// blinded shares u F^2, one number with boundBits behind the point.
func (n *norm) blinded(ctx context.Context, gram rss.Share) (rss.Share, error) {
	step := n.three.Begin("norm")
	var pads [rss.Roles]rss.Share
	for j := range rss.Role(rss.Roles) {
		words, err := step.Words(j, useBlind, 1, blindBits)
		if err != nil {
			return rss.Share{}, err
		}
		pads[j] = n.component(j, words, blindBits)
	}
	terms := n.three.Products(pads[0], pads[1])
	for i := range terms {
		terms[i] *= 2
	}
	both, err := n.cut(ctx, append(terms, n.three.Dot(gram, gram)...), rss.Shift{Count: blindBits, Bits: 1},
		rss.Shift{Count: 1, Bits: 2*gramBits - blindPoint})
	if err != nil {
		return rss.Share{}, err
	}
	square := both.Slice(blindBits, blindBits+1)
	e, err := n.xor(ctx, blindBits, n.odd(pads[0], pads[1], both.Slice(0, blindBits)), pads[2])
	if err != nil {
		return rss.Share{}, err
	}
	factors := rss.Zero(n.role, blindBits+1)
	addTimes(factors.Slice(blindBits, blindBits+1), square, 1)
	for i := range blindBits {
		one := math.Ldexp(1, blindPoint)
		if i == 0 {
			one += math.Ldexp(1, blindPoint-boundTolerance)
		}
		root := math.Exp2(math.Ldexp(1, -i-1))
		addTimes(factors.Slice(i, i+1), e.Slice(i, i+1), uint64(math.Round(one*(root-1))))
		factors.AddPublic(n.role, i, uint64(math.Round(one)))
	}
	for left := blindBits + 1; left > 1; {
		half, bits := left/2, blindPoint
		if left == 2 {
			bits += blindPoint - boundBits
		}
		next, err := n.cut(ctx, n.three.Products(factors.Slice(0, half), factors.Slice(half, 2*half)),
			rss.Shift{Count: half, Bits: bits})
		if err != nil {
			return rss.Share{}, err
		}
		factors = joined(next, factors.Slice(2*half, left))
		left -= half
	}
	factors.AddPublic(n.role, 0, 2)
	return factors, nil
}

// length shares how many bits a shared number below 2^orderWords has.
func (n *norm) length(ctx context.Context, number rss.Share) (rss.Share, error) {
	a, b, err := n.summands(ctx, kindNormBits, orderWords, 1, number)
	if err != nil {
		return rss.Share{}, err
	}
	carries, err := n.times(ctx, orderWords, a, b)
	if err != nil {
		return rss.Share{}, err
	}
	sums := n.odd(a, b, carries) // without the carries
	if carries, err = n.prefix(ctx, carries, sums.Clone()); err != nil {
		return rss.Share{}, err
	}
	digits, err := n.xor(ctx, orderWords-1, sums.Slice(1, orderWords), carries.Slice(0, orderWords-1))
	if err != nil {
		return rss.Share{}, err
	}
	set := joined(sums.Slice(0, 1), digits)
	slices.Reverse(set.X) // from the top down
	slices.Reverse(set.Y)
	clear := rss.Zero(n.role, orderWords)
	for i := range orderWords {
		clear.AddPublic(n.role, i, 1)
	}
	minus(clear, set)
	if set, err = n.prefix(ctx, set, clear); err != nil {
		return rss.Share{}, err
	}
	count := rss.Zero(n.role, 1)
	for i := range set.Len() {
		addTimes(count, set.Slice(i, i+1), 1)
	}
	return count, nil
}

// prefix returns for each place whether a bit of set at or before it reaches it: a bit goes on to the next place where
// that one's bit of passes is set. set and passes are never both 1.
func (n *norm) prefix(ctx context.Context, set, passes rss.Share) (rss.Share, error) {
	for by := 1; by < orderWords; by *= 2 {
		// A place takes what reached the one so many before it, and lets through what both do.
		left := orderWords - by
		at := passes.Slice(by, orderWords)
		factors, others, count := at, set.Slice(0, left), left
		if 2*by < orderWords {
			factors, others, count = joined(at, at), joined(others, passes.Slice(0, left)), 2*left
		}
		products, err := n.times(ctx, count, factors, others)
		if err != nil {
			return rss.Share{}, err
		}
		set = joined(set.Slice(0, by), set.Slice(by, orderWords).Clone())
		addTimes(set.Slice(by, orderWords), products.Slice(0, left), 1)
		if count > left {
			passes = joined(passes.Slice(0, by), products.Slice(left, count))
		}
	}
	return set, nil
}
