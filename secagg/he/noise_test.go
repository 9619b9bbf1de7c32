package he

import (
	"math"
	"math/big"
	"testing"

	"github.com/hanse-project/hanse/secagg"
	"github.com/tuneinsight/lattigo/v5/core/rlwe"
)

// ideal returns the secret key that nobody has.
func (k *key) ideal() *rlwe.SecretKey {
	sum := rlwe.NewSecretKey(k.scheme.params)
	for _, h := range k.holders {
		k.scheme.ring.Add(sum.Value.Q, h.secret.Value.Q, sum.Value.Q)
	}
	return sum
}

// noiseOf returns the noise of a sum of fresh encryptions of zero, coefficient by coefficient.
func (k *key) noiseOf(t *testing.T, addends int) []float64 {
	t.Helper()
	r := k.scheme.ring
	sum := rlwe.NewCiphertext(k.scheme.params, 1)
	for range addends {
		k.public.encryptZero()
		r.Add(sum.Value[0], k.public.zero[0], sum.Value[0])
		r.Add(sum.Value[1], k.public.zero[1], sum.Value[1])
	}
	plain := rlwe.NewDecryptor(k.scheme.params, k.ideal()).DecryptNew(sum)
	noise := make([]float64, Degree)
	for i, x := range plain.Value.Coeffs[0] {
		noise[i] = float64(centred(x, prime0))
	}
	return noise
}

func TestNoiseIsAsTheFormulaSays(t *testing.T) {
	for _, c := range []struct{ holders, addends int }{{1, 1}, {3, 3}, {8, 8}, {3, 40}} {
		noise := newKey(t, c.holders, c.holders).noiseOf(t, c.addends)
		square, most := 0.0, 0.0
		for _, e := range noise {
			square, most = square+e*e, max(most, math.Abs(e))
		}
		deviation, want := math.Sqrt(square/Degree), noiseBound(c.addends, c.holders)/noiseTail
		if deviation < 0.85*want || deviation > 1.15*want {
			t.Errorf("%+v: the deviation is %.0f, the formula says %.0f", c, deviation, want)
		}
		if most > noiseBound(c.addends, c.holders)/2 { // seven deviations
			t.Errorf("%+v: the largest noise is %.0f, the bound %.0f", c, most, noiseBound(c.addends, c.holders))
		}
	}
}

// TestEveryPackingIsExactAndHides computes the two conditions in integers for every packing that is
// given out.
func TestEveryPackingIsExactAndHides(t *testing.T) {
	s := newTestScheme(t)
	modulus := new(big.Int).Mul(new(big.Int).SetUint64(prime0), new(big.Int).SetUint64(prime1))
	for _, holders := range []int{1, 2, 3, 5, 8, 16, 32, 64} {
		for _, addends := range []int{1, 2, 3, 8, 16, 33, 64, 300, 2000} {
			for _, ring := range []secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64} {
				p, err := s.NewPacking(ring, addends, holders)
				if err != nil {
					if noiseBound(addends, holders)*0x1p40 < 0x1p58 {
						t.Errorf("%d addends, %d holders: %v", addends, holders, err)
					}
					continue
				}
				checkPacking(t, p, modulus, 8*ring.WordSize())
			}
		}
	}
}

// checkPacking checks one.
func checkPacking(t *testing.T, p *Packing, modulus *big.Int, width int) {
	t.Helper()
	product := big.NewInt(1)
	for _, m := range p.plain {
		product.Mul(product, new(big.Int).SetUint64(m.t))
		reach := new(big.Int).Lsh(big.NewInt(int64(p.holders)), uint(p.flood))
		reach.Add(reach, big.NewInt(int64(p.addends)+int64(p.noise)))
		reach.Mul(reach, new(big.Int).SetUint64(4*m.t))
		if reach.Cmp(modulus) >= 0 {
			t.Errorf("%d addends, %d holders: four times an opened coefficient exceeds Q", p.addends, p.holders)
		}
	}
	total := new(big.Int).Lsh(big.NewInt(int64(p.addends)), uint(width+p.spread))
	if product.Cmp(total) < 0 {
		t.Errorf("%d addends, %d holders: the moduli do not hold the total", p.addends, p.holders)
	}
	if float64(p.spread) < math.Log2(float64(p.addends))+hidingBits || p.spread > 63 {
		t.Errorf("%d addends: %d bits of spread hide no wraps", p.addends, p.spread)
	}
	if p.Margin() < MinMargin || p.flood > 59 {
		t.Errorf("%d addends, %d holders: flooding of %d bits, margin %.1f", p.addends, p.holders, p.flood, p.Margin())
	}
}
