package he

import (
	"fmt"
	"math/bits"

	"github.com/hanse-project/hanse/secagg"
)

// hidingBits is the least statistical distance, as a power of two, at which a total tells no more than
// the sum in the ring.
const hidingBits = 40

// maxResidues bounds the ciphertexts that one vector of up to Degree words takes.
const maxResidues = 4

// Packing says how words travel in plaintexts: every word is an integer, and the integer travels as
// residues modulo distinct primes, a ciphertext for each (Chinese remainders). The total of all
// addends fits.
//
// BGV adds integers and does not wrap. A word w of a ring Z_{2^k} therefore travels as
//
//	w + 2^k rho, rho secret and uniform in [0, 2^spread), 2^spread >= addends 2^hidingBits,
//
// so that the opened integer, whose multiple of 2^k tells how often the sum wrapped, is within
// statistical distance 2^-hidingBits of a function of the ring sum, if one addend is honest. Signed
// words do not wrap and travel as they are.
//
// It is not safe for concurrent use.
type Packing struct {
	scheme *Scheme
	margin
	ring   secagg.Ring // of words that wrap; 0 for signed words
	spread int         // bits of rho
	bound  uint64      // largest magnitude of one signed word
	most   wide        // largest magnitude of a total

	plain    []plainModulus
	product  wide       // of the plaintext moduli; signed words only, where it fits
	residues [][]uint64 // of one total: Degree for each modulus
	integers []wide     // of one addend
}

// plainModulus is one prime t of a packing with its constants.
type plainModulus struct {
	t       uint64
	up      [2]multiplier // by the inverse of t, modulo each prime of the ciphertext
	down    [2]multiplier // by t
	garner  []multiplier  // by the inverses of the earlier moduli, modulo t
	limit   wide          // largest magnitude of an opened coefficient
	residue []uint64      // of one addend
}

// NewPacking returns the packing of a ring's words for sums of at most `addends` vectors under the
// collective key of `holders`. It fails for numbers of addends and holders for which no flooding is
// left that hides the noise.
func (s *Scheme) NewPacking(r secagg.Ring, addends, holders int) (*Packing, error) {
	if r != secagg.Turns16 && r != secagg.Turns32 && r != secagg.Fixed64 {
		return nil, fmt.Errorf("homomorphic sum: there is no ring %d", r)
	}
	if err := checkCounts(addends, holders); err != nil {
		return nil, err
	}
	width, logAddends := 8*r.WordSize(), bits.Len(uint(addends-1))
	for residues := 1; residues <= maxResidues; residues++ {
		for _, hiding := range []int{63 - logAddends, hidingBits} { // more where it costs nothing
			p := &Packing{scheme: s, ring: r, spread: hiding + logAddends}
			logTotal := width + p.spread + logAddends
			if hiding >= hidingBits && logTotal <= 127 && p.fit(addends, holders, residues, logTotal) {
				p.most = wideShift(logTotal)
				return p, nil
			}
		}
	}
	return nil, tooMany(addends, holders)
}

// NewSigned is NewPacking for words in two's complement whose magnitude is at most bound. Their total
// must fit too: addends bound < 2^63.
func (s *Scheme) NewSigned(bound uint64, addends, holders int) (*Packing, error) {
	if err := checkCounts(addends, holders); err != nil {
		return nil, err
	}
	over, most := bits.Mul64(bound, uint64(addends))
	if over != 0 || most >= 1<<63 {
		return nil, fmt.Errorf("homomorphic sum: %d addends of up to %d overflow 64 bits", addends, bound)
	}
	for residues := 1; residues <= maxResidues; residues++ {
		p := &Packing{scheme: s, bound: bound, most: wide{lo: most}}
		if p.fit(addends, holders, residues, bits.Len64(most)+1) {
			return p, nil
		}
	}
	return nil, tooMany(addends, holders)
}

// NewFixed is NewSigned for the words of fixed-point numbers in the encoding f. vector names them in
// errors.
func (s *Scheme) NewFixed(vector string, f secagg.Fixed, addends, holders int) (*Packing, error) {
	if err := f.Check(vector, addends); err != nil {
		return nil, err
	}
	return s.NewSigned(f.Most(), addends, holders)
}

// tooMany says that no flooding is left.
func tooMany(addends, holders int) error {
	return fmt.Errorf("homomorphic sum: %d addends under a key of %d holders leave no room to hide the noise by %d bits",
		addends, holders, MinMargin)
}

// wideShift returns 2^n - 1 for n from 1 to 127.
func wideShift(n int) wide {
	if n <= 64 {
		return wide{lo: ^uint64(0) >> (64 - n)}
	}
	return wide{hi: 1<<(n-64) - 1, lo: ^uint64(0)}
}

// minLogPlain keeps plaintext moduli well above 2 Degree, of which they are 1 modulo.
const minLogPlain = 20

// fit takes the given number of moduli, together above 2^logTotal, if they leave room for flooding.
func (p *Packing) fit(addends, holders, residues, logTotal int) bool {
	logPlain := max(minLogPlain, (logTotal+residues-1)/residues)
	if logPlain > 59 {
		return false
	}
	list := plainPrimes(logPlain, residues)
	p.margin = newMargin(p.scheme, addends, holders, float64(list[residues-1]))
	if p.flood == 0 || p.Margin() < MinMargin {
		return false
	}
	p.product = wide{lo: 1}
	for i, t := range list {
		m := plainModulus{t: t, limit: p.limit(t), residue: make([]uint64, Degree)}
		for j, q := range p.scheme.primes {
			m.up[j], m.down[j] = newMultiplier(inverse(t%q, q), q), newMultiplier(t%q, q)
		}
		for _, earlier := range list[:i] {
			m.garner = append(m.garner, newMultiplier(inverse(earlier%t, t), t))
		}
		p.plain = append(p.plain, m)
		p.product, _ = p.product.times(t, 0)
		p.residues = append(p.residues, make([]uint64, Degree))
	}
	p.integers = make([]wide, Degree)
	return true
}

// Residues returns how many ciphertexts Degree words take.
func (p *Packing) Residues() int { return len(p.plain) }

// Ciphertexts returns how many ciphertexts n words take.
func (p *Packing) Ciphertexts(n int) int { return (n + Degree - 1) / Degree * len(p.plain) }

// Addends returns the most vectors that a total may have.
func (p *Packing) Addends() int { return p.addends }
