package sealed

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
)

// The toy of dropped bits: words of three bits, of which two stay.
const toyFrom, toyTo = 3, 2

// TestToyDropsAreDithered goes through all factors, all values and all pads: what comes is floor(x / 2) or one more,
// with mean (x + g) / 2, where g is the largest power of two that divides both factors and 2.
func TestToyDropsAreDithered(t *testing.T) {
	const words, low = 1 << toyFrom, 1 << (toyFrom - toyTo)
	for c := range uint64(words) {
		for s := range uint64(words) {
			g := uint64(low)
			for g > 1 && (c%g != 0 || s%g != 0) {
				g /= 2
			}
			for x := range uint64(words) {
				up, all, reached := uint64(0), uint64(0), x%min(g, low) == 0
				for first := range uint64(words) {
					for second := range uint64(words) {
						p := (first*c + second*s) % words
						got := (upper(p, toyFrom, toyTo) + upper(x-p, toyFrom, toyTo) + 1) % (words / low)
						switch {
						case got == (x/low+1)%(words/low):
							up++
						case got != x/low:
							t.Fatalf("x = %d under the pad %d comes to %d", x, p, got)
						}
						all++
					}
				}
				// x is a sum of multiples of the factors, too: of a multiple of g.
				if want := (x%low + g) * all; reached && up*low != want {
					t.Errorf("factors %d and %d: %d is rounded up by %d of %d pads, want %d", c, s, x, up, all, want/low)
				}
			}
		}
	}
}

// TestToyViewsOfDropsAreAlike: whoever has the factors less the others' pads, and what came of the other's features
// under pads, has seen each combination as often, whatever the angle's cosine and sine are. Without a pad of the
// features it could tell them apart.
func TestToyViewsOfDropsAreAlike(t *testing.T) {
	const words, few = 1 << toyFrom, 1 << toyTo
	views := func(a, b, c, s uint64, padded bool) (count [words * words * few * few]int) {
		for first := range uint64(words) {
			for second := range uint64(words) {
				for one := range uint64(few) {
					for two := range uint64(few) {
						u := upper(first*c+second*s, toyFrom, toyTo)
						w := upper(second*c-first*s, toyFrom, toyTo)
						if padded {
							u, w = (u-one)%few, (w-two)%few
						}
						at := ((a-first)%words*words+(b-second)%words)*few*few + u*few + w
						count[at]++
					}
				}
			}
		}
		return count
	}
	for c := range uint64(words) {
		for s := range uint64(words) {
			want, bare, differ := views(0, 0, c, s, true), views(0, 0, c, s, false), false
			for a := range uint64(words) {
				for b := range uint64(words) {
					if views(a, b, c, s, true) != want {
						t.Fatalf("factors %d and %d: cosine %d and sine %d give other views", c, s, a, b)
					}
					differ = differ || views(a, b, c, s, false) != bare
				}
			}
			if reads := upper(c, toyFrom, toyTo) != 0 || upper(s, toyFrom, toyTo) != 0; reads && !differ {
				t.Errorf("factors %d and %d: without pads the views tell nothing", c, s)
			}
		}
	}
}

// TestDropsOfRealWords rounds real products: the mean is right within five deviations.
func TestDropsOfRealWords(t *testing.T) {
	const draws = 1 << 17
	rng, table := rand.New(rand.NewChaCha8([32]byte{7})), turnTableOf(12)
	for _, turns := range [][2]uint16{{1, 2}, {100, 40000}, {16384, 16384}, {7777, 65535}, {0, 0}, {31000, 500}} {
		a, b := table.at(turns[0])
		c, s := table.at(turns[1])
		x, g := int64(a*c+b*s), uint64(1)
		for g < 1<<16 && (c|s)%(2*g) == 0 {
			g *= 2
		}
		sum := 0.0
		for range draws {
			p := rng.Uint64()*c + rng.Uint64()*s
			words := []uint64{p}
			drop(1, words) // the keeper
			other := []uint64{uint64(x) - p}
			drop(2, other) // the helper
			f := int64(int32(words[0] + other[0]))
			if low := x >> 16; f != low && f != low+1 {
				t.Fatalf("%v: %d comes to %d", turns, x, f)
			}
			sum += float64(f)
		}
		want := math.Ldexp(float64(x)+float64(g), -16)
		if d := math.Abs(sum/draws - want); d > 5*0.5/math.Sqrt(draws) {
			t.Errorf("%v: the mean is off by %v", turns, d)
		}
	}
}

// TestWindowsEnd where one more block would be too much for a part.
func TestWindowsEnd(t *testing.T) {
	cosines, bins := fdskl.Params{}, binned(fdskl.Params{})
	got := [...]int{gramRows(cosines), labelRows(cosines), derivativeRows(cosines), gramRows(bins), derivativeRows(bins),
		slopeRows()}
	if want := [...]int{8128, 4080, 7942, 1<<29 - 1, 501, 1950}; got != want {
		t.Errorf("windows of %d rows, want %d", got, want)
	}
	half := func(rows int) int { return rows / 2 }
	for _, c := range []struct {
		rows, block, most int
		of                func(rows int) int
		want              []int
	}{
		{100, 10, 30, nil, []int{30, 60, 90, 100}}, {100, 10, 39, nil, []int{30, 60, 90, 100}},
		{100, 10, 15, half, []int{30, 60, 90, 100}}, {5, 10, 3, nil, []int{5}}, {90, 30, 30, nil, []int{30, 60, 90}},
	} {
		got := windowEnds(0, c.rows, c.block, c.most, c.of)
		for i := range max(len(got), len(c.want)) {
			if len(got) != len(c.want) || got[i] != c.want[i] {
				t.Fatalf("%d rows, blocks of %d, at most %d: windows end at %v", c.rows, c.block, c.most, got)
			}
		}
		for row := range c.rows {
			if at := windowOf(got, row); got[at] <= row || at > 0 && got[at-1] > row {
				t.Fatalf("row %d is in window %d of %v", row, at, got)
			}
		}
	}
}

// TestDiffusedLabelsAddUp: to nothing, whatever they are, and each is rounded to a neighbour.
func TestDiffusedLabelsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 7, 1000, 36_632} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(2*rng.IntN(2) - 1)
		}
		mean, words := diffused(values, smallBits)
		var sum int64
		for i, w := range words {
			sum += int64(w)
			if d := math.Abs(float64(int64(w)) - 256*(values[i]-mean)); d > 1.001 {
				t.Fatalf("value %d of %d is off by %v", i, n, d)
			}
		}
		if sum != 0 {
			t.Errorf("%d labels add up to %d", n, sum)
		}
	}
}
