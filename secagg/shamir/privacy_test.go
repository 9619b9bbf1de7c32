package shamir

import (
	"math/big"
	"testing"
)

// toys are schemes over fields small enough to try every secret and every list of shares.
var toys = []struct {
	p    int64
	n, t int
}{{5, 1, 1}, {5, 2, 1}, {5, 2, 2}, {7, 3, 1}, {7, 3, 2}, {7, 3, 3}, {7, 4, 3}, {7, 4, 4}}

// toyMatrix holds what the dumb oracle publishes for each unit vector of values: publishing is
// linear, as TestToyPublishingIsLinear shows, and a table is quicker than the oracle.
func toyMatrix(p int64, n, threshold int) [][]int64 {
	columns := make([][]int64, n+1)
	for j := range columns {
		values := make([]*big.Int, n+1)
		for i := range values {
			values[i] = new(big.Int)
		}
		values[j].SetInt64(1)
		for _, v := range dumbPublish(p, threshold, values) {
			columns[j] = append(columns[j], v.Int64())
		}
	}
	return columns
}

func toyPublish(p int64, matrix [][]int64, values []int64) []int64 {
	public := make([]int64, len(matrix[0]))
	for j, column := range matrix {
		for i, c := range column {
			public[i] = (public[i] + c*values[j]) % p
		}
	}
	return public
}

// each calls visit with every list of n numbers modulo p.
func each(p int64, n int, visit func(values []int64)) {
	values := make([]int64, n)
	for {
		visit(values)
		i := 0
		for ; i < n && values[i] == p-1; i++ {
			values[i] = 0
		}
		if i == n {
			return
		}
		values[i]++
	}
}

// views counts, for each view of a coalition, the public points and the shares of its holders, how
// often each secret leads to it.
func views(p int64, n, threshold int, coalition uint) map[string][]int {
	matrix, counts := toyMatrix(p, n, threshold), make(map[string][]int)
	each(p, n+1, func(values []int64) {
		view := toyPublish(p, matrix, values)
		for h := 1; h <= n; h++ {
			if coalition>>h&1 == 1 {
				view = append(view, values[h])
			}
		}
		key := viewKey(view)
		if counts[key] == nil {
			counts[key] = make([]int, p)
		}
		counts[key][values[0]]++
	})
	return counts
}

// viewKey writes a view of numbers below ten as digits.
func viewKey(view []int64) string {
	digits := make([]byte, len(view))
	for i, v := range view {
		digits[i] = '0' + byte(v)
	}
	return string(digits)
}

// eachCoalition calls visit with the sets of size holders, as bits 1..n.
func eachCoalition(n, size int, visit func(coalition uint)) {
	for c := uint(0); c < 2<<n; c += 2 {
		members := 0
		for h := 1; h <= n; h++ {
			members += int(c >> h & 1)
		}
		if members == size {
			visit(c)
		}
	}
}

// TestFewerThanTHoldersLearnNothing is exhaustive: every view of any t-1 holders comes from every
// secret, from each for exactly one list of shares.
func TestFewerThanTHoldersLearnNothing(t *testing.T) {
	for _, toy := range toys {
		eachCoalition(toy.n, toy.t-1, func(coalition uint) {
			for view, counts := range views(toy.p, toy.n, toy.t, coalition) {
				for secret, count := range counts {
					if count != 1 {
						t.Fatalf("modulo %d, %d of %d: the holders %b see %s for %d lists of shares with the secret %d, want one", toy.p, toy.t, toy.n, coalition, view, count, secret)
					}
				}
			}
		})
	}
}

// TestTHoldersKnowTheSecret is the control: a view of t holders comes from one secret.
func TestTHoldersKnowTheSecret(t *testing.T) {
	for _, toy := range toys {
		eachCoalition(toy.n, toy.t, func(coalition uint) {
			for view, counts := range views(toy.p, toy.n, toy.t, coalition) {
				secrets := 0
				for _, count := range counts {
					secrets += min(count, 1)
				}
				if secrets != 1 {
					t.Fatalf("modulo %d, %d of %d: the view %s of the holders %b allows %d secrets, want one", toy.p, toy.t, toy.n, view, coalition, secrets)
				}
			}
		})
	}
}

func TestToyPublishingIsLinear(t *testing.T) {
	for _, toy := range toys[:5] {
		matrix := toyMatrix(toy.p, toy.n, toy.t)
		each(toy.p, toy.n+1, func(values []int64) {
			dumb := make([]*big.Int, len(values))
			for i, v := range values {
				dumb[i] = big.NewInt(v)
			}
			for i, want := range dumbPublish(toy.p, toy.t, dumb) {
				if got := toyPublish(toy.p, matrix, values)[i]; got != want.Int64() {
					t.Fatalf("modulo %d, %v: public point %d is %d, want %d", toy.p, values, i, got, want)
				}
			}
		})
	}
}
