package graph

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Graph says who is masked against whom: every party has the same number of neighbours.
type Graph struct {
	circle []int       // the parties around the circle
	place  map[int]int // of each party on the circle
	half   int         // how many next and how many previous ones are neighbours
}

// New puts the parties on a circle in random order and makes each the neighbour of the degree/2
// next and the degree/2 previous ones. The graph depends on the seed, the set of parties and the
// degree alone, so that everybody who knows them makes the same one. A degree of len(parties)-1 or
// more makes everybody the neighbour of everybody else; an odd one below is raised by one. The
// seed is public, and nobody may know it before the parties are fixed.
func New(seed [32]byte, parties []int, degree int) *Graph { return On(Circle(seed, parties), degree) }

// Circle returns the parties in random order, which depends on the seed and their set alone.
//
// The shuffle is that of Fisher and Yates, from the last place down. It is written out, and not taken
// from a library, because all parties must agree on it whatever they are built with.
func Circle(seed [32]byte, parties []int) []int {
	circle := slices.Clone(parties)
	slices.Sort(circle)
	circle = slices.Compact(circle)
	random := rand.NewChaCha8(seed)
	for i := len(circle) - 1; i > 0; i-- {
		j := below(random, uint64(i+1))
		circle[i], circle[j] = circle[j], circle[i]
	}
	return circle
}

// On is New for parties whose order around the circle is given. Part of a random circle, taken without
// regard to its order, is a random circle too: sums among most of the same parties then have most
// neighbours in common.
func On(circle []int, degree int) *Graph {
	g := &Graph{circle: slices.Clone(circle), place: make(map[int]int, len(circle))}
	for i, p := range g.circle {
		g.place[p] = i
	}
	g.half = max(0, min(degree, len(g.circle))+1) / 2
	return g
}

// Neighbours returns the neighbours of a party, ascending; none when it is not in the graph.
func (g *Graph) Neighbours(party int) []int {
	at, ok := g.place[party]
	if !ok {
		return nil
	}
	n := len(g.circle)
	reach := min(2*g.half, n-1)
	list := make([]int, 0, reach)
	for d := 1; d <= g.half && len(list) < reach; d++ {
		list = append(list, g.circle[(at+d)%n])
		if len(list) < reach {
			list = append(list, g.circle[(at+n-d)%n])
		}
	}
	slices.Sort(list)
	return list
}

// below draws a number in 0..n-1 uniformly: the high word of n times a draw, drawn again while the
// low word is below 2^64 modulo n.
func below(random *rand.ChaCha8, n uint64) uint64 {
	for {
		hi, lo := bits.Mul64(random.Uint64(), n)
		if lo >= -n%n {
			return hi
		}
	}
}
