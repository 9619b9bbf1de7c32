package ring

// panel holds the columns from, ..., to-1 of a chunk of pairs of rows in the order in which tiles read them: strips of
// tileSide columns; of a strip, pair after pair; of a pair, the words of its first row and those of its second.
// Pairs that the matrix does not have are zero. Columns that it does not have are anything: nobody reads their sums.
type panel struct {
	from, to int
	pairs    int      // in each strip, a multiple of tilePairs
	words    []uint64 // strips one after the other, 2 tileSide pairs words each
}

// columns returns how many columns the matrix has here.
func (p *panel) columns() int { return p.to - p.from }

// strip returns the strip that begins with a column.
func (p *panel) strip(column int) []uint64 {
	size := 2 * tileSide * p.pairs
	return p.words[column/tileSide*size:][:size]
}

// packRows takes the pairs of successive rows of m, with the second row first if swapped. Where there are too few rows
// for whole loops of a tile, zeros follow.
func packRows[N number](p *panel, m []N, d int, swapped bool) {
	const loop = 2 * tilePairs
	rows := len(m) / d
	loops := (rows + loop - 1) / loop
	p.pairs = loops * tilePairs
	if rows < loops*loop {
		clear(p.words)
	}
	first, second := 0, tileSide
	if swapped {
		first, second = second, first
	}
	pack(p, m, 2*d, first)
	pack(p, m[d:], 2*d, second)
}

// pack puts every step words of m a row in its places, at words from the beginning of a pair. Eight columns are packed
// at once: what a line of the cache holds is read at once.
func pack[N number](p *panel, m []N, step, at int) {
	column := 0
	for ; column+8 <= p.columns(); column += 8 {
		a, b := p.strip(column)[at:], p.strip(column + 2)[at:]
		c, e := p.strip(column + 4)[at:], p.strip(column + 6)[at:]
		n := len(a)
		b, c, e = b[:n], c[:n], e[:n]
		from := p.from + column
		for i := 0; i < n-1 && from < len(m); i += 2 * tileSide {
			row := (*[8]N)(m[from:])
			a[i], a[i+1] = uint64(row[0]), uint64(row[1])
			b[i], b[i+1] = uint64(row[2]), uint64(row[3])
			c[i], c[i+1] = uint64(row[4]), uint64(row[5])
			e[i], e[i+1] = uint64(row[6]), uint64(row[7])
			from += step
		}
	}
	for ; column < p.columns(); column += tileSide {
		from, strip := p.from+column, p.strip(column)[at:]
		width := min(tileSide, p.columns()-column)
		for i := 0; from < len(m); i += 2 * tileSide {
			for j, word := range m[from:][:width] {
				strip[i+j] = uint64(word)
			}
			from += step
		}
	}
}
