package ofmsft

import (
	"fmt"
	"slices"
)

// Packings are the clusters of a client with a given budget, for every network that it may draw. They
// depend on costs alone, never change and may be shared.
type Packings struct {
	models   []Model
	counts   []int      // m_j
	clusters [][]uint16 // [K][K]: the cluster of network k when j is drawn; K for j itself
}

// NewPackings packs, for every network j, all others into clusters that fit beside it into the budget. A budget
// that does not hold any two networks is refused.
func NewPackings(models []Model, budget float64) (*Packings, error) {
	if n := len(models); n < 1 || n > maxModels {
		return nil, fmt.Errorf("there are %d models, want 1 to %d", n, maxModels)
	}
	if err := checkBudget(models, budget); err != nil {
		return nil, err
	}
	p := &Packings{models: slices.Clone(models)}
	order, packer := decreasing(costs(models)), newPacker(len(models))
	for j := range models {
		place := make([]uint16, len(models))
		place[j] = uint16(len(models))
		packer.clear()
		for _, k := range order {
			if k != j {
				place[k] = uint16(packer.put(models[k].Cost, beside(models[j].Cost, budget)))
			}
		}
		p.clusters = append(p.clusters, place)
		p.counts = append(p.counts, packer.count)
	}
	return p, nil
}

// costs returns the models' costs.
func costs(models []Model) []float64 {
	c := make([]float64, len(models))
	for k, m := range models {
		c[k] = m.Cost
	}
	return c
}

// beside returns what a budget leaves beside a network of the given cost.
func beside(cost, budget float64) float64 { return budget*(1+tolerance) - cost }

// checkBudget refuses a budget that two networks exceed, and names the dearest two. One network needs room
// for itself.
func checkBudget(models []Model, budget float64) error {
	order := decreasing(costs(models))
	first := models[order[0]]
	if len(models) == 1 {
		if !(beside(first.Cost, budget) >= 0) {
			return fmt.Errorf("budget is %v, want at least %v, the cost of model %q", budget, first.Cost, first.Name)
		}
		return nil
	}
	second := models[order[1]]
	if !(second.Cost <= beside(first.Cost, budget)) || !(first.Cost <= beside(second.Cost, budget)) {
		return fmt.Errorf("budget is %v, want at least %v, the costs of models %q and %q together", budget,
			first.Cost+second.Cost, first.Name, second.Name)
	}
	return nil
}

// Clusters returns m_j, the number of clusters when network j is drawn; 0 if there is no other.
func (p *Packings) Clusters(j int) int { return p.counts[j] }

// Store appends the networks to dst, ascending, that a client stores when it draws network j and cluster c.
func (p *Packings) Store(dst []int, j, c int) []int {
	for k, place := range p.clusters[j] {
		if k == j || int(place) == c {
			dst = append(dst, k)
		}
	}
	return dst
}

// Probability returns q_k of equation 7: the probability that network k is stored when network j is drawn with
// probability p[j].
func (p *Packings) Probability(k int, shares []float64) float64 {
	q := shares[k]
	for j, share := range shares {
		if j != k {
			q += share / float64(p.counts[j])
		}
	}
	return q
}

// Need returns the bandwidth of the given networks, e_i.
func (p *Packings) Need(stored []int) float64 {
	sum := 0.0
	for _, k := range stored {
		sum += p.models[k].Bandwidth
	}
	return sum
}

// LargestNeed returns the largest e_i of all draws.
func (p *Packings) LargestNeed() float64 {
	largest := 0.0
	needs := make([]float64, len(p.models))
	for j, m := range p.models {
		clear(needs)
		for k, place := range p.clusters[j] {
			if k != j {
				needs[place] += p.models[k].Bandwidth
			}
		}
		largest = max(largest, m.Bandwidth+slices.Max(needs))
	}
	return largest
}
