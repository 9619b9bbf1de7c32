package attack

import (
	"fmt"
	"math"
	"slices"
)

// Choices is what a server saw of which models each client took or moved, and how well they really suit it.
type Choices struct {
	Seen  [][]float64 // [client][model]: how often, in all rounds
	Suits [][]float64 // [client][model]: the larger the better
	Seed  uint64
}

// ChoiceResult is how well what was seen foretells what suits a client.
type ChoiceResult struct {
	Clients int
	Best    float64 // share of the clients whose best model is the one that was seen most; ties count in part
	Guess   float64 // the same with what was seen of the other clients
	P       float64 // share of the shuffles of clients that do as well; at least 1/1001
	Rank    float64 // mean correlation, over clients, of the ranks of what was seen and what suits
	Likely  float64 // the same with what was seen of the other clients
	RankP   float64 // as P, of Rank
}

// Infer says how well a client's best model, and the order of all, follow from what was seen. Clients shuffled are the
// guess: it has what is the same for all clients, and nothing of a single one. An error names a wrong shape.
func (c *Choices) Infer() (*ChoiceResult, error) {
	n := len(c.Seen)
	if n < 2 || len(c.Suits) != n {
		return nil, fmt.Errorf("choices: %d clients, of %d of whom it is known what suits them: want two or more, and as "+
			"many", n, len(c.Suits))
	}
	for i := range n {
		if m := len(c.Seen[0]); m < 2 || len(c.Seen[i]) != m || len(c.Suits[i]) != m {
			return nil, fmt.Errorf("choices: client %d has %d models seen and %d that suit it, want %d of both, two or more",
				i, len(c.Seen[i]), len(c.Suits[i]), m)
		}
		if k := max(notFinite(c.Seen[i]), notFinite(c.Suits[i])); k >= 0 {
			return nil, fmt.Errorf("choices: what is known of client %d and model %d is no finite number", i, k)
		}
	}
	best, rank := make([][]float64, n), make([][]float64, n) // [seen of][suits]
	for i := range n {
		seen := newVariable(c.Seen[i])
		for j := range n {
			best[i] = append(best[i], hit(c.Seen[i], c.Suits[j]))
			rank[i] = append(rank[i], dot(seen.ranked, newVariable(c.Suits[j]).ranked))
		}
	}
	r := &ChoiceResult{Clients: n}
	for i := range n {
		r.Best += best[i][i] / float64(n)
		r.Rank += rank[i][i] / float64(n)
		for j := range n {
			if i != j {
				r.Guess += best[i][j] / float64(n*(n-1))
				r.Likely += rank[i][j] / float64(n*(n-1))
			}
		}
	}
	rng := newRand(c.Seed, streamPermutation)
	above, higher := 0, 0
	for range permutations {
		order := rng.Perm(n)
		hits, ranks := 0.0, 0.0
		for i, j := range order {
			hits += best[i][j] / float64(n)
			ranks += rank[i][j] / float64(n)
		}
		if hits >= r.Best-1e-12 {
			above++
		}
		if ranks >= r.Rank-1e-12 {
			higher++
		}
	}
	r.P, r.RankP = float64(1+above)/(1+permutations), float64(1+higher)/(1+permutations)
	return r, nil
}

// hit returns the chance that a model drawn among those seen most is one that suits best.
func hit(seen, suits []float64) float64 {
	most, best, ties, right := slices.Max(seen), slices.Max(suits), 0, 0
	for k, v := range seen {
		if v == most {
			ties++
			if suits[k] == best {
				right++
			}
		}
	}
	return float64(right) / float64(max(ties, 1))
}

// Interval is a share or an area with the bounds that it lies between in 99 of 100 cases.
type Interval struct{ Value, Low, High float64 }

// normal99 is how many standard deviations that is, to both sides.
const normal99 = 2.576

// area returns the area under the curve: the chance that a member's score is above another's, with its interval by
// Hanley and McNeil 1982, equation 2.
func area(members, others []float64) Interval {
	scores := slices.Concat(members, others)
	classes := make([]float64, len(scores))
	for i := range members {
		classes[i] = 1
	}
	a := 0.5
	if len(members) > 0 && len(others) > 0 {
		a = auc(newVariable(scores), newVariable(classes))
	}
	m, o := float64(max(len(members), 1)), float64(max(len(others), 1))
	q1, q2 := a/(2-a), 2*a*a/(1+a)
	sd := math.Sqrt(max(0, (a*(1-a)+(m-1)*(q1-a*a)+(o-1)*(q2-a*a))/(m*o)))
	return Interval{a, max(0, a-normal99*sd), min(1, a+normal99*sd)}
}
