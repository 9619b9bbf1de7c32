package he

import "fmt"

// encode makes the residues of up to Degree words for every modulus; what is missing counts as zero.
// random is where the spread of words that wrap comes from.
func (p *Packing) encode(first int, words []uint64, random *secretStream) error {
	x := p.integers[:len(words):len(p.integers)]
	if p.ring == 0 {
		for i, w := range words {
			sign := uint64(int64(w) >> 63) // all bits, or none
			if magnitude := (w ^ sign) - sign; magnitude > p.bound {
				return fmt.Errorf("homomorphic sum: word %d is %d, want a magnitude of at most %d", first+i, int64(w), p.bound)
			}
			x[i] = wide{hi: sign, lo: w}
		}
	} else { // a secret multiple of 2^k is added to every word of Z_{2^k}
		width := 8 * p.ring.WordSize()
		for i, w := range words {
			if width < 64 && w>>width != 0 {
				return fmt.Errorf("homomorphic sum: word %d is %d, want less than 2^%d", first+i, w, width)
			}
			rho := random.bits(p.spread)
			x[i] = wide{hi: rho >> (64 - width), lo: w | rho<<width}
		}
	}
	for j := range p.plain {
		residue, t := p.plain[j].residue, p.plain[j].t
		for i := range x {
			residue[i] = x[i].mod(t)
		}
		clear(residue[len(x):])
	}
	clear(x)
	return nil
}

// decode makes words of the residues of a total; it fails when they are not those of any total.
func (p *Packing) decode(first int, words []uint64) error {
	mask := ^uint64(0)
	if p.ring != 0 {
		mask >>= 64 - 8*p.ring.WordSize()
	}
	for i := range words {
		x, ok := p.combine(i)
		if p.ring == 0 && p.most.less(x) {
			x = x.minus(p.product)
		}
		if !ok || p.most.less(x.magnitude()) {
			return fmt.Errorf("homomorphic sum: the total of word %d is beyond what %d addends can give", first+i, p.addends)
		}
		words[i] = x.lo & mask
	}
	return nil
}

// combine returns the number from 0 to the moduli's product that has the residues at i (Garner's
// algorithm); it fails for numbers of more than 127 bits.
func (p *Packing) combine(i int) (wide, bool) {
	var digits [maxResidues]uint64
	for j := range p.plain {
		m := &p.plain[j]
		d := p.residues[j][i]
		for e := range m.garner {
			d = m.garner[e].mul(d + m.t - digits[e]%m.t)
		}
		digits[j] = d
	}
	x, all := wide{}, true
	for j := len(p.plain) - 1; j >= 0; j-- {
		y, ok := x.times(p.plain[j].t, digits[j])
		x, all = y, all && ok
	}
	return x, all
}
