package he

import (
	"fmt"
	"math/bits"
)

// flooder drowns what the noise of an opened ciphertext would tell of the secret keys (Mouchet et al.
// 2021, section 5.4): every coefficient of a decryption share gets a secret integer, uniform from
// -2^width up to 2^width - 1. A noise of magnitude n then changes the share's distribution by a
// statistical distance of at most n / 2^(width+1) for each coefficient.
//
// Lattigo's Gaussian sampler cannot do this. It multiplies 31 random bits by the standard deviation,
// so that a wide Gaussian takes few values, far apart, between which the noise can be read off.
type flooder struct {
	random *secretStream
	width  int
	primes [2]uint64
}

// newFlooder refuses a width whose numbers could reach the smallest prime: they would not be the same
// number modulo both.
func newFlooder(random *secretStream, width int, primes [2]uint64) (*flooder, error) {
	if most := maxFlood(primes); width < 1 || width > most {
		return nil, fmt.Errorf("flooding: noise of %d bits, want 1 to %d, below the smallest prime", width, most)
	}
	return &flooder{random: random, width: width, primes: primes}, nil
}

// maxFlood is the largest width that stays below the smallest prime.
func maxFlood(primes [2]uint64) int { return bits.Len64(min(primes[0], primes[1])-1) - 1 }

// add adds one number to each coefficient, the same modulo both primes.
func (f *flooder) add(coefficients [][]uint64) {
	q0, q1 := f.primes[0], f.primes[1]
	a, b := coefficients[0], coefficients[1][:len(coefficients[0])]
	for i := range a {
		v := int64(f.random.bits(f.width+1)) - int64(1)<<f.width
		negative := uint64(v >> 63) // all bits, or none
		a[i] = lower(a[i]+uint64(v)+q0&negative, q0)
		b[i] = lower(b[i]+uint64(v)+q1&negative, q1)
	}
}
