package contract

import (
	"fmt"
	"slices"
)

// Topology is the shape along which the vectors of a sum travel to its root. The FDSKL paper
// (section 2.3.1, "Tree-Structured Communication") compares the three.
type Topology int

// The topologies. With q parties, hops are counted along the longest way to the root, rounds as
// in a network where every party takes in one vector at a time:
//
//	       hops            rounds          vectors the root takes in
//	Tree   floor(log2 q)   ceil(log2 q)    ceil(log2 q)
//	Star   1               q-1             q-1
//	Ring   q-1             q-1             1
const (
	Tree Topology = iota // binomial tree; the default
	Star                 // everybody sends to the root
	Ring                 // a chain that ends at the root
)

// ParseTopology reads a topology's name.
func ParseTopology(s string) (Topology, error) {
	for _, t := range []Topology{Tree, Star, Ring} {
		if s == t.String() {
			return t, nil
		}
	}
	return 0, fmt.Errorf("topology is %q, want \"tree\", \"star\" or \"ring\"", s)
}

// String returns the topology's name: "tree", "star" or "ring".
func (t Topology) String() string {
	switch t {
	case Tree:
		return "tree"
	case Star:
		return "star"
	case Ring:
		return "ring"
	}
	return fmt.Sprintf("topology %d", int(t))
}

// parent returns the position to which position k > 0 of an order sends its sum. In the binomial
// tree that is k without its lowest bit: position k adds k+1, k+2, k+4, ... and, once it has
// added k+2^s, holds the sum of the positions from k to k+2^(s+1)-1.
func (t Topology) parent(k int) int {
	switch t {
	case Tree:
		return k & (k - 1)
	case Star:
		return 0
	case Ring:
		return k - 1
	}
	panic(fmt.Sprintf("protocol: %v", t))
}

// Plan is a topology laid on parties: who adds whose vector, and in which order. The indices are
// those of the session's parties. A plan need not contain all of them; see Has.
type Plan struct {
	Root     int
	Parent   []int   // by party; -1 at the root and for a party that is not in the plan
	Children [][]int // by party, in the order in which their vectors are added
}

// NewPlan lays a topology on an order of parties, order[0] being the root. It panics when order
// is empty or names a negative or repeated party, since that is never an input.
func NewPlan(t Topology, order []int) Plan {
	return newPlan(t, order, slices.Max(order)+1)
}

// PlanFor lays a topology on the parties 0 to q-1: the root comes first, the others follow by index.
// It panics when root is none of them.
func PlanFor(t Topology, q, root int) Plan {
	return newPlan(t, orderOf(q, root), q)
}

// PlanAmong lays a topology on a root and some of the parties 0 to q-1: the root comes first, the others follow by
// index. Among all parties it is PlanFor.
func PlanAmong(t Topology, q, root int, members []int) Plan {
	order := []int{root}
	for _, i := range slices.Sorted(slices.Values(members)) {
		if i != root {
			order = append(order, i)
		}
	}
	return newPlan(t, order, q)
}

// newPlan is NewPlan for a session of q parties, some of which may be missing from the order.
func newPlan(t Topology, order []int, q int) Plan {
	if order[0] < 0 || order[0] >= q {
		panic(fmt.Sprintf("protocol: party %d is no root for parties 0 to %d", order[0], q-1))
	}
	p := Plan{Root: order[0], Parent: slices.Repeat([]int{-1}, q), Children: make([][]int, q)}
	for k := 1; k < len(order); k++ {
		child, parent := order[k], order[t.parent(k)]
		if p.Has(child) {
			panic(fmt.Sprintf("protocol: party %d stands twice in the order %v", child, order))
		}
		p.Parent[child] = parent
		p.Children[parent] = append(p.Children[parent], child)
	}
	return p
}

// orderOf lists first, in their order, and then the rest of the parties 0 to q-1.
func orderOf(q int, first ...int) []int {
	order := slices.Clone(first)
	for i := range q {
		if !slices.Contains(first, i) {
			order = append(order, i)
		}
	}
	return order
}

// Has reports whether party i is in the plan.
func (p Plan) Has(i int) bool {
	return i == p.Root || i >= 0 && i < len(p.Parent) && p.Parent[i] >= 0
}

// Depth returns the number of hops one after the other that the farthest vector makes on its way
// to the root. A sum of one chunk takes Depth times the one-way delay; for the tree of q parties
// that is floor(log2 q), at most the ceil(log2 q) that the paper's synchronous rounds take.
func (p Plan) Depth() int { return p.depth(p.Root) }

// Below returns the number of hops from the farthest party of party i's subtree to it.
func (p Plan) Below(i int) int { return p.depth(i) }

// depth returns the height of the subtree of party i.
func (p Plan) depth(i int) int {
	deepest := 0
	for _, child := range p.Children[i] {
		deepest = max(deepest, 1+p.depth(child))
	}
	return deepest
}

// Rounds returns the number of synchronous rounds a sum takes when every party takes in one vector
// in a round, as the paper counts: ceil(log2 q) for the tree of q parties.
func (p Plan) Rounds() int { return p.rounds(p.Root) }

// rounds returns the round in which party i has the sum of its subtree.
func (p Plan) rounds(i int) int {
	done := 0
	for _, child := range p.Children[i] {
		done = 1 + max(done, p.rounds(child))
	}
	return done
}
