package sealed

import (
	"context"
	"math"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the truncations that lift sums of rows out of words of 32 bits.
const (
	kindWindows = "windows" // Gram matrices of windows of rows, while the rows are shared
	kindSums    = "sums"    // the other sums, of all windows
)

// Sums over rows in words of 32 bits are lifted: twice a sum, which is even, is truncated by one bit, and so comes out
// as it is, modulo 2^64. Whatever the windows are, their sums have the same total.

// inPart tells whether a row is of a part of the rows: of those kept out of the first solution, or of the others.
func (t *trainer) inPart(part int) func(row int) bool {
	if t.heldOut == nil {
		return nil
	}
	return func(row int) bool { return t.heldOut[row] == (part == 1) }
}

// ending returns where windows of at most so many of a part's rows end; one window where nothing is lifted.
func (t *trainer) ending(most int, in func(row int) bool) []int {
	if !t.lifts() {
		return []int{t.Rows}
	}
	if t.WindowRows > 0 {
		most = min(most, t.WindowRows)
	}
	return windowEnds(t.Rows, t.BlockRows, most, in)
}

// windowOf returns which window a row is in.
func windowOf(ends []int, row int) int {
	at, end := slices.BinarySearch(ends, row)
	if end {
		at++
	}
	return at
}

// cut is where Gram matrices of windows are lifted: between two blocks, or behind the last.
type cut struct {
	row   int
	parts []int
}

// cuts lists where windows of the parts' Gram matrices end; the end of the rows where nothing is lifted.
func (t *trainer) cuts() (list []cut) {
	for part := range t.parts() {
		for _, row := range t.ending(gramRows, t.inPart(part)) {
			i, ok := slices.BinarySearchFunc(list, row, func(c cut, row int) int { return c.row - row })
			if !ok {
				list = slices.Insert(list, i, cut{row: row})
			}
			list[i].parts = append(list[i].parts, part)
		}
	}
	return list
}

// lift returns shares modulo 2^64 of n sums of which this party has the terms modulo 2^32.
func (t *trainer) lift(ctx context.Context, kind string, turn, n int, terms []uint64) (rss.Share, error) {
	for i := range terms {
		terms[i] *= 2
	}
	return t.liftTwice(ctx, kind, turn, n, terms)
}

// liftTwice is lift of sums of which this party has the terms of twice them.
func (t *trainer) liftTwice(ctx context.Context, kind string, turn, n int, terms []uint64) (rss.Share, error) {
	return t.truncate(ctx, kind, turn, ringSmall, terms, rss.Shift{Count: n, Bits: 1})
}

// liftSquares lifts the Gram matrices whose windows end at a cut, by its number.
func (t *trainer) liftSquares(ctx context.Context, number int, c cut, acc *sums) error {
	var terms []uint64
	if t.role != rss.Outside {
		for _, i := range c.parts {
			terms = append(terms, t.three.TwiceGram32(acc.parts[i].window)...)
		}
	}
	n := triangle(t.features)
	lifted, err := t.liftTwice(ctx, kindWindows, number, len(c.parts)*n, terms)
	if err != nil || t.role == rss.Outside {
		return err
	}
	for k, i := range c.parts {
		acc.parts[i].gram.Add(lifted.Slice(k*n, (k+1)*n))
		clear(acc.parts[i].window)
	}
	return nil
}

// liftSums lifts what the parts' rows add up to beside their Gram matrices, and gives all of it the scales of sums.
func (t *trainer) liftSums(ctx context.Context, acc *sums) error {
	each := t.sides * (t.features + 1) // of a window of labels: features times labels, and labels
	n := 0
	var terms []uint64
	for i := range t.parts() {
		windows := len(t.ending(labelRows(t.Params), t.inPart(i)))
		n += t.features
		if t.sharesLabels() {
			n += windows * each
		}
		if t.role == rss.Outside {
			continue
		}
		p := &acc.parts[i]
		terms = append(terms, p.columns.X...)
		if t.sharesLabels() {
			terms = append(append(terms, p.sides...), p.labels.X...)
		}
	}
	lifted, err := t.lift(ctx, kindSums, 0, n, terms)
	if err != nil || t.role == rss.Outside {
		return err
	}
	feature, label := t.sums.sz-t.sz, t.sums.sy-t.sy // bits behind the point that sums have more
	next := func(n, finer int) rss.Share {
		s := lifted.Slice(0, n)
		lifted = lifted.Slice(n, lifted.Len())
		for i := range s.X {
			s.X[i] <<= finer
			s.Y[i] <<= finer
		}
		return s
	}
	for i := range acc.parts {
		p := &acc.parts[i]
		p.columns = next(t.features, feature)
		if t.sharesLabels() {
			windows := len(t.ending(labelRows(t.Params), t.inPart(i)))
			sides := folded(next(windows*t.sides*t.features, feature+label), t.sides*t.features)
			p.sides = slices.Clone(sides.X)
			p.labels = folded(next(windows*t.sides, label), t.sides)
		}
		p.squares = make([]uint64, triangle(t.features))
		p.gram.AddTo(p.squares, 2<<(2*feature))
	}
	return nil
}

// folded adds up what several windows have of n numbers.
func folded(s rss.Share, n int) rss.Share {
	total := s.Slice(0, n)
	for lo := n; lo < s.Len(); lo += n {
		total.Add(s.Slice(lo, lo+n))
	}
	return total
}

// diffused is centred for words of few bits: each value is rounded so that those up to it add up to what they should,
// to half a unit. Values that are alike are rounded both ways, and right on the mean; where nothing is left to chance,
// a training that goes on has the same labels again.
func diffused(values []float64, scale int) (mean float64, words []uint64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	words = make([]uint64, len(values))
	var sum, last float64
	for i, v := range values {
		sum += v - mean
		next := math.RoundToEven(math.Ldexp(sum, scale))
		if i == len(values)-1 {
			next = 0
		}
		words[i] = uint64(int64(next - last))
		last = next
	}
	return mean, words
}
