package drawn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestUpperTail holds the tail against closed forms: one degree is a squared normal, two are an
// exponential, and for an even number the tail is a Poisson sum.
func TestUpperTail(t *testing.T) {
	poisson := func(x float64, degrees int) float64 {
		term, sum := math.Exp(-x/2), 0.0
		for k := range degrees / 2 {
			sum += term
			term *= x / 2 / float64(k+1)
		}
		return sum
	}
	for _, x := range []float64{0.1, 1, 3.841458820694124, 10, 40} {
		near(t, upperTail(x, 1), math.Erfc(math.Sqrt(x/2)))
		near(t, upperTail(x, 2), math.Exp(-x/2))
		near(t, upperTail(x, 24), poisson(x, 24))
	}
	near(t, upperTail(3.841458820694124, 1), 0.05) // the value in every table
}

// TestUpperTailOfManyDegrees holds the tail of 16-bit words against Wilson and Hilferty's normal
// approximation, which is good to a few parts in a thousand there.
func TestUpperTailOfManyDegrees(t *testing.T) {
	const degrees = 65535
	for _, z := range []float64{-3, 0, 1, 3, 5} {
		x := degrees * math.Pow(1-2.0/(9*degrees)+z*math.Sqrt(2.0/(9*degrees)), 3)
		got, want := upperTail(x, degrees), math.Erfc(z/math.Sqrt2)/2
		if math.Abs(got/want-1) > 5e-3 {
			t.Errorf("tail at %v deviations is %v, want %v", z, got, want)
		}
	}
}

func near(t *testing.T, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12+1e-9*want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestByHand: counts 6 and 14 give (6-10)^2/10 + (14-10)^2/10 = 3.2.
func TestByHand(t *testing.T) {
	near(t, ChiSquareUniform([]int64{6, 14}), math.Erfc(math.Sqrt(1.6)))
	// A two by two table without correction: 40 (10*5 - 10*15)^2 / (20 20 25 15) = 8/3.
	near(t, ChiSquareSame([]int64{10, 10}, []int64{15, 5}), math.Erfc(math.Sqrt(4.0/3)))
	near(t, ChiSquareSame([]int64{10, 0, 10}, []int64{20, 0, 20}), 1)
}

// TestPValuesAreUniform draws many uniform samples: a tenth of the p-values is below a tenth.
func TestPValuesAreUniform(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 2000
	below, same := 0, 0
	for range trials {
		a, b := sample(rng, 600), sample(rng, 900)
		if ChiSquareUniform(a) < 0.1 {
			below++
		}
		if ChiSquareSame(a, b) < 0.1 {
			same++
		}
	}
	for _, n := range []int{below, same} {
		if n < trials/10-60 || n > trials/10+60 { // four and a half deviations
			t.Errorf("%d of %d p-values are below 0.1", n, trials)
		}
	}
}

func sample(rng *rand.Rand, n int) []int64 {
	counts := make([]int64, 16)
	for range n {
		counts[rng.IntN(len(counts))]++
	}
	return counts
}

func TestABiasIsFound(t *testing.T) {
	even, odd := make([]int64, 256), make([]int64, 256)
	for i := range even {
		even[i], odd[i] = 1000, 1000
	}
	odd[17] = 3000
	if p := ChiSquareUniform(odd); !(p < 1e-9) {
		t.Errorf("a cell three times as full has p = %v", p)
	}
	if p := ChiSquareSame(even, odd); !(p < 1e-6) {
		t.Errorf("two sets that differ have p = %v", p)
	}
}

func TestWhatCannotBeToldIsNaN(t *testing.T) {
	for _, counts := range [][]int64{nil, {100}, {4, 5}, {-1, 20}} {
		if p := ChiSquareUniform(counts); !math.IsNaN(p) {
			t.Errorf("%v has p = %v", counts, p)
		}
	}
	enough := []int64{9, 9}
	for _, counts := range [][]int64{nil, {9}, {0, 0}, {1, 0}, {-9, 9}} {
		if p := ChiSquareSame(enough, counts); !math.IsNaN(p) {
			t.Errorf("%v against %v has p = %v", enough, counts, p)
		}
	}
	if p := ChiSquareSame([]int64{9, 0}, []int64{9, 0}); !math.IsNaN(p) {
		t.Errorf("one cell has p = %v", p)
	}
}
