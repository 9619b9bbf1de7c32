package he

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// logRealTotal is the magnitude of the largest total of real numbers in a plaintext: an eighth of the
// half of Q that is positive.
const logRealTotal = 116

// Reals says how real numbers travel in approximate sums: CKKS without multiplications (Cheon et al.
// 2017), a number times the scale in each coefficient. There are no plaintext moduli and no residues,
// so that a vector takes one ciphertext where words take two or three; but noise and flooding stay in
// the total, see Error. Since nothing is ever multiplied, the scale can be as large as the modulus
// allows, and the flooding that hides the noise costs no more than a float64 rounds away.
type Reals struct {
	scheme *Scheme
	margin
	bound    float64
	logScale int
	most     wide // largest magnitude of an opened coefficient
	one      [2]multiplier
}

// NewReals returns the encoding for sums of at most `addends` vectors of magnitude at most bound under the
// collective key of `holders`.
func (s *Scheme) NewReals(bound float64, addends, holders int) (*Reals, error) {
	if err := checkCounts(addends, holders); err != nil {
		return nil, err
	}
	if !(bound >= 0x1p-500 && bound <= 0x1p500) {
		return nil, fmt.Errorf("homomorphic sum: bound of real numbers is %g, want 2^-500 to 2^500", bound)
	}
	r := &Reals{scheme: s, bound: bound,
		margin: margin{addends: addends, holders: holders, noise: noiseBound(addends, holders)}}
	r.flood = int(math.Ceil(math.Log2(r.noise))) + MinMargin
	if r.flood > maxFlood(s.primes) || r.reach() >= math.Ldexp(1, logRealTotal) {
		return nil, tooMany(addends, holders)
	}
	_, logBound := math.Frexp(bound * float64(addends))
	r.logScale = logRealTotal - logBound
	r.most = r.limit(1).plus(wideShift(logRealTotal + 1))
	for i, q := range s.primes {
		r.one[i] = newMultiplier(1, q)
	}
	return r, nil
}

// Error bounds the error of every element of a total: the rounding of the addends, the flooding and
// the noise, and the rounding of the total to a float64.
func (r *Reals) Error() float64 {
	return math.Ldexp(float64(r.addends)/2+r.reach(), -r.logScale) + float64(r.addends)*r.bound*0x1p-52
}

// scaled returns v times the scale, rounded.
func (r *Reals) scaled(v float64) wide {
	fraction, exponent := math.Frexp(v)
	m := int64(math.Ldexp(fraction, 53))
	shift := exponent - 53 + r.logScale
	switch {
	case shift >= 64: // below 2^logRealTotal, hence by less than 64 bits more
		return wide{hi: uint64(m) << (shift - 64)}
	case shift >= 0:
		return wide{hi: uint64(m >> (64 - shift)), lo: uint64(m) << shift}
	case shift > -62:
		m = (m + 1<<(-shift-1)) >> -shift
		return wide{hi: uint64(m >> 63), lo: uint64(m)}
	}
	return wide{}
}

// value undoes scaled.
func (r *Reals) value(x wide) float64 {
	m := x.magnitude()
	v := math.Ldexp(math.Ldexp(float64(m.hi), 64)+float64(m.lo), -r.logScale)
	if x.negative() {
		return -v
	}
	return v
}

// EncryptReals encrypts numbers of magnitude at most the bound, Degree to a ciphertext. Another
// number is a *secagg.RangeError.
func (k *PublicKey) EncryptReals(r *Reals, vector string, values []float64) ([]byte, error) {
	if err := r.check(vector, values); err != nil {
		return nil, err
	}
	out := make([]byte, (len(values)+Degree-1)/Degree*CiphertextSize)
	for first := 0; first < len(values); first += Degree {
		k.encryptReals(r, out[first/Degree*CiphertextSize:], values[first:min(first+Degree, len(values))])
	}
	return out, nil
}

// check refuses what is beyond the bound.
func (r *Reals) check(vector string, values []float64) error {
	for i, v := range values {
		if !(math.Abs(v) <= r.bound) { // also refuses NaN
			return &secagg.RangeError{Vector: vector, Element: i, Value: v, Bound: r.bound}
		}
	}
	return nil
}

// encryptReals encrypts up to Degree numbers that were checked.
func (k *PublicKey) encryptReals(r *Reals, dst []byte, values []float64) {
	k.encryptZero()
	for q, coefficients := range k.zero[0].Coeffs {
		prime := k.scheme.primes[q]
		for i, v := range values {
			coefficients[i] = lower(coefficients[i]+r.scaled(v).mod(prime), prime)
		}
	}
	k.write(dst)
}

// ShareReals is Share for the ciphertexts of real numbers.
func (h *Holder) ShareReals(id uint64, r *Reals, c1 []byte, active []int) ([]byte, error) {
	return h.share(id, &r.margin, c1, active)
}

// Open is Packing.Open for real numbers.
func (r *Reals) Open(values []float64, c0, shares []byte) error {
	polys := (len(values) + Degree - 1) / Degree
	if err := CheckPolys("total", c0, polys); err != nil {
		return err
	}
	if err := CheckPolys("decryption shares", shares, polys); err != nil {
		return err
	}
	for p := range polys {
		x := opened{scheme: r.scheme, c0: c0[p*PolySize:][:PolySize], share: shares[p*PolySize:][:PolySize]}
		for i := range Degree {
			v := x.coefficient(i, &r.one)
			if r.most.less(v.magnitude()) {
				return fmt.Errorf("homomorphic sum: ciphertext of numbers from %d: %w", p*Degree, errGarbled)
			}
			if at := p*Degree + i; at < len(values) {
				values[at] = r.value(v)
			}
		}
	}
	return nil
}

// SumReals adds vectors of real numbers of magnitude at most bound, like SumTurns; at the root v
// becomes their total but for an error of at most RealError. It takes half the bytes of SumFixed with
// many digits, or less. A value that is not finite or beyond the bound is a *secagg.RangeError and
// nothing is sent.
func (s *Sums) SumReals(ctx context.Context, kind string, root int, v []float64, bound float64) error {
	r, err := s.realsFor(bound)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if err := r.check(kind, v); err != nil {
		return err
	}
	return s.sum(ctx, &task{
		kind: kind, root: root, encoding: contract.Float64, size: len(v), residues: 1, margin: &r.margin,
		encrypt: func(dst []byte, first, n int) error {
			s.key.encryptReals(r, dst, v[first:first+n])
			return nil
		},
		open: func(first, n int, c0, shares []byte) ([]byte, error) {
			if err := r.Open(v[first:first+n], c0, shares); err != nil {
				return nil, err
			}
			b := make([]byte, 8*n) // little-endian
			for i, x := range v[first : first+n] {
				binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(x))
			}
			return b, nil
		},
	})
}

// RealError bounds the error of SumReals for vectors of the given bound.
func (s *Sums) RealError(bound float64) (float64, error) {
	r, err := s.realsFor(bound)
	if err != nil {
		return 0, err
	}
	return r.Error(), nil
}

// realsFor returns the encoding for a bound, and keeps the last.
func (s *Sums) realsFor(bound float64) (*Reals, error) {
	if s.reals != nil && s.reals.bound == bound {
		return s.reals, nil
	}
	q := s.session.Parties()
	r, err := s.scheme.NewReals(bound, q, q)
	if err == nil {
		s.reals = r
	}
	return r, err
}
