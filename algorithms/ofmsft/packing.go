package ofmsft

import (
	"cmp"
	"fmt"
	"slices"
)

// tolerance is how far a capacity may be exceeded, relative to the budget or bandwidth that it comes from:
// 0.1 + 0.2 is more than 0.3 in binary.
const tolerance = 1e-9

// FirstFitDecreasing packs items into clusters whose sizes add up to at most capacity: the largest
// first, each into the first cluster that has room for it, or into a new one. Equal items go by index.
// Clusters hold the items' indices, ascending. It makes at most 11/9 as many clusters as are needed,
// plus 2/3 (Dósa 2007). An item that does not fit by itself is refused.
func FirstFitDecreasing(sizes []float64, capacity float64) ([][]int, error) {
	for i, s := range sizes {
		if !(s >= 0 && s <= capacity) {
			return nil, fmt.Errorf("item %d has size %v, want a number from 0 to the capacity, %v", i+1, s, capacity)
		}
	}
	p := newPacker(len(sizes))
	place := make([]int, len(sizes))
	for _, i := range decreasing(sizes) {
		place[i] = p.put(sizes[i], capacity)
	}
	clusters := make([][]int, p.count)
	for i, j := range place {
		clusters[j] = append(clusters[j], i)
	}
	return clusters, nil
}

// decreasing returns the indices of sizes, the largest first, equal ones by index.
func decreasing(sizes []float64) []int {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	return order
}

// packer finds the first cluster with room in logarithmic time: a tree over the clusters, those not yet open
// included, whose nodes know the lightest load below.
type packer struct {
	count  int       // clusters in use
	leaves int       // a power of two
	loads  []float64 // node n has children 2n and 2n+1; the leaves come last
}

// newPacker makes room for n clusters.
func newPacker(n int) *packer {
	p := &packer{leaves: 1}
	for p.leaves < n {
		p.leaves *= 2
	}
	p.loads = make([]float64, 2*p.leaves)
	return p
}

// put adds an item that fits into an empty cluster, and returns its cluster.
func (p *packer) put(size, capacity float64) int {
	node := 1
	for node < p.leaves {
		node *= 2
		if p.loads[node]+size > capacity {
			node++
		}
	}
	cluster := node - p.leaves
	p.loads[node] += size
	for node /= 2; node > 0; node /= 2 {
		p.loads[node] = min(p.loads[2*node], p.loads[2*node+1])
	}
	p.count = max(p.count, cluster+1)
	return cluster
}

// clear empties all clusters.
func (p *packer) clear() {
	clear(p.loads)
	p.count = 0
}
