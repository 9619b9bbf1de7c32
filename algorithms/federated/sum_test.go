package federated_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/secagg"
)

// TestSumsFitAndAreAsFineAsTheyCan, as the secure sum that adds them sees it.
func TestSumsFitAndAreAsFineAsTheyCan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Float64Range(1e-9, 1<<25).Draw(t, "bound")
		clients := rapid.IntRange(1, 1<<16).Draw(t, "clients")
		s := federated.Finest("steps", 9, bound, clients)
		if s.Kind != "steps" || s.N != 9 || s.Bound != bound {
			t.Fatalf("the sum is %+v", s)
		}
		if err := (secagg.Fixed{Bits: s.Bits, Bound: bound}).Check(s.Kind, clients); err != nil || !s.Fits(clients) {
			t.Fatalf("%d bits do not fit: %v", s.Bits, err)
		}
		finer := s
		finer.Bits++
		if err := (secagg.Fixed{Bits: finer.Bits, Bound: bound}).Check(s.Kind, clients); s.Bits < 62 &&
			(err == nil || finer.Fits(clients)) {
			t.Fatalf("%d bits after the point, though one more would do", s.Bits)
		}
	})
}

// TestSumsThatFitNowhereHaveNoBits: it is for the sum to refuse them.
func TestSumsThatFitNowhereHaveNoBits(t *testing.T) {
	if s := federated.Finest("steps", 1, 1e18, 100); s.Bits != 0 || s.Fits(100) || !s.Fits(9) {
		t.Errorf("the sum is %+v", s)
	}
	if s := federated.Finest("steps", 1, 1e-9, 1); s.Bits != 62 {
		t.Errorf("the sum is %+v, want 62 bits", s)
	}
}

// TestUploadsHoldAllRounds, none more than its share.
func TestUploadsHoldAllRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds, each := rapid.IntRange(1, 1000).Draw(t, "rounds"), rapid.IntRange(1, 50).Draw(t, "an upload")
		sum := 0
		for u := range federated.Uploads(rounds, each) {
			n := federated.RoundsOf(u, rounds, each)
			if n < 1 || n > each {
				t.Fatalf("upload %d holds %d rounds", u, n)
			}
			sum += n
		}
		if sum != rounds {
			t.Fatalf("the uploads hold %d rounds, want %d", sum, rounds)
		}
	})
}
