package he

import (
	"errors"
	"fmt"
	"math/bits"
)

// errGarbled says that what was opened has more noise than any honest total.
var errGarbled = errors.New("the shares do not open the ciphertext: one is missing, of another key " +
	"or of another ciphertext")

// Open turns the polynomials c0 of a total, with the sum of all needed decryption shares (see
// AddRLWE), into the sum of the words in their ring. It fails when the shares do not belong to the
// ciphertexts, but for a probability far below 2^-1000.
func (p *Packing) Open(words []uint64, c0, shares []byte) error {
	polys := p.Ciphertexts(len(words))
	if err := CheckPolys("total", c0, polys); err != nil {
		return err
	}
	if err := CheckPolys("decryption shares", shares, polys); err != nil {
		return err
	}
	unit := p.Residues() * PolySize
	for first := 0; first < len(words); first += Degree {
		group := first / Degree * unit
		for j := range p.plain {
			m, at := &p.plain[j], group+j*PolySize
			x := opened{scheme: p.scheme, c0: c0[at:][:PolySize], share: shares[at:][:PolySize]}
			for i := range p.residues[j] {
				v := x.coefficient(i, &m.down)
				if m.limit.less(v.magnitude()) {
					return fmt.Errorf("homomorphic sum: ciphertext of words from %d: %w", first, errGarbled)
				}
				p.residues[j][i] = v.mod(m.t)
			}
		}
		if err := p.decode(first, words[first:min(first+Degree, len(words))]); err != nil {
			return err
		}
	}
	return nil
}

// opened is c0 plus the shares, a polynomial modulo both primes.
type opened struct {
	scheme    *Scheme
	c0, share []byte
}

// coefficient returns coefficient i times a constant, modulo Q and nearest to zero.
func (o *opened) coefficient(i int, by *[2]multiplier) wide {
	s := o.scheme
	a := by[0].mul(lower(wordAt(o.c0, i)+wordAt(o.share, i), s.primes[0]))
	b := by[1].mul(lower(wordAt(o.c0, Degree+i)+wordAt(o.share, Degree+i), s.primes[1]))
	// a + prime0 ((b - a) / prime0 mod prime1)
	hi, lo := bits.Mul64(s.primes[0], s.crt.mul(b+2*s.primes[1]-a))
	v := wide{hi, lo}.plus(wide{lo: a})
	if s.half.less(v) {
		return v.minus(s.modulus)
	}
	return v
}
