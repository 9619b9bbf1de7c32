package graph

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// dumbTail is the probability that of k drawn from n, m of them marked, at least x are marked.
func dumbTail(n, m, k, x int) *big.Rat {
	ways, all := new(big.Int), new(big.Int).Binomial(int64(n), int64(k))
	for ; x <= min(k, m); x++ {
		if k-x <= n-m && x >= 0 {
			marked := new(big.Int).Binomial(int64(m), int64(x))
			ways.Add(ways, marked.Mul(marked, new(big.Int).Binomial(int64(n-m), int64(k-x))))
		}
	}
	return new(big.Rat).SetFrac(ways, all)
}

// dumbPick tries all degrees and thresholds.
func dumbPick(n, corrupt, dropout int, want targets) (Choice, bool) {
	for k := 2; k < n-1; k += 2 {
		for t := 1; t <= k; t++ {
			if dumbFits(n, corrupt, dropout, k, t, want) {
				return Choice{Degree: k, Threshold: t, Corrupt: 2*t - k - 1}, true
			}
		}
	}
	for t := 1; t <= n-1; t++ {
		if 2*t > n-1+corrupt {
			return Choice{Degree: n - 1, Threshold: t, Complete: true, Corrupt: corrupt}, n-1-dropout >= t
		}
	}
	return Choice{}, false
}

func dumbFits(n, corrupt, dropout, k, t int, want targets) bool {
	// 2t <= k+c is c >= 2t-k; fewer than t answering is at least k-t+1 that do not.
	insecure := union(n, dumbTail(n-1, corrupt, k, 2*t-k))
	lost := union(n, dumbTail(n-1, dropout, k, k-t+1))
	cut := union(n*(n-1)/2, dumbTail(n, min(n, corrupt+dropout), k, k))
	return atMost(insecure, want.secure) && atMost(lost, want.correct) && atMost(cut, want.connected)
}

func union(n int, p *big.Rat) *big.Rat { return new(big.Rat).Mul(big.NewRat(int64(n), 1), p) }

func atMost(p *big.Rat, log2 float64) bool {
	return p.Cmp(new(big.Rat).SetFloat64(math.Exp2(log2))) <= 0
}

func TestTailsAgreeWithExactOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		m, k := rapid.IntRange(0, n).Draw(t, "marked"), rapid.IntRange(0, n).Draw(t, "drawn")
		x := rapid.IntRange(-1, k+1).Draw(t, "at least")
		got, exact := newFactorials(n).tail(n, m, k, x), dumbTail(n, m, k, x)
		if exact.Sign() == 0 {
			if !math.IsInf(got, -1) {
				t.Fatalf("got 2^%v, want 0", got)
			}
			return
		}
		if want := logOf(exact); math.Abs(got-want) > 1e-9 {
			t.Fatalf("got 2^%v, want 2^%v", got, want)
		}
	})
}

// logOf returns log2 of a positive number, however small.
func logOf(p *big.Rat) float64 {
	f := new(big.Float).SetPrec(100).SetRat(p)
	mantissa := new(big.Float)
	exponent := f.MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log2(m) + float64(exponent)
}

// TestPickAgreesWithTryingEverything: targets are no round numbers, so that no probability is a
// target up to rounding.
func TestPickAgreesWithTryingEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 45).Draw(t, "n")
		tolerance := Tolerance{rapid.Float64Range(0, 0.5).Draw(t, "corrupt"), rapid.Float64Range(0, 0.5).Draw(t, "dropout")}
		log := rapid.Float64Range(-45, -3)
		want := targets{log.Draw(t, "secure"), log.Draw(t, "connected"), log.Draw(t, "correct")}
		p := newPicker(n, tolerance, want)
		got, err := p.pick(tolerance, true)
		dumb, ok := dumbPick(n, p.corrupt, p.dropout, want)
		if (err == nil) != ok || ok && got != dumb {
			t.Fatalf("%d parties, %d corrupt, %d dropped: got %+v, error %v, want %+v, %v", n, p.corrupt, p.dropout, got, err, dumb, ok)
		}
	})
}

// TestPickedGraphsMeetTheBounds checks larger choices against exact probabilities, and that two
// neighbours fewer would not do.
func TestPickedGraphsMeetTheBounds(t *testing.T) {
	for _, row := range table {
		if row.n > 300 {
			continue // exact sums take too long
		}
		for i, tolerance := range tolerances {
			c, p := row.want[i], newPicker(row.n, tolerance, paper)
			if !dumbFits(p.n, p.corrupt, p.dropout, c.Degree, c.Threshold, paper) {
				t.Errorf("%d parties, %+v: %+v does not meet the bounds", row.n, tolerance, c)
			}
			for threshold := 1; threshold <= c.Degree-2; threshold++ {
				if dumbFits(p.n, p.corrupt, p.dropout, c.Degree-2, threshold, paper) {
					t.Errorf("%d parties, %+v: degree %d with threshold %d would do", row.n, tolerance, c.Degree-2, threshold)
				}
			}
		}
	}
}
