package sealed

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/secagg/rss"
)

// ordered computes the order of magnitude of a square, that of a matrix with one entry, under the pads of a tape, and
// returns it with u.
func ordered(t testing.TB, seed string, square float64) (order int, u float64) {
	t.Helper()
	f := newFixture(t, rss.Roles, 10, fdskl.Params{Features: 2, Iterations: 1, Sigma: 1, Lambda: 1e-1})
	pads := newTape(seed)
	entry := uint64(math.Round(math.Ldexp(math.Sqrt(square), gramBits)))
	n := f.computed(t, pads, []uint64{entry}, func(ctx context.Context, tr *trainer, s rss.Share) (rss.Share, error) {
		return tr.assembler.order(ctx, s)
	})[0]
	e := 0.0
	for i := range blindBits {
		bit := uint64(0)
		for name, r := range pads.reels {
			if name.use == useBlind {
				bit ^= r.words[i] & 1
			}
		}
		e += math.Ldexp(float64(bit), -i-1)
	}
	return int(n), math.Exp2(e)
}

// TestOrderOfMagnitude: what opens is how many bits the square of the norm has, times u, whatever it is: from
// nothing to almost all that there is room for, and on both sides of powers of two.
func TestOrderOfMagnitude(t *testing.T) {
	squares := []float64{0, math.Ldexp(1, -20), 0.03, 0.0811, 0.999, 1.02}
	for k := -18; k <= 0; k += 3 {
		squares = append(squares, math.Ldexp(0.9999, k), math.Ldexp(1.0001, k))
	}
	for _, square := range squares {
		for i := range 8 {
			order, u := ordered(t, fmt.Sprint("order ", i), square)
			most := math.Ldexp(u*square*(1+math.Ldexp(1, -boundTolerance)), boundBits) + 2
			lo, hi := bits.Len(uint(most-0.1)), bits.Len(uint(most+1.1)) // the truncations round
			if order < lo || order > hi || order > mostOrder {
				t.Errorf("of %v times %v the order of magnitude is %d, want %d or %d", square, u, order, lo, hi)
			}
			if math.Ldexp(1, order-boundBits) < square {
				t.Errorf("2^%d is no bound of %v", order-boundBits, square)
			}
		}
	}
}

// TestTheOrderIsRoundedAtRandom: of log2 F^2 = k + r it is rounded up with probability r, and u is as uniform as its
// bits: each is 0 in half of all jobs.
func TestTheOrderIsRoundedAtRandom(t *testing.T) {
	const jobs = 400
	for _, r := range []float64{0.15, 0.5, 0.85} {
		up, mean := 0, 0.0
		for i := range jobs {
			order, u := ordered(t, fmt.Sprintf("random %v %d", r, i), math.Exp2(r-6))
			if order > boundBits-5 {
				up++
			}
			mean += math.Log2(u) / jobs
		}
		off := 4 * math.Sqrt(r*(1-r)/jobs)
		if p := float64(up) / jobs; math.Abs(p-r) > off {
			t.Errorf("%.3f of %d jobs round up, want %v within %.3f", p, jobs, r, off)
		}
		if math.Abs(mean-0.5) > 4/math.Sqrt(12*jobs) {
			t.Errorf("the mean of log2 u is %.3f, want a half", mean)
		}
	}
}
