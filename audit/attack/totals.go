package attack

import (
	"fmt"
	"math"
	"slices"
)

// TotalPair is two totals whose members differ by one client.
type TotalPair struct {
	Client     int
	Difference []float64 // the total with the client's vector, less the one without
	// Update spans what the client's own vector in the former is a multiple of, or a sum of multiples: vectors orthogonal to each other.
	// Nil when it is not known.
	Update [][]float64
}

// PairResult is what differences of totals tell of one client's vector.
type PairResult struct {
	Pairs   int
	R2      float64 // median share of a difference that the client's own update explains
	Guess   float64 // the same with the update of another pair's client
	Still   float64 // the same where nobody's vector moves from one total to the next: must be 1
	Exposed int     // pairs of which it explains more than nine tenths, and a guess not half
}

// Members says by which client the members of two totals differ, where that is one, and whether it is in the second.
func Members(a, b []int) (client int, second, ok bool) {
	only := func(in, out []int) []int {
		return slices.DeleteFunc(slices.Clone(in), func(i int) bool { return slices.Contains(out, i) })
	}
	left, right := only(a, b), only(b, a)
	switch {
	case len(left) == 1 && len(right) == 0:
		return left[0], false, true
	case len(left) == 0 && len(right) == 1:
		return right[0], true, true
	}
	return 0, false, false
}

// Differences scores differences of totals against the true updates of the clients that they differ by. Pairs without
// a known update do not count; it returns nil when there are fewer than two others, and an error of a wrong shape.
func Differences(pairs []TotalPair, seed uint64) (*PairResult, error) {
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p TotalPair) bool { return len(p.Update) == 0 || norm(p.Difference) == 0 })
	n := len(pairs)
	if n < 2 {
		return nil, nil
	}
	order := newRand(seed, streamGuess).Perm(n)
	own, guessed, still := make([]float64, n), make([]float64, n), make([]float64, n)
	r := &PairResult{Pairs: n}
	for i, k := range order {
		p, other := &pairs[k], &pairs[order[(i+1)%n]]
		for _, u := range slices.Concat(p.Update, other.Update) {
			if len(u) != len(p.Difference) {
				return nil, fmt.Errorf("totals: an update of %d numbers for a total of %d", len(u), len(p.Difference))
			}
		}
		own[k], guessed[k] = explainedBy(p.Difference, p.Update), explainedBy(p.Difference, other.Update)
		alone := make([]float64, len(p.Difference)) // what is left of totals of vectors that do not move
		for _, u := range p.Update {
			for j, v := range u {
				alone[j] += v
			}
		}
		still[k] = explainedBy(alone, p.Update)
		if own[k] > 0.9 && guessed[k] < 0.5 {
			r.Exposed++
		}
	}
	r.R2, r.Guess, r.Still = median(own), median(guessed), median(still)
	return r, nil
}

// explainedBy returns the share of a vector's square that vectors orthogonal to each other span.
func explainedBy(v []float64, by [][]float64) float64 {
	total, in := dot(v, v), 0.0
	for _, u := range by {
		if own := dot(u, u); own > 0 {
			in += dot(v, u) * dot(v, u) / own
		}
	}
	if total == 0 {
		return 0
	}
	return in / total
}

// norm returns the length of a vector.
func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

// median returns the middle value, 0 of none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
