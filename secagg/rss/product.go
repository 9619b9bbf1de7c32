package rss

import (
	"slices"

	"github.com/hanse-project/hanse/secagg/ring"
)

// The products below are this party's addends; outside the three they are nil. With components X and Y of
// each factor they are X_x (X_y + Y_y) + Y_x X_y: the nine products of components are each at one party.

// both returns the sum of a share's two components.
func (s Share) both() []uint64 {
	sum := make([]uint64, len(s.X))
	for i := range sum {
		sum[i] = s.X[i] + s.Y[i]
	}
	return sum
}

// Dot returns the term of an inner product, one word.
func (p *Party) Dot(x, y Share) []uint64 {
	if p.role == Outside {
		return nil
	}
	return []uint64{ring.Dot(x.X, y.both()) + ring.Dot(x.Y, y.X)}
}

// Products returns the terms of the products of two vectors, number by number.
func (p *Party) Products(x, y Share) []uint64 {
	if p.role == Outside {
		return nil
	}
	out := make([]uint64, x.Len())
	for i := range out {
		out[i] = x.X[i]*(y.X[i]+y.Y[i]) + x.Y[i]*y.X[i]
	}
	return out
}

// Times returns the terms of a vector's products with a shared number, one word.
func (p *Party) Times(v, number Share) []uint64 {
	if p.role == Outside {
		return nil
	}
	x, both := number.X[0], number.X[0]+number.Y[0]
	out := make([]uint64, v.Len())
	for i := range out {
		out[i] = v.X[i]*both + v.Y[i]*x
	}
	return out
}

// MulVec adds to a term of as many words as m has rows the product of a matrix and a vector.
func (p *Party) MulVec(term []uint64, m, v Share) {
	if p.role == Outside {
		return
	}
	ring.MulVec(term, m.X, v.both(), p.workers)
	ring.MulVec(term, m.Y, v.X, p.workers)
}

// MulVecs adds to a term the products of a matrix and n vectors, one behind the other in v and in the term.
func (p *Party) MulVecs(term []uint64, m, v Share, n int) {
	if p.role == Outside {
		return
	}
	ring.MulVecs(term, m.X, v.both(), n, p.workers)
	ring.MulVecs(term, m.Y, v.X, n, p.workers)
}

// MulVecT adds to a term of as many words as m has columns the product of the transposed matrix and
// a vector.
func (p *Party) MulVecT(term []uint64, m, v Share) {
	if p.role == Outside {
		return
	}
	ring.MulVecT(term, m.X, v.both(), p.workers)
	ring.MulVecT(term, m.Y, v.X, p.workers)
}

// AddSquares adds to sums what rows of d features give a Gram matrix: for each two of them, i <= j, row after row of
// the upper triangle, d (d + 1) / 2 words. TwiceGram makes terms of the sums.
//
// Twice the square of three components is one square at each party,
//
//	2 (c0 + c1 + c2)^2  =  (c0 + 2 c1)^2 - 2 (c1 - c2)^2 + (c0 + 2 c2)^2,
//
// and so are twice the products of two features: half the multiplications that three parties' parts
// of nine products take.
func (p *Party) AddSquares(sums []uint64, rows Share, d int) {
	addSquares(p, &p.combined, sums, rows, d)
}

// AddSquares32 is AddSquares modulo 2^32.
func (p *Party) AddSquares32(sums []uint32, rows Share, d int) {
	addSquares(p, &p.combined32, sums, rows, d)
}

// addSquares is AddSquares in words of either size, with space that is kept.
func addSquares[W ring.Word](p *Party, kept *[]W, sums []W, rows Share, d int) {
	if p.role == Outside {
		return
	}
	combined := slices.Grow((*kept)[:0], len(rows.X))[:len(rows.X)]
	*kept = combined
	switch p.role {
	case LabelHolder: // c1 and c2
		for i, x := range rows.X {
			combined[i] = W(x - rows.Y[i])
		}
	case Keeper: // c2 and c0
		for i, x := range rows.X {
			combined[i] = W(2*x + rows.Y[i])
		}
	case Helper: // c0 and c1
		for i, x := range rows.X {
			combined[i] = W(x + 2*rows.Y[i])
		}
	}
	ring.AddSquares(sums, combined, d, p.workers)
}

// TwiceGram returns the terms of twice the Gram matrix whose sums AddSquares made: sums itself, or a multiple
// in its place.
func (p *Party) TwiceGram(sums []uint64) []uint64 {
	if p.role == LabelHolder {
		for i := range sums {
			sums[i] = -(2 * sums[i])
		}
	}
	return sums
}

// TwiceGram32 is TwiceGram of the sums of AddSquares32, as words.
func (p *Party) TwiceGram32(sums []uint32) []uint64 {
	words := make([]uint64, len(sums))
	for i, w := range sums {
		words[i] = uint64(w)
	}
	return p.TwiceGram(words)
}

// AddColumns adds the sums of a matrix's columns.
func (s Share) AddColumns(m Share) {
	ring.AddColumns(s.X, m.X)
	ring.AddColumns(s.Y, m.Y)
}
