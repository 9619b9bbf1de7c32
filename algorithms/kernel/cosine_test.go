package kernel

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"testing"
)

func TestTableIsAccurate(t *testing.T) {
	table := Cosines()
	for k, got := range table.cos {
		want := math.Sqrt2 * math.Cos(2*math.Pi*float64(k)/circle)
		if math.Abs(float64(got)-want) > 0x1p-24*math.Abs(want)+1e-15 {
			t.Fatalf("entry %d is %v, want %v", k, got, want)
		}
	}
}

func TestTableIsSymmetric(t *testing.T) {
	table := Cosines()
	for k := range circle {
		v := table.cos[k]
		if table.cos[(circle-k)%circle] != v || table.cos[(k+circle/2)%circle] != -v {
			t.Fatalf("entry %d breaks a symmetry", k)
		}
	}
	if table.cos[circle/4] != 0 || table.cos[3*circle/4] != 0 {
		t.Error("a right angle has a cosine")
	}
}

// TestTableGolden pins all bits of the table.
func TestTableGolden(t *testing.T) {
	h := fnv.New64a()
	table := Cosines()
	must(t, binary.Write(h, binary.LittleEndian, table.cos[:]))
	if got, want := h.Sum64(), uint64(0x314a1d9b8cc12151); got != want {
		t.Errorf("table hashes to %#x, want %#x", got, want)
	}
}

// TestPairsAreCosineAndSine: of each angle the two that Features64 gives for it and for a quarter of a turn less, and
// their inner product with coefficients.
func TestPairsAreCosineAndSine(t *testing.T) {
	table, turns := Cosines(), randomTurns(1<<12+1)
	cos, less, pairs := make([]float64, len(turns)), slices.Clone(turns), make([]float64, 2*len(turns))
	table.Features64(cos, turns)
	for i := range less {
		less[i] -= 1 << 14
	}
	sin := make([]float64, len(turns))
	table.Features64(sin, less)
	table.Pairs64(pairs, turns)
	alpha, want := randomNumbers(1, len(pairs)), 0.0
	for i, turn := range turns {
		exact := math.Sqrt2 * math.Sin(2*math.Pi*float64(turn)/65536)
		if pairs[2*i] != cos[i] || pairs[2*i+1] != sin[i] || math.Abs(sin[i]-exact) > 1e-7 ||
			math.Abs(Sine(turn)*math.Sqrt2-exact) > 1e-15 {
			t.Fatalf("turn %d has %v, want %v and %v", turn, pairs[2*i:2*i+2], cos[i], exact)
		}
		want += alpha[2*i]*cos[i] + alpha[2*i+1]*sin[i]
	}
	if got := table.DotPairs(turns, alpha); math.Abs(got-want) > 1e-9 {
		t.Errorf("the inner product is %v, want %v", got, want)
	}
}
