package rss

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// orders lists all six.
func orders() []Order {
	return []Order{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
}

// hard returns values in the range of a truncation: its ends, numbers around zero and random ones.
func hard(k, n int, rng *rand.Rand) []int64 {
	end := int64(1) << (k - 2)
	x := []int64{-end, -end + 1, end - 1, end - 2, 0, 1, -1, 2, -2}
	for len(x) < n {
		v := int64(rng.Uint64()) >> (64 - k + 1 + rng.IntN(k-2))
		if v < end && v >= -end {
			x = append(x, v)
		}
	}
	return x
}

// TestTruncateIsTheFloorOrOneMore holds for all widths, shifts and orders, at both ends of the range.
func TestTruncateIsTheFloorOrOneMore(t *testing.T) {
	for _, k := range []int{40, 48, 56, 64} {
		for _, f := range []int{1, 8, 20, 33, k - 4} {
			for _, order := range orders() {
				t.Run(fmt.Sprint(k, f, order), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(k), uint64(f)))
					x := hard(k, 100, rng)
					for i, y := range truncated(t, k, f, order, x, rng) {
						if d := int64(y) - x[i]>>f; d != 0 && d != 1 {
							t.Errorf("%d / 2^%d gives %d, want %d or one more", x[i], f, int64(y), x[i]>>f)
						}
					}
				})
			}
		}
	}
}

// truncated shares out terms of x, truncates their sum, and returns what the components make together.
func truncated(t testing.TB, k, f int, order Order, x []int64, rng *rand.Rand) []uint64 {
	var terms [Roles][]uint64
	for _, v := range x {
		a, b := rng.Uint64(), rng.Uint64()
		terms[0], terms[1], terms[2] = append(terms[0], a), append(terms[1], b), append(terms[2], uint64(v)-a-b)
	}
	var shares [Roles]Share
	play(t, fmt.Sprint(rng.Uint64()), nil, func(ctx context.Context, p *Party) error {
		var term []uint64
		if p.Role() != Outside {
			term = terms[p.Role()]
		}
		s, err := p.Truncate(ctx, "test", k, term, order, Shift{len(x), f})
		if p.Role() != Outside {
			shares[p.Role()] = s
		}
		return err
	})
	return agreed(t, shares)
}

// agreed checks that the parties' components agree pairwise and returns their sum.
func agreed(t testing.TB, shares [Roles]Share) []uint64 {
	t.Helper()
	out := make([]uint64, shares[0].Len())
	for i := range out {
		for r := range Role(Roles) {
			if a, b := shares[r].X[i], shares[(r+2)%Roles].Y[i]; a != b {
				t.Fatalf("component %d of value %d is %#x at the %s and %#x at the %s", (r+1)%Roles, i, a, r, b, (r+2)%Roles)
			}
			out[i] += shares[r].X[i]
		}
	}
	return out
}

// TestTruncateIsRightOnTheMean draws many times, which also holds the parts of a word below the point
// against their uniform distribution.
func TestTruncateIsRightOnTheMean(t *testing.T) {
	const n = 1 << 17
	for _, c := range []struct {
		k, f     int
		fraction int64
		order    Order
	}{
		{64, 20, 0x5a5a5, FirstOrder()}, {64, 1, 1, FirstOrder().Next()}, {48, 33, 0x1_0000_0001, Order{1, 2, 0}},
		{64, 60, 7 << 57, Order{2, 0, 1}}, {48, 8, 1, Order{0, 2, 1}},
	} {
		t.Run(fmt.Sprint(c.k, c.f), func(t *testing.T) {
			x := make([]int64, n)
			for i := range x {
				x[i] = -1<<c.f + c.fraction
			}
			more := 0
			for _, y := range truncated(t, c.k, c.f, c.order, x, rand.New(rand.NewPCG(1, uint64(c.f)))) {
				more += int(int64(y) + 1)
			}
			p := math.Ldexp(float64(c.fraction), -c.f)
			if variance := p * (1 - p) * n; (float64(more)-p*n)*(float64(more)-p*n) > 25*variance {
				t.Errorf("%d of %d values were rounded up, want %.0f", more, n, p*n)
			}
		})
	}
}

// TestLiftsAreExactInAllParts truncates more words of 32 bits than pass at once, in runs whose ends are not those of
// the parts: even numbers by one bit come out as they are, modulo 2^64, and by more bits the floor or one more.
func TestLiftsAreExactInAllParts(t *testing.T) {
	const n = 2*partWords + 7
	runs := []Shift{{partWords - 3, 1}, {2, 7}, {0, 5}, {partWords, 1}, {8, 30}}
	for _, order := range orders() {
		rng := rand.New(rand.NewPCG(32, uint64(order[0])))
		x := hard(32, n, rng)
		for i := range x {
			x[i] &^= 1
		}
		var terms [Roles][]uint64
		for _, v := range x {
			a, b := rng.Uint64(), rng.Uint64()
			terms[0], terms[1], terms[2] = append(terms[0], a), append(terms[1], b), append(terms[2], uint64(v)-a-b)
		}
		var shares [Roles]Share
		play(t, fmt.Sprint("lifts", order), nil, func(ctx context.Context, p *Party) (err error) {
			if p.Role() == Outside {
				_, err = p.Truncate(ctx, "test", 32, nil, order, runs...)
				return err
			}
			shares[p.Role()], err = p.Truncate(ctx, "test", 32, terms[p.Role()], order, runs...)
			return err
		})
		i := 0
		all := agreed(t, shares)
		for _, run := range runs {
			for range run.Count {
				d := int64(all[i]) - x[i]>>run.Bits
				if d != 0 && (run.Bits == 1 || d != 1) {
					t.Fatalf("%v: value %d, %d / 2^%d, comes out as %d", order, i, x[i], run.Bits, int64(all[i]))
				}
				i++
			}
		}
	}
}
