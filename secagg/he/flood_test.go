package he

import (
	"math"
	"testing"

	"github.com/tuneinsight/lattigo/v5/ring"
	"github.com/tuneinsight/lattigo/v5/utils/sampling"

	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// newTestFlooder makes one for the scheme's primes.
func newTestFlooder(t testing.TB, width int) *flooder {
	t.Helper()
	random, err := newSecretStream()
	must(t, err)
	f, err := newFlooder(random, width, [2]uint64{prime0, prime1})
	must(t, err)
	return f
}

// flooded returns what the flooder adds to zero, modulo both primes.
func flooded(f *flooder) [][]uint64 {
	c := [][]uint64{make([]uint64, Degree), make([]uint64, Degree)}
	f.add(c)
	return c
}

// centred returns the number nearest to zero that is x modulo q.
func centred(x, q uint64) int64 {
	if x > q/2 {
		return -int64(q - x)
	}
	return int64(x)
}

func TestFloodIsTheSameNumberModuloBothPrimesAndInRange(t *testing.T) {
	for _, width := range []int{1, 7, 40, 58, 59} {
		c := flooded(newTestFlooder(t, width))
		small, large := int64(0), int64(0)
		for i := range Degree {
			v := int64(c[0][i])
			if c[0][i] >= 1<<59 { // 2^59 itself is never drawn, so that there is no doubt
				v = -int64(prime0 - c[0][i])
			}
			if c[1][i] != uint64(v+prime1)%prime1 {
				t.Fatalf("width %d: %d modulo one prime, %d modulo the other", width, c[0][i], c[1][i])
			}
			small, large = min(small, v), max(large, v)
		}
		if small < -(1<<width) || large >= 1<<width {
			t.Errorf("width %d: numbers from %d to %d", width, small, large)
		}
		if f := math.Ldexp(0.99, width); width > 7 && (float64(small) > -f || float64(large) < f) {
			t.Errorf("width %d: of %d numbers the smallest is %d, the largest %d", width, Degree, small, large)
		}
	}
}

func TestFloodIsUniform(t *testing.T) {
	f := newTestFlooder(t, 52)
	low, high := make([]int64, 256), make([]int64, 256)
	for range 16 {
		for _, x := range flooded(f)[0] {
			v := centred(x, prime0)
			low[uint8(v)]++
			high[uint8(v>>45)]++
		}
	}
	for name, counts := range map[string][]int64{"lowest": low, "highest": high} {
		if p := drawn.ChiSquareUniform(counts); !(p > 1e-12) {
			t.Errorf("the %s eight bits are uniform with probability %g", name, p)
		}
	}
}

func TestFloodedCoefficientsStayBelowTheirPrimes(t *testing.T) {
	f := newTestFlooder(t, 59)
	c := [][]uint64{make([]uint64, Degree), make([]uint64, Degree)}
	for i := range Degree {
		c[0][i], c[1][i] = prime0-1, prime1-1
	}
	f.add(c)
	for i := range Degree {
		if c[0][i] >= prime0 || c[1][i] >= prime1 {
			t.Fatalf("coefficient %d is %d and %d, not below its primes", i, c[0][i], c[1][i])
		}
	}
}

func TestFlooderRefusesNumbersThatReachThePrimes(t *testing.T) {
	for _, width := range []int{0, 60, 64} {
		_, err := newFlooder(nil, width, [2]uint64{prime0, prime1})
		wantError(t, err, "want 1 to 59, below the smallest prime")
	}
	_, err := newFlooder(nil, 40, [2]uint64{prime0, 1<<40 - 1})
	wantError(t, err, "noise of 40 bits, want 1 to 39")
}

// strips returns the ziggurat's scale for each of its 128 strips, as Lattigo's table has them (Marsaglia
// and Tsang 2000).
func strips() [128]float32 {
	const area = 9.91256303526217e-3
	var w [128]float32
	x := 3.442619855899
	w[0] = float32(area / math.Exp(-x*x/2) / (1 << 31))
	w[127] = float32(x / (1 << 31))
	for i := 126; i >= 1; i-- {
		x = math.Sqrt(-2 * math.Log(area/x+math.Exp(-x*x/2)))
		w[i] = float32(x / (1 << 31))
	}
	return w
}

// readOff looks for a value of the sampler within reach of x, and returns the difference. The
// sampler's values are j w[j mod 128] sigma for numbers j of 31 bits.
func readOff(w *[128]float32, sigma float64, x, reach int64) (noise int64, found bool) {
	sign := int64(1)
	if x < 0 {
		x, sign = -x, -1
	}
	for i := range 128 {
		scale := float64(w[i])
		j := (math.Round((float64(x)/(scale*sigma)-float64(i))/128))*128 + float64(i)
		if v := int64(uint64(j*scale*sigma + 0.5)); x-v <= reach && v-x <= reach {
			return sign * (x - v), true
		}
	}
	return 0, false
}

// TestLatticeGaussianDoesNotHideTheNoise shows why the library's own flooding is not used: with a
// deviation of 2^55, the ciphertext's noise of a few thousand is read off from nearly every
// coefficient. This package's flooding gives nothing away to the same attack.
func TestLatticeGaussianDoesNotHideTheNoise(t *testing.T) {
	const deviation, reach = 1 << 55, 20000
	s, w := newTestScheme(t), strips()
	prng, err := sampling.NewPRNG()
	must(t, err)
	wide, err := ring.NewSampler(prng, s.ring, ring.DiscreteGaussian{Sigma: deviation, Bound: 6 * deviation}, false)
	must(t, err)
	small, err := ring.NewSampler(prng, s.ring, ring.DiscreteGaussian{Sigma: 2700, Bound: reach}, false)
	must(t, err)
	noise, theirs, ours := small.ReadNew(), wide.ReadNew(), flooded(newTestFlooder(t, 56))
	broken, kept := 0, 0
	for i, e := range noise.Coeffs[0] {
		e := centred(e, prime0)
		if got, ok := readOff(&w, deviation, centred(theirs.Coeffs[0][i], prime0)+e, reach); ok && got == e {
			broken++
		}
		if got, ok := readOff(&w, deviation, centred(ours[0][i], prime0)+e, reach); ok && got == e {
			kept++
		}
	}
	t.Logf("read off: %d of %d under the library's flooding, %d under this package's", broken, Degree, kept)
	if broken < Degree*9/10 {
		t.Errorf("the attack read off %d of %d: it is no longer true that the library's flooding fails", broken, Degree)
	}
	if kept > Degree/100 {
		t.Errorf("the attack read off %d of %d under this package's flooding", kept, Degree)
	}
}
