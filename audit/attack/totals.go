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
	Total      []float64 // the one with it
	// Update is what the client's own vector in the former is made of: each block of so many numbers by some factor
	// of its own. Nil when it is not known.
	Update []float64
	Block  int
}

// PairResult is what differences of totals tell of one client's vector.
type PairResult struct {
	Pairs       int
	R2          float64 // median share of a difference that the client's own update explains
	Total       float64 // the same of the total with the client's vector: what that tells without the other
	Guess       float64 // of a difference, with the update of another pair's client
	Still       float64 // the same where nobody's vector moves from one total to the next: must be 1
	Exposed     int     // pairs of which it explains more than nine tenths, and of the total and by a guess not half
	gain, error float64 // mean of the former less the larger of the next two, and its standard error
}

// Gains reports whether differences tell more of a client's update than the total that it is in, and than another's
// update, by more than a share: on average, and by no chance.
func (r *PairResult) Gains(share float64) bool {
	return r.gain > share && r.gain > surelyMore*r.error || r.Exposed > 1 && 100*r.Exposed > r.Pairs
}

// surelyMore is how many standard errors no chance comes to.
const surelyMore = 5

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
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p TotalPair) bool {
		return len(p.Update) == 0 ||
			math.Sqrt(dot(p.Difference, p.Difference)) == 0
	})
	n := len(pairs)
	if n < 2 {
		return nil, nil
	}
	order := newRand(seed, streamGuess).Perm(n)
	own, whole, guessed, still := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	r := &PairResult{Pairs: n}
	for i, k := range order {
		p, other := &pairs[k], &pairs[order[(i+1)%n]]
		if len(p.Update) != len(p.Difference) || len(p.Total) != len(p.Difference) || p.Block < 1 ||
			len(p.Update)%p.Block != 0 {
			return nil, fmt.Errorf("totals: an update of %d numbers in blocks of %d for a total of %d", len(p.Update),
				p.Block, len(p.Difference))
		}
		own[k] = explainedBy(p.Difference, p.Update, p.Block)
		whole[k] = explainedBy(p.Total, p.Update, p.Block)
		if len(other.Update) == len(p.Difference) {
			guessed[k] = explainedBy(p.Difference, other.Update, other.Block)
		}
		still[k] = explainedBy(p.Update, p.Update, p.Block) // what is left of totals of vectors that do not move
		if own[k] > 0.9 && max(guessed[k], whole[k]) < 0.5 {
			r.Exposed++
		}
	}
	for k := range own {
		r.gain += (own[k] - max(whole[k], guessed[k])) / float64(n)
	}
	for k := range own {
		d := own[k] - max(whole[k], guessed[k]) - r.gain
		r.error += d * d / float64(n*(n-1))
	}
	r.error = math.Sqrt(r.error)
	r.R2, r.Total, r.Guess, r.Still = median(own), median(whole), median(guessed), median(still)
	return r, nil
}

// explainedBy returns the share of a vector's square that the blocks of another explain, each by a factor of its own.
func explainedBy(v, by []float64, block int) float64 {
	total, in := dot(v, v), 0.0
	for at := 0; at < len(by); at += block {
		u := by[at : at+block]
		if own := dot(u, u); own > 0 {
			both := dot(u, v[at:at+block])
			in += both * both / own
		}
	}
	if total == 0 {
		return 0
	}
	return in / total
}

// median returns the middle value, 0 of none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
