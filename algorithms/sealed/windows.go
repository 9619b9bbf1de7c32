package sealed

import (
	"context"
	"math"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the truncations that lift sums of rows out of words of 32 bits.
const (
	kindWindows = "windows" // of windows of rows, while the rows are shared
	kindSums    = "sums"    // of products with a loss's derivatives
)

// Sums over rows in words of 32 bits are lifted: twice a sum, which is even, is truncated by one bit, and so comes out
// as it is, modulo 2^64. Whatever the windows are, their sums have the same total.

// window is some rows of a part whose sums are lifted together. Products with labels may need smaller windows, which
// are within it.
type window struct {
	part   int
	labels []int // where those of labels end; none where labels are not shared
}

// cut is a row at which windows end, behind a block: all rows where nothing is lifted.
type cut struct {
	row     int
	windows []window
}

// cuts lists where windows end.
func (t *assembler) cuts() (list []cut) {
	for part := range t.parts() {
		lo, of := 0, func(rows int) int { return t.checker.parted(part, rows) }
		for _, row := range t.ending(0, t.Rows, gramRows(t.Params), t.WindowRows, of) {
			w := window{part: part}
			if t.sharesLabels() {
				w.labels = t.ending(lo, row, labelRows(t.Params), t.WindowRows/2, of)
			}
			i, ok := slices.BinarySearchFunc(list, row, func(c cut, row int) int { return c.row - row })
			if !ok {
				list = slices.Insert(list, i, cut{row: row})
			}
			list[i].windows = append(list[i].windows, w)
			lo = row
		}
	}
	return list
}

// ending returns where windows of at most so many of a part's rows of [lo, hi) end; one window where nothing is lifted.
// less bounds them further; 0: nothing does.
func (t *assembler) ending(lo, hi, most, less int, of func(rows int) int) []int {
	if !t.lifts() {
		return []int{hi}
	}
	if less > 0 {
		most = min(most, less)
	}
	return windowEnds(lo, hi, t.BlockRows, most, of)
}

// windowOf returns which window a row is in.
func windowOf(ends []int, row int) int {
	at, end := slices.BinarySearch(ends, row)
	if end {
		at++
	}
	return at
}

// lift returns shares modulo 2^64 of n sums of which this party has the terms of twice them modulo 2^32.
func (t *assembler) lift(ctx context.Context, kind string, turn, n int, twice []uint64) (rss.Share, error) {
	return t.truncate(ctx, kind, turn, ringSmall, twice, rss.Shift{Count: n, Bits: 1})
}

// liftWindows lifts what the windows up to a row add up to.
func (t *assembler) liftWindows(ctx context.Context, acc *sums, row int) error {
	for ; acc.lifted < len(acc.cuts) && acc.cuts[acc.lifted].row <= row; acc.lifted++ {
		if !t.lifts() {
			continue
		}
		if err := t.liftCut(ctx, acc, acc.cuts[acc.lifted]); err != nil {
			return err
		}
	}
	return nil
}

// liftCut lifts the windows that end at a cut, and begins the next ones.
func (t *assembler) liftCut(ctx context.Context, acc *sums, c cut) error {
	n := 0
	var twice []uint64
	for _, w := range c.windows {
		n += t.sumsOf(len(w.labels))
		if t.role == rss.Outside {
			continue
		}
		p := &acc.parts[w.part]
		twice = append(twice, t.three.TwiceGram32(p.window)...)
		for _, terms := range [][]uint64{p.columns.X, p.sides, p.labels.X} {
			for _, x := range terms {
				twice = append(twice, 2*x)
			}
		}
	}
	lifted, err := t.lift(ctx, kindWindows, acc.lifted, n, twice)
	if err != nil || t.role == rss.Outside {
		return err
	}
	next := func(n int) rss.Share {
		s := lifted.Slice(0, n)
		lifted = lifted.Slice(n, lifted.Len())
		return s
	}
	for _, w := range c.windows {
		p, all := &acc.parts[w.part], triangle(t.features)+t.features
		p.total.Slice(0, all).Add(next(all))
		for range w.labels {
			p.total.Slice(all, all+t.sides*t.features).Add(next(t.sides * t.features))
		}
		for range w.labels {
			p.total.Slice(all+t.sides*t.features, p.total.Len()).Add(next(t.sides))
		}
		t.begin(p, acc.following(w.part, acc.lifted+1))
	}
	return nil
}

// sumsOf is how many sums a window of rows has with so many of labels: products of features, features, features times
// labels, and labels.
func (t *assembler) sumsOf(labels int) int {
	return triangle(t.features) + t.features + labels*t.sides*(t.features+1)
}

// following returns the first window of a part that ends at a cut from the given one on, an empty one behind the last.
func (a *sums) following(part, from int) window {
	for _, c := range a.cuts[from:] {
		for _, w := range c.windows {
			if w.part == part {
				return w
			}
		}
	}
	return window{part: part}
}

// begin makes a part's sums those of no row of a window.
func (t *assembler) begin(p *part, w window) {
	n := len(w.labels) * t.sides
	p.ends = w.labels
	p.columns, p.sides, p.labels = rss.Zero(t.role, t.features), make([]uint64, n*t.features), rss.Zero(t.role, n)
	clear(p.squares)
	clear(p.window)
}

// settle gives lifted sums the scales of sums of words of 64 bits.
func (t *assembler) settle(acc *sums) {
	if !t.lifts() || t.role == rss.Outside {
		return
	}
	feature, label := t.sums.sz-t.sz, t.sums.sy-t.sy // bits behind the point that sums have more
	for i := range acc.parts {
		p := &acc.parts[i]
		next := func(n, finer int) rss.Share {
			s := p.total.Slice(0, n)
			p.total = p.total.Slice(n, p.total.Len())
			for i := range s.X {
				s.X[i] <<= finer
				s.Y[i] <<= finer
			}
			return s
		}
		p.window, p.squares = nil, make([]uint64, triangle(t.features))
		next(triangle(t.features), 0).AddTo(p.squares, 2<<(2*feature))
		p.columns = next(t.features, feature)
		if t.sharesLabels() {
			p.sides = next(t.sides*t.features, feature+label).X
			p.labels = next(t.sides, label)
		}
	}
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
