package sealed

import (
	"context"

	"github.com/hanse-project/hanse/secagg/rss"
)

// gates are arithmetic on shared bits, words that are 0 or 1: products, and truncations that are exact where nothing is
// left to round. Each message is under a pad that its receiver lacks.
type gates struct {
	*setting
	kind string // of the truncations
	turn int    // of the next one
}

// component shares words that are one component: everybody has them but the party of its number.
func (g *gates) component(j rss.Role, words []uint64, count int) rss.Share {
	var c [rss.Roles][]uint64
	for i := range c {
		c[i] = make([]uint64, count)
	}
	copy(c[j], words)
	return rss.Components(g.role, c)
}

// summands shares the lowest bits of the two numbers that each of n shared ones is the sum of: one that the label
// holder knows, which shares its bits, and one that the other two know. Bit i of all numbers stands before bit i+1.
func (g *gates) summands(ctx context.Context, kind string, width, n int, numbers rss.Share) (a, b rss.Share,
	err error) {
	var own, third []uint64
	switch g.role {
	case rss.LabelHolder:
		for i, x := range numbers.X {
			own = append(own, x+numbers.Y[i])
		}
		own = bitsOf(own, width)
	case rss.Keeper:
		third = bitsOf(numbers.Y, width)
	case rss.Helper:
		third = bitsOf(numbers.X, width)
	}
	if a, err = g.three.Input(ctx, kind, wordBits, width*n, own); err != nil {
		return a, b, err
	}
	return a, g.component(rss.LabelHolder, third, width*n), nil
}

// negative shares of each of n shared numbers, which are from -2^(width-1) on and below 2^(width-1), whether it is
// below 0. The carry into its sign is that of a tree of pairs: a run of bits sets a carry of its own, or passes on the
// one that comes in.
func (g *gates) negative(ctx context.Context, kind string, width, n int, numbers rss.Share) (rss.Share, error) {
	a, b, err := g.summands(ctx, kind, width, n, numbers)
	if err != nil {
		return rss.Share{}, err
	}
	set, err := g.times(ctx, width*n, a, b)
	if err != nil {
		return rss.Share{}, err
	}
	passes := g.odd(a, b, set)
	signs := passes.Slice((width-1)*n, width*n)
	for runs := width - 1; runs > 1; {
		half := runs / 2
		var low, high []int
		for i := range half {
			low, high = append(low, 2*i), append(high, 2*i+1)
		}
		upper, end := picked(passes, high, n), 2*half*n
		both, err := g.times(ctx, end, joined(upper, upper), joined(picked(set, low, n), picked(passes, low, n)))
		if err != nil {
			return rss.Share{}, err
		}
		carried := picked(set, high, n)
		addTimes(carried, both.Slice(0, end/2), 1)
		set = joined(carried, set.Slice(end, runs*n))
		passes = joined(both.Slice(end/2, end), passes.Slice(end, runs*n))
		runs -= half
	}
	return g.xor(ctx, n, signs, set.Slice(0, n))
}

// product shares the products of vectors of n numbers, which stand one behind the other.
func (g *gates) product(ctx context.Context, vectors, n int, all rss.Share) (rss.Share, error) {
	for vectors > 1 {
		half := vectors / 2
		next, err := g.times(ctx, half*n, all.Slice(0, half*n), all.Slice(half*n, 2*half*n))
		if err != nil {
			return rss.Share{}, err
		}
		all = joined(next, all.Slice(2*half*n, vectors*n))
		vectors -= half
	}
	return all, nil
}

// times shares the products of two vectors of so many numbers, exactly.
func (g *gates) times(ctx context.Context, count int, x, y rss.Share) (rss.Share, error) {
	terms := g.three.Products(x, y)
	for i := range terms {
		terms[i] *= 2
	}
	return g.cut(ctx, terms, rss.Shift{Count: count, Bits: 1})
}

// xor shares the sums modulo 2 of two vectors of so many bits.
func (g *gates) xor(ctx context.Context, count int, x, y rss.Share) (rss.Share, error) {
	products, err := g.times(ctx, count, x, y)
	return g.odd(x, y, products), err
}

// odd is x + y - 2 xy, the sum modulo 2 of bits whose products are known.
func (g *gates) odd(x, y, products rss.Share) rss.Share {
	sum := x.Clone()
	sum.Add(y)
	addTimes(sum, products, ^uint64(1))
	return sum
}

// cut is the next truncation.
func (g *gates) cut(ctx context.Context, terms []uint64, shifts ...rss.Shift) (rss.Share, error) {
	turn := g.turn
	g.turn++
	return g.truncate(ctx, g.kind, turn, wordBits, terms, shifts...)
}

// addTimes adds c times a share to s.
//
//go:noinline
func addTimes(s, more rss.Share, c uint64) {
	more.AddTo(s.X, c)
	rss.Share{X: more.Y}.AddTo(s.Y, c)
}

// joined is two vectors, one behind the other. It is called in many places, and not inlined: the program is smaller.
//
//go:noinline
func joined(a, b rss.Share) rss.Share {
	s := a.Clone()
	return rss.Share{X: append(s.X, b.X...), Y: append(s.Y, b.Y...)}
}

// bitsOf are the lowest bits of numbers, so many of each: the lowest of all of them first.
func bitsOf(words []uint64, width int) (list []uint64) {
	for i := range width {
		for _, w := range words {
			list = append(list, w>>i&1)
		}
	}
	return list
}
