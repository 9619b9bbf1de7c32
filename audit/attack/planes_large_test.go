//go:build !race

package attack

import (
	"math/rand/v2"
	"testing"
)

// leak is a way in which one list of bytes tells of another that has the same masks: by how much it differs.
type leak struct {
	name string
	by   func(rng *rand.Rand, strength float64) uint8
}

// leaks are differences that are broad, narrow where some words share their mask, of two or three values, or in every
// second sixteenth of the circle, as those of packed numbers are that have a bit 0 between them.
var leaks = []leak{
	{"broad", func(rng *rand.Rand, s float64) uint8 { return uint8(int(rng.NormFloat64() * 40 / s)) }},
	{"shared by some", func(rng *rand.Rand, s float64) uint8 {
		if rng.Float64() < s {
			return uint8(rng.IntN(32) - 16)
		}
		return uint8(rng.Uint32())
	}},
	{"one side of the circle", func(rng *rand.Rand, s float64) uint8 {
		if rng.Float64() < s {
			return uint8(rng.IntN(128))
		}
		return uint8(rng.Uint32())
	}},
	{"two values", func(rng *rand.Rand, s float64) uint8 {
		if rng.Float64() < s {
			return uint8(128*rng.IntN(2) + rng.IntN(16))
		}
		return uint8(rng.Uint32())
	}},
	{"three values", func(rng *rand.Rand, s float64) uint8 {
		if rng.Float64() < s {
			return uint8(85 * rng.IntN(3))
		}
		return uint8(rng.Uint32())
	}},
	{"every second sixteenth", func(rng *rand.Rand, s float64) uint8 {
		if rng.Float64() < s {
			return uint8(rng.Uint32()) &^ 0x10
		}
		return uint8(rng.Uint32())
	}},
}

// byBytes returns chi-square of the differences of bytes in sixteen bins.
func byBytes(a, b []uint8) float64 {
	counts, _ := relate(a, b)
	x, expected := 0.0, float64(len(a))/reuseBins
	for _, c := range counts {
		x += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	return x
}

// atTheEdge is what bytes must come to for a pair to be reported: p = 1e-16 with fifteen degrees of freedom.
const atTheEdge = 110

// TestLargeSamplesShowInFirstBitsWhatBytesFind plants leaks that the bytes find about every second time, at the
// fewest words that are compared, at a sample's and at a payload's: the bits let all of those pass.
func TestLargeSamplesShowInFirstBitsWhatBytesFind(t *testing.T) {
	for _, words := range []int{leastWords, sampleSize, maxSample} {
		for _, l := range leaks {
			rng := rand.New(rand.NewPCG(uint64(words), 1))
			strength := edgeOf(rng, l, words)
			found, missed := 0, 0
			for range 600 {
				a, b := pairOf(rng, l, words, strength)
				if byBytes(a, b) < atTheEdge {
					continue
				}
				found++
				if !uneven(planes(a, false), planes(b, false), words) {
					missed++
				}
			}
			if found < 60 && strength < 1 { // of some, 80 words never show so much
				t.Errorf("%s, %d words, strength %.3f: the bytes find %d of 600, want about half", l.name, words, strength, found)
			}
			if missed > 0 {
				t.Errorf("%s, %d words: the bits miss %d of the %d pairs that the bytes find", l.name, words, missed, found)
			}
		}
	}
}

// pairOf makes two lists of bytes under the same masks.
func pairOf(rng *rand.Rand, l leak, words int, strength float64) (a, b []uint8) {
	a, b = make([]uint8, words), make([]uint8, words)
	for i := range b {
		b[i] = uint8(rng.Uint32())
		a[i] = b[i] + l.by(rng, strength)
	}
	return a, b
}

// edgeOf looks for the strength of a leak at which bytes come to the edge.
func edgeOf(rng *rand.Rand, l leak, words int) float64 {
	low, high := 0.0, 1.0
	for range 20 {
		middle, sum := (low+high)/2, 0.0
		for range 10 {
			a, b := pairOf(rng, l, words, middle)
			sum += byBytes(a, b) / 10
		}
		if sum < atTheEdge {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
