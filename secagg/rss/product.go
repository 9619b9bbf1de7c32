package rss

import "github.com/hanse-project/hanse/secagg/ring"

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

// MulVec adds to a term of as many words as m has rows the product of a matrix and a vector.
func (p *Party) MulVec(term []uint64, m, v Share) {
	if p.role == Outside {
		return
	}
	ring.MulVec(term, m.X, v.both(), p.workers)
	ring.MulVec(term, m.Y, v.X, p.workers)
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

// Workers returns the most goroutines of a local product.
func (p *Party) Workers() int { return p.workers }

// AddPairs adds to a term the products of each two of the d features of rows, i <= j: the upper triangle of their
// Gram matrix, row after row, d (d + 1) / 2 words.
func (p *Party) AddPairs(term []uint64, rows Share, d int) {
	if p.role == Outside {
		return
	}
	ring.AddPairs(term, rows.X, rows.Y, d, p.workers)
}

// AddColumns adds the sums of a matrix's columns.
func (s Share) AddColumns(m Share) {
	ring.AddColumns(s.X, m.X)
	ring.AddColumns(s.Y, m.Y)
}
