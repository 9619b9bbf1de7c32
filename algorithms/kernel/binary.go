package kernel

// A word of 64 bits carries three 16-bit angles with five spare bits above each, so that one
// addition adds three, and 31 rows of frequencies add up before anything must be cut off.
const (
	laneBits = 21
	laneMask = 0xffff * (1 | 1<<laneBits | 1<<(2*laneBits))
	laneTurn = 0x10000 * (1 | 1<<laneBits | 1<<(2*laneBits))
	lanesMax = 31 // additions to a masked word before the next mask
)

// packWords words, one cache line, make a pack of packAngles angles.
const (
	packWords  = 8
	packAngles = 3 * packWords
)

// pack is the angles of packAngles consecutive features.
type pack [packWords]uint64

// binaryMap adds up the frequencies of set binary columns, each rounded to 2^-16 turn beforehand.
// A row with most columns set takes the total of all columns less the unset ones, which is the
// same word for word.
type binaryMap struct {
	count   int
	columns int
	packs   []pack // [tile][columns]: a tile is the same packAngles features of every column
	totals  []pack // [tile]: all columns
}

// setColumn stores one column's frequencies, given in turns per unit.
func (b *binaryMap) setColumn(c int, turns []float64) {
	for i, v := range turns {
		tile, word, shift := place(i)
		bits := uint64(quantise(v*circle)) << shift
		b.packs[tile*b.columns+c][word] |= bits
		b.totals[tile][word] = (b.totals[tile][word] + bits) & laneMask
	}
}

// place returns where feature i is kept.
func place(i int) (tile, word, shift int) {
	return i / packAngles, i % packAngles / 3, i % 3 * laneBits
}

// write writes phases plus the binary columns' angles of rows lo to hi-1 to out.
func (b *binaryMap) write(x *Matrix, lo, hi int, phases, out []uint16) {
	if b.columns == 0 {
		for r := range hi - lo {
			copy(out[r*b.count:], phases)
		}
		return
	}
	lists := make([]shortList, hi-lo)
	for r := range lists {
		set := x.Set[x.Starts[lo+r]:x.Starts[lo+r+1]]
		lists[r].columns = set
		if 2*len(set) > b.columns+1 {
			lists[r] = shortList{complement(set, b.columns), true}
		}
	}
	for tile := range b.totals {
		first := tile * packAngles
		n := min(packAngles, b.count-first)
		packs := b.packs[tile*b.columns:][:b.columns]
		for r := range lists {
			sum := addPacks(packs, lists[r].columns)
			if lists[r].unset {
				sum = lessPack(&b.totals[tile], &sum)
			}
			unpack(out[r*b.count+first:][:n], phases[first:][:n], &sum)
		}
	}
}

// shortList is the shorter of a row's lists of set and unset columns.
type shortList struct {
	columns []uint16
	unset   bool
}

// complement returns the numbers below n that are not in set, which is ascending.
func complement(set []uint16, n int) []uint16 {
	out := make([]uint16, 0, n-len(set))
	for c := range n {
		if len(set) > 0 && int(set[0]) == c {
			set = set[1:]
			continue
		}
		out = append(out, uint16(c))
	}
	return out
}

// addPacks returns the sum of the listed packs, masked.
func addPacks(packs []pack, columns []uint16) pack {
	var s0, s1, s2, s3, s4, s5, s6, s7 uint64
	for len(columns) > 0 {
		n := min(len(columns), lanesMax)
		for _, c := range columns[:n] {
			p := &packs[c]
			s0 += p[0]
			s1 += p[1]
			s2 += p[2]
			s3 += p[3]
			s4 += p[4]
			s5 += p[5]
			s6 += p[6]
			s7 += p[7]
		}
		columns = columns[n:]
		s0, s1, s2, s3 = s0&laneMask, s1&laneMask, s2&laneMask, s3&laneMask
		s4, s5, s6, s7 = s4&laneMask, s5&laneMask, s6&laneMask, s7&laneMask
	}
	return pack{s0, s1, s2, s3, s4, s5, s6, s7}
}

// lessPack returns a - b in every lane; both are masked.
func lessPack(a, b *pack) pack {
	var d pack
	for i := range d {
		d[i] = (a[i] + laneTurn - b[i]) & laneMask
	}
	return d
}

// unpack writes the angles in p plus phases to dst, at most packAngles of them.
func unpack(dst, phases []uint16, p *pack) {
	if len(dst) == packAngles {
		unpackAll((*[packAngles]uint16)(dst), (*[packAngles]uint16)(phases), p)
		return
	}
	for i := range dst {
		_, word, shift := place(i)
		dst[i] = uint16(p[word]>>shift) + phases[i]
	}
}

// unpackAll is unpack for a whole pack.
func unpackAll(dst, phases *[packAngles]uint16, p *pack) {
	for w, v := range p {
		dst[3*w] = uint16(v) + phases[3*w]
		dst[3*w+1] = uint16(v>>laneBits) + phases[3*w+1]
		dst[3*w+2] = uint16(v>>(2*laneBits)) + phases[3*w+2]
	}
}
