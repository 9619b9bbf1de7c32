package kernel

import (
	"math"
	"sync"

	"github.com/hanse-project/hanse/internal/raced"
)

// circle is the number of words in one turn: angles are uint16.
const circle = 1 << 16

// sine is what an angle loses so that its cosine is its sine: a quarter of a turn.
const sine = circle / 4

// Table holds sqrt(2) cos(2 pi k / 65536) for every k. It never changes, and loops over it do not tell the race
// detector that they read it.
type Table struct {
	cos   [circle]float32
	whole [circle][2]int16 // cosine and sine, without the factor, in units of 2^-wholeBits
}

// Cosines returns the table, which is computed once and whose 512 KiB all share. Its symmetries hold to the bit (the
// entries of k and -k are equal, those of k and k + 32768 are opposite), and so do its bits on every machine.
var Cosines = sync.OnceValue(func() *Table {
	const quarter = circle / 4
	t := new(Table)
	for k := range quarter {
		cosine := quarterCosine(k)
		v, whole := float32(math.Sqrt2*cosine), int16(math.RoundToEven(cosine*(1<<wholeBits)))
		t.cos[k] = v
		t.cos[circle/2-k] = -v
		t.cos[circle/2+k] = -v
		t.cos[(circle-k)%circle] = v
		for _, at := range [...]int{k, (circle - k) % circle} {
			opposite := (at + circle/2) % circle
			t.whole[at][0], t.whole[(at+sine)%circle][1] = whole, whole
			t.whole[opposite][0], t.whole[(opposite+sine)%circle][1] = -whole, -whole
		}
	}
	return t
})

// quarterCosine returns cos(2 pi k / 65536) for 0 <= k <= 16384.
func quarterCosine(k int) float64 {
	const eighth = circle / 8
	if k <= eighth {
		// Returns cos x for |x| <= pi/4: the polynomial of k_cos.c in fdlibm.
		x := angle(k)
		z := mul(x, x)
		r := -1.13596475577881948265e-11
		for _, c := range [...]float64{2.08757232129817482790e-09, -2.75573143513906633035e-07,
			2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02} {
			r = mul(r, z) + c
		}
		return 1 - (0.5*z - mul(mul(z, z), r))
	}
	return smallSine(angle(2*eighth - k))
}

// angle returns 2 pi k / 65536.
func angle(k int) float64 { return mul(float64(k), math.Pi/(circle/2)) }

// smallSine returns sin x for |x| <= pi/4: the polynomial of k_sin.c in fdlibm.
func smallSine(x float64) float64 {
	z := mul(x, x)
	r := 1.58969099521155010221e-10
	for _, c := range [...]float64{-2.50507602534068634195e-08, 2.75573137070700676789e-06,
		-1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01} {
		r = mul(r, z) + c
	}
	return x + mul(x, mul(z, r))
}

// Features writes sqrt(2) cos of each angle. dst and turns have the same length.
func (t *Table) Features(dst []float32, turns []uint16) {
	dst = dst[:len(turns):len(dst)]
	for i, a := range turns {
		dst[i] = t.cos[a]
	}
}

// Features64 is Features in float64; the values are those of Features.
//
//go:norace
func (t *Table) Features64(dst []float64, turns []uint16) {
	raced.Write(dst)
	raced.Read(turns)
	dst = dst[:len(turns):len(dst)]
	for i, a := range turns {
		dst[i] = float64(t.cos[a])
	}
}

// Pairs64 writes sqrt(2) cos and sqrt(2) sin of each angle, one behind the other: len(dst) is twice len(turns).
//
//go:norace
func (t *Table) Pairs64(dst []float64, turns []uint16) {
	raced.Write(dst)
	raced.Read(turns)
	dst = dst[: 2*len(turns) : len(dst)]
	for i, a := range turns {
		dst[2*i], dst[2*i+1] = float64(t.cos[a]), float64(t.cos[a-sine])
	}
}

// Cosine returns cos(2 pi turn / 65536), the same bits on every machine.
func Cosine(turn uint16) float64 {
	k := int(turn)
	if k > circle/2 {
		k = circle - k
	}
	if k > circle/4 {
		return -quarterCosine(circle/2 - k)
	}
	return quarterCosine(k)
}

// Sine returns sin(2 pi turn / 65536), the same bits on every machine.
func Sine(turn uint16) float64 { return Cosine(turn - sine) }
