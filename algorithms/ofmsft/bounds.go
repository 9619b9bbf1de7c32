package ofmsft

import (
	"math"
	"slices"
)

// MostClusters returns an upper bound of mu, the paper's largest number of clusters of a client: it has the fewest
// clusters possible where this has those of first fit decreasing, which are at most 11/9 as many and 2/3. A bound
// on regret with this in place of mu holds as well.
func (p *Packings) MostClusters() int { return slices.Max(p.counts) }

// RegretBound bounds a client's expected regret after so many rounds: ln K/eta + eta mu n t, Theorem 1 (equation 12)
// for n = 1 and Theorem 3 (equation 47) for any. It holds for losses from 0 to 1.
func (p Params) RegretBound(packings *Packings, rounds int) float64 {
	spread := p.Rate * float64(packings.MostClusters()) * float64(p.RoundsPerUpload) * float64(rounds)
	return math.Log(float64(len(p.Models)))/p.Rate + spread
}

// TuningBound bounds the server's regret in fine-tuning a network after so many rounds, R/(2 eta_f) +
// eta_f alpha G^2 n t mean(mu), Theorem 1 (equation 13) for n = 1 and Theorem 3 (equation 48) for any. radius is R,
// which no parameters' square norm exceeds, gradient is G, which no gradient's norm exceeds, groups is alpha, and
// there is a packing for each client. It holds for losses that are convex in the parameters, which those of most
// networks are not, and for steps without clip, cap and warm-up over one row each.
func (p Params) TuningBound(packings []*Packings, groups int, radius, gradient float64, rounds int) float64 {
	mu := 0.0
	for _, client := range packings {
		mu += float64(client.MostClusters()) / float64(len(packings))
	}
	return radius/(2*p.Step) + p.Step*float64(groups)*gradient*gradient*float64(p.RoundsPerUpload)*float64(rounds)*mu
}
