package secagg

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
)

func TestFixedSum(t *testing.T) {
	l := newTestNetwork(t, 4, 0)
	m := l.masked(t, contract.Tree)
	vectors := make([][]float64, 4)
	l.Must(t, func(i int) error {
		vectors[i] = []float64{0.5 * float64(i), -3.25, 1e-9}
		return m[i].SumFixed(t.Context(), "scores", 2, Fixed{Bits: 36, Bound: 1 << 20}, vectors[i])
	})
	grain := math.RoundToEven(1e-9*(1<<36)) / (1 << 36)
	if got := [3]float64(vectors[2]); got != [3]float64{3, -13, 4 * grain} {
		t.Errorf("the total is %v", got)
	}
	if got := [3]float64(vectors[1]); got != [3]float64{0.5, -3.25, 1e-9} {
		t.Errorf("a party that is not the root has %v afterwards", got)
	}
}

// TestFixedSumsOfAnything: the total is that of the rounded addends, to the last bit, as long as
// it has no more digits than a float64.
func TestFixedSumsOfAnything(t *testing.T) {
	l := newTestNetwork(t, 3, testChunk)
	m := l.masked(t, contract.Tree)
	rapid.Check(t, func(rt *rapid.T) {
		f := Fixed{Bits: rapid.IntRange(0, 30).Draw(rt, "bits"), Bound: 1 << 20}
		n := rapid.IntRange(0, 20).Draw(rt, "length")
		vectors, want := make([][]float64, 3), make([]int64, n)
		for i := range vectors {
			vectors[i] = rapid.SliceOfN(rapid.Float64Range(-f.Bound, f.Bound), n, n).Draw(rt, fmt.Sprint(i))
			for j, v := range vectors[i] {
				want[j] += int64(math.RoundToEven(math.Ldexp(v, f.Bits)))
			}
		}
		l.Must(t, func(i int) error { return m[i].SumFixed(t.Context(), "scores", 0, f, vectors[i]) })
		for j := range want {
			if got := vectors[0][j]; got != math.Ldexp(float64(want[j]), -f.Bits) {
				rt.Fatalf("element %d of the total is %v, want %d / 2^%d", j, got, want[j], f.Bits)
			}
		}
	})
}

// TestWhatDoesNotFitIsNotSent: a vector with a number that is not finite, or too large, is refused
// by element before a frame leaves, and the session stays in step with the other parties'.
func TestWhatDoesNotFitIsNotSent(t *testing.T) {
	l := newTestNetwork(t, 3, 0)
	m := l.masked(t, contract.Ring)
	f := Fixed{Bits: 20, Bound: 8}
	for _, c := range []struct {
		bad  float64
		want string
	}{
		{math.NaN(), "scores: element 2 is NaN, want a finite number of magnitude at most 8"},
		{math.Inf(1), "scores: element 2 is +Inf, want a finite number of magnitude at most 8"},
		{math.Inf(-1), "scores: element 2 is -Inf, want a finite number of magnitude at most 8"},
		{8.000001, "scores: element 2 is 8.000001, want a finite number of magnitude at most 8"},
		{-math.MaxFloat64, "scores: element 2 is -1.7976931348623157e+308, want a finite number of magnitude at most 8"},
	} {
		before, _ := l.Sent(l.IDs[2], l.IDs[1])
		err := m[2].SumFixed(t.Context(), "scores", 0, f, []float64{8, -8, c.bad, 1})
		wantError(t, err, c.want)
		if out := (*RangeError)(nil); !errors.As(err, &out) || out.Element != 2 || out.Vector != "scores" || out.Bound != 8 {
			t.Errorf("%v is no RangeError of element 2", err)
		}
		if after, _ := l.Sent(l.IDs[2], l.IDs[1]); after != before {
			t.Errorf("%v: %d frames were sent", c.bad, after-before)
		}
	}
	v := [3][]float64{{8}, {8}, {8}}
	l.Must(t, func(i int) error { return m[i].SumFixed(t.Context(), "scores", 0, f, v[i]) })
	if v[0][0] != 24 {
		t.Errorf("the next sum is %v, want 24", v[0][0])
	}
}

// TestFixedCheck: an encoding whose total could wrap is refused whatever the vectors hold.
func TestFixedCheck(t *testing.T) {
	for _, c := range []struct {
		f       Fixed
		addends int
		want    string
	}{
		{Fixed{36, 1 << 20}, 64, ""},
		{Fixed{36, 1 << 20}, 128, "scores: 128 addends of up to 1.048576e+06 with 36 bits after the point overflow 64 bits"},
		{Fixed{0, 1<<62 - 512}, 2, ""},
		{Fixed{0, 1 << 62}, 2, "scores: 2 addends of up to 4.611686018427388e+18 with 0 bits after the point overflow 64 bits"},
		// 2^52-0.5 is rounded up as an addend, and 2048 of those are 2^63.
		{Fixed{0, 1<<52 - 0.5}, 2048, "scores: 2048 addends of up to 4.5035996273704955e+15 with 0 bits after the point overflow 64 bits"},
		{Fixed{0, 1<<52 - 1}, 2048, ""},
		{Fixed{62, math.MaxFloat64}, 3, "scores: 3 addends of up to 1.7976931348623157e+308 with 62 bits after the point overflow 64 bits"},
		{Fixed{63, 1}, 3, "scores: encoding with 63 bits and bound 1: want 0 to 62 bits and a positive bound"},
		{Fixed{-1, 1}, 3, "scores: encoding with -1 bits and bound 1: want 0 to 62 bits and a positive bound"},
		{Fixed{8, 0}, 3, "scores: encoding with 8 bits and bound 0: want 0 to 62 bits and a positive bound"},
		{Fixed{8, math.NaN()}, 3, "scores: encoding with 8 bits and bound NaN: want 0 to 62 bits and a positive bound"},
		{Fixed{8, math.Inf(1)}, 3, "scores: encoding with 8 bits and bound +Inf: want 0 to 62 bits and a positive bound"},
	} {
		if got := text(c.f.Check("scores", c.addends)); got != c.want {
			t.Errorf("%+v, %d addends: error is %q, want %q", c.f, c.addends, got, c.want)
		}
	}
}

// TestLargestTotalsDoNotWrap sums the largest addends that an encoding allows, of either sign.
func TestLargestTotalsDoNotWrap(t *testing.T) {
	l := newTestNetwork(t, 3, 0)
	m := l.masked(t, contract.Tree)
	f := Fixed{Bits: 41, Bound: 1 << 20}
	for _, v := range []float64{f.Bound, -f.Bound} {
		vectors := [3][]float64{{v}, {v}, {v}}
		l.Must(t, func(i int) error { return m[i].SumFixed(t.Context(), "scores", 1, f, vectors[i]) })
		if vectors[1][0] != 3*v {
			t.Errorf("the total of three times %v is %v", v, vectors[1][0])
		}
	}
}

// TestPublishedSum: sums in the clear are of float64, and a total that is not finite is refused.
func TestPublishedSum(t *testing.T) {
	l := newTestNetwork(t, 3, testChunk)
	sum := func(bad float64) ([][]float64, []error) {
		v := make([][]float64, 3)
		return v, l.Each(func(i int) error {
			v[i] = []float64{float64(i), 0.25, 0, bad}
			return SumPublished(t.Context(), l.sessions[i], "values", contract.PlanFor(contract.Tree, 3, 0), v[i])
		})
	}
	v, errs := sum(1)
	if err := errors.Join(errs...); err != nil || [4]float64(v[0]) != [4]float64{3, 0.75, 0, 3} {
		t.Errorf("the total is %v, error %v", v[0], err)
	}
	_, errs = sum(math.Inf(1))
	wantError(t, errs[0], "values: the total's element 3 is +Inf, so a party sent a number that is not finite")
}
