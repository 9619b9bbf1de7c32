package he

import (
	"fmt"
	"math/big"

	"github.com/tuneinsight/lattigo/v5/core/rlwe"
	"github.com/tuneinsight/lattigo/v5/ring"
)

// The scheme's sizes. They are part of the wire format.
const (
	logDegree = 13
	// Degree is the number of coefficients of a polynomial, and so of values in a plaintext.
	Degree = 1 << logDegree
	// PolySize is the bytes of a polynomial on the wire: Degree words of 8 bytes for each of two primes.
	PolySize = 2 * Degree * 8
	// CiphertextSize is the bytes of a ciphertext on the wire: its polynomials c0 and c1.
	CiphertextSize = 2 * PolySize
)

// The two primes of the ciphertext modulus: the largest below 2^60 that are 1 modulo 2 Degree.
const (
	prime0 = 0xfffffffffffc001
	prime1 = 0xffffffffffe8001
)

// sigma is the standard deviation of the small errors, cut off at six of them.
const sigma = 3.2

// maxLogModulus says how many bits the modulus may have, by the ring's degree, for 128 bits of security
// against classical attacks with ternary secrets: Homomorphic Encryption Standard (Albrecht et al. 2018,
// version 1.1), Table 1, the rows of 128 bits for secrets from (-1, 1).
func maxLogModulus(logDegree int) (bits int, ok bool) {
	bits, ok = map[int]int{10: 27, 11: 54, 12: 109, 13: 218, 14: 438, 15: 881}[logDegree]
	return bits, ok
}

// Scheme is the ring and its constants. It holds no secret and may be shared.
type Scheme struct {
	params    rlwe.Parameters
	ring      *ring.Ring
	primes    [2]uint64
	crt       multiplier // multiplies by the inverse of the first prime modulo the second
	modulus   wide       // the product of the primes
	half      wide
	logModule int
	allowed   int
}

// NewScheme returns the scheme, whose parameters it checks against the table of secure ones.
func NewScheme() (*Scheme, error) { return newScheme(logDegree, [2]uint64{prime0, prime1}) }

// newScheme is NewScheme for a given ring.
func newScheme(logDegree int, primes [2]uint64) (*Scheme, error) {
	modulus := new(big.Int).Mul(new(big.Int).SetUint64(primes[0]), new(big.Int).SetUint64(primes[1]))
	allowed, ok := maxLogModulus(logDegree)
	if !ok {
		return nil, fmt.Errorf("homomorphic scheme: the table of secure parameters has no ring of degree 2^%d", logDegree)
	}
	if modulus.BitLen() > allowed {
		return nil, fmt.Errorf("homomorphic scheme: a modulus of %d bits over a ring of degree 2^%d is "+
			"under 128 bits of security, "+
			"want at most %d bits", modulus.BitLen(), logDegree, allowed)
	}
	params, err := rlwe.NewParametersFromLiteral(rlwe.ParametersLiteral{
		LogN: logDegree, Q: primes[:], Xs: ring.Ternary{P: 2.0 / 3},
		Xe: ring.DiscreteGaussian{Sigma: sigma, Bound: 6 * sigma},
	})
	if err != nil {
		return nil, fmt.Errorf("homomorphic scheme: %w", err)
	}
	s := &Scheme{params: params, ring: params.RingQ(), primes: primes, logModule: modulus.BitLen(), allowed: allowed}
	s.crt = newMultiplier(inverse(primes[0], primes[1]), primes[1])
	s.modulus = wideOf(modulus)
	s.half = wideOf(modulus.Rsh(modulus, 1))
	return s, nil
}

// Level says in a sentence how hard the scheme is to break, for a job's summary.
func (s *Scheme) Level() string {
	return fmt.Sprintf("at least 128 bits of security: a modulus of %d bits over a ring of degree %d "+
		"with ternary secrets, where the Homomorphic Encryption Standard allows %d bits",
		s.logModule, s.params.N(), s.allowed)
}
