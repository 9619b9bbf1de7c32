package ring

import (
	"sync"

	"github.com/hanse-project/hanse/internal/parallel"
)

// Sizes of what plain Go multiplies at once.
const (
	tileSide  = 2   // rows and columns of a tile of the result
	tilePairs = 8   // pairs of rows that the inner loop of a tile takes at once
	depth     = 120 // pairs of rows in a panel, a multiple of tilePairs
	longest   = 256 // rows and columns of the largest block; a quarter of it is a multiple of tileSide
)

// number is an entry of a matrix, and total a sum of products of such. Both are used modulo 2^64.
type (
	number interface{ int16 | uint32 | uint64 }
	total  interface{ int64 | uint32 | uint64 }
)

// gram is one update of the upper triangle of a matrix, d by d. Its block of rows I and columns J is the sum over
// pairs of (a1 + b1)(a2 + b2), less a correction for the row and one for the column.
type gram[T total, N number] struct {
	t           []T
	u           []N
	d           int
	corrections []uint64 // sums of the products of a pair, by column
}

// plainSquares is AddSquares in plain Go: it pairs the products of successive rows.
func plainSquares[T total, N number](t []T, u []N, d, workers int) {
	if d < 1 || len(u) < d {
		return
	}
	g := gram[T, N]{t, u, d, make([]uint64, d)}
	for at := 0; at+d < len(u); at += 2 * d {
		second := u[at+d:][:d]
		for j, first := range u[at:][:d] {
			g.corrections[j] += uint64(first) * uint64(second[j])
		}
	}
	workers = workersFor(len(u)*d, workers)
	// A block is long, as long blocks are packed less often, but there is work for all.
	side := longest
	for side > longest/4 && len(blocksOf(d, side)) < 3*workers {
		side /= 2
	}
	blocks := blocksOf(d, side)
	spaces := sync.Pool{New: func() any { return newSpace(side) }}
	parallel.All(workers, len(blocks), func(i int) {
		s := spaces.Get().(*space)
		g.add(s, blocks[i])
		spaces.Put(s)
	})
}

// block is one task: the entries of a square of the result, or of the part of it on and above the diagonal.
type block struct {
	row, col int  // of the first entry
	upper    bool // entries i <= j only
}

// blocksOf cuts the upper triangle of a d by d matrix into blocks. Those on the diagonal are half the work of others
// and come last, where they even out what the workers have left.
func blocksOf(d, side int) []block {
	var whole, half []block
	for i := 0; i < d; i += side {
		for j := 0; j < d; j += side {
			switch {
			case j == i:
				half = append(half, block{i, j, true})
			case j > i:
				whole = append(whole, block{i, j, false})
			}
		}
	}
	return append(whole, half...)
}

// space is what a worker needs while it adds a block.
type space struct {
	side        int
	sum         []uint64 // side by side, without the corrections
	left, right panel    // of the block's rows and columns
}

func newSpace(side int) *space {
	words := func() []uint64 { return make([]uint64, 2*side*depth) }
	return &space{side: side, sum: make([]uint64, side*side), left: panel{words: words()}, right: panel{words: words()}}
}

// add adds one block.
func (g *gram[T, N]) add(s *space, b block) {
	clear(s.sum)
	s.left.from, s.left.to = b.row, min(b.row+s.side, g.d)
	s.right.from, s.right.to = b.col, min(b.col+s.side, g.d)
	for rows := g.u; len(rows) > 0; rows = rows[min(2*depth*g.d, len(rows)):] {
		chunk := rows[:min(2*depth*g.d, len(rows))]
		packRows(&s.left, chunk, g.d, false)
		packRows(&s.right, chunk, g.d, true)
		s.tiles(b)
	}
	for i := range s.left.columns() {
		from := 0
		if b.upper {
			from = i
		}
		sum, byColumn := s.sum[i*s.side:][:s.right.columns()], g.corrections[b.col:]
		out := g.t[PairIndex(b.row+i, b.col+from, g.d):]
		for j := from; j < len(sum); j++ {
			out[j-from] += T(sum[j] - byColumn[j] - g.corrections[b.row+i])
		}
	}
}

// tiles adds what the panels hold, tile by tile. A strip of the right panel stays in the first-level cache while
// the left panel passes.
func (s *space) tiles(b block) {
	for j := 0; j < s.right.columns(); j += tileSide {
		strip, below := s.right.strip(j), s.left.columns()
		if b.upper {
			below = min(below, j+tileSide)
		}
		for i := 0; i < below; i += tileSide {
			c00, c01, c10, c11 := tileSums(s.left.strip(i), strip)
			sum := s.sum[i*s.side+j:]
			sum[0] += c00
			sum[1] += c01
			sum[s.side] += c10
			sum[s.side+1] += c11
		}
	}
}
