package ring

// panel holds the columns from, ..., to-1 of a chunk of pairs of rows in the order in which tiles read them: strips of
// width columns; of a strip, pair after pair; of a pair, width words of its first row and width words of its second.
// Pairs that the matrix does not have are zero. Columns that it does not have are anything: nobody reads their sums.
type panel struct {
	from, to int
	width    int
	pairs    int      // in each strip, a multiple of tilePairs
	words    []uint64 // strips one after the other, 2 width pairs words each
}

// columns returns how many columns the matrix has here.
func (p *panel) columns() int { return p.to - p.from }

// strip returns the strip that begins with a column.
func (p *panel) strip(column int) []uint64 {
	size := 2 * p.width * p.pairs
	return p.words[column/p.width*size:][:size]
}

// packRows takes the pairs of successive rows of m, with the second row first if swapped.
func (p *panel) packRows(m []uint64, d int, swapped bool) {
	p.reset(len(m) / d)
	first, second := 0, p.width
	if swapped {
		first, second = second, first
	}
	p.pack(m, 2*d, first)
	p.pack(m[d:], 2*d, second)
}

// reset makes room for the pairs of so many rows, and zeros where there are too few for whole loops of a tile.
func (p *panel) reset(rows int) {
	const loop = 2 * tilePairs
	loops := (rows + loop - 1) / loop
	p.pairs = loops * tilePairs
	if rows < loops*loop {
		clear(p.words)
	}
}

// pack puts every step words of m a row in its places, at words from the beginning of a pair.
func (p *panel) pack(m []uint64, step, at int) {
	column := 0
	if p.width == 2 {
		for ; column+8 <= p.columns(); column += 8 {
			p.packEight(m, step, at, column)
		}
	}
	for ; column < p.columns(); column += p.width {
		from, strip := p.from+column, p.strip(column)[at:]
		width := min(p.width, p.columns()-column)
		for i := 0; from < len(m); i += 2 * p.width {
			copy(strip[i:i+width], m[from:])
			from += step
		}
	}
}

// packEight packs four strips of two columns: what a line of the cache holds is read at once.
func (p *panel) packEight(m []uint64, step, at, column int) {
	a, b := p.strip(column)[at:], p.strip(column + 2)[at:]
	c, e := p.strip(column + 4)[at:], p.strip(column + 6)[at:]
	n := len(a)
	b, c, e = b[:n], c[:n], e[:n]
	from := p.from + column
	for i := 0; i < n-1 && from < len(m); i += 4 {
		row := (*[8]uint64)(m[from:])
		a[i], a[i+1] = row[0], row[1]
		b[i], b[i+1] = row[2], row[3]
		c[i], c[i+1] = row[4], row[5]
		e[i], e[i+1] = row[6], row[7]
		from += step
	}
}
