package ring

import "sync"

// gram is one update of the upper triangle of a matrix, d by d. Its block of rows I and columns J is the sum over
// pairs of (a1 + b1)(a2 + b2), less a correction for the row and one for the column.
type gram struct {
	k           kernels
	d           int
	rows        int      // of the matrix multiplied
	corrections []uint64 // sums of the products of a pair, by column of that matrix

	// pack fills the panels of a block with what rows from, ..., to-1 have.
	pack func(left, right *panel, from, to int)
	// row returns a row of the result.
	row func(i int) []uint64
}

// run adds every block.
func (g *gram) run(workers int) {
	workers = workersFor(g.rows*g.d*g.d, workers)
	side := g.side(workers)
	blocks := blocksOf(g.d, side)
	spaces := sync.Pool{New: func() any { return newSpace(g.k, side) }}
	each(len(blocks), workers, func(i int) {
		s := spaces.Get().(*space)
		g.add(s, blocks[i])
		spaces.Put(s)
	})
}

// side returns the length of a block: the longest, as long blocks are packed less often, but with work for all.
func (g *gram) side(workers int) int {
	side := g.k.block
	for side > g.k.block/4 && len(blocksOf(g.d, side)) < 3*workers {
		side /= 2
	}
	return side
}

// block is one task: the entries of a square of the result, or of the part of it on and above the diagonal.
type block struct {
	row, col int  // of the first entry
	upper    bool // entries i <= j only
}

// blocksOf cuts the upper triangle of a d by d matrix into blocks. Those on the diagonal are half the work of others and
// come last, where they even out what the workers have left.
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

func newSpace(k kernels, side int) *space {
	return &space{
		side:  side,
		sum:   make([]uint64, side*side),
		left:  panel{width: tileRows, words: make([]uint64, 2*side*k.depth)},
		right: panel{width: k.width, words: make([]uint64, 2*side*k.depth)},
	}
}

// add adds one block.
func (g *gram) add(s *space, b block) {
	clear(s.sum)
	s.left.from, s.left.to = b.row, min(b.row+s.side, g.d)
	s.right.from, s.right.to = b.col, min(b.col+s.side, g.d)
	chunk := 2 * g.k.depth
	for r := 0; r < g.rows; r += chunk {
		g.pack(&s.left, &s.right, r, min(r+chunk, g.rows))
		g.tiles(s, b)
	}
	for i := range s.left.columns() {
		from := 0
		if b.upper {
			from = i
		}
		out := g.row(b.row + i)[b.col:][:s.right.columns()]
		addCorrected(out[from:], s.sum[i*s.side+from:], g.corrections[b.col+from:], g.corrections[b.row+i])
	}
}

// tiles adds what the panels hold, tile by tile. A strip of the right panel stays in the first-level cache while
// the left panel passes.
func (g *gram) tiles(s *space, b block) {
	for j := 0; j < s.right.columns(); j += g.k.width {
		strip, below := s.right.strip(j), s.left.columns()
		if b.upper {
			below = min(below, j+g.k.width)
		}
		for i := 0; i < below; i += tileRows {
			g.k.tile(s.sum[i*s.side+j:], s.side, s.left.strip(i), strip)
		}
	}
}

// addCorrected adds one row of a block.
func addCorrected(out, sum, byColumn []uint64, byRow uint64) {
	sum, byColumn = sum[:len(out)], byColumn[:len(out)]
	for j := range out {
		out[j] += sum[j] - byColumn[j] - byRow
	}
}
