package gfml

import (
	"fmt"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// Steps 4 and 5 make w_p a weighted sum of the psi' of p itself, its neighbours, and those of the neighbours in its
// cluster:
//
//	w_p = sum over r in N_p and C(p) of c_rp (psi'_r + eta sum over s in N_r \ C(r) of rho_rs (psi'_s - psi'_r))
//
// So one sum that opens at p does for both: each of the others adds its psi' with its weight under masks, and p adds
// its own. Where a server is gone, all weights are what the two steps would make of them without it.

// mixing is the part of a Plan that says whose models a server combines, and with which weights.
type mixing struct {
	graph  *graph
	rules  []rules
	eta    float64
	around [][]int // [server]: see Neighbourhood

	// What every iteration asks for and few plans need, found once.
	turns  func() []int
	lonely func() int
}

// derive finds what follows from a job's parameters.
func (p *mixing) derive(params *Params) (err error) {
	p.eta = params.Eta
	if p.graph, err = newGraph(params); err != nil {
		return err
	}
	if p.rules, err = p.graph.allRules(params.Rho, params.Combine); err != nil {
		return err
	}
	for s := range p.rules {
		p.around = append(p.around, p.neighbourhood(s))
	}
	p.turns, p.lonely = sync.OnceValue(p.findTurns), sync.OnceValue(p.findLonely)
	return nil
}

// OtherNeighbours lists the neighbours of a server in other clusters, which need its psi' and whose
// psi' it needs, in ascending order.
func (p *mixing) OtherNeighbours(server int) []int { return p.graph.others(server) }

// OwnNeighbours lists the neighbours of a server in its own cluster, which need its psi and whose psi
// it needs, in ascending order, itself not included.
func (p *mixing) OwnNeighbours(server int) []int {
	return slices.DeleteFunc(p.graph.own(server), func(r int) bool { return r == server })
}

// weightsAt returns the weight of each server's psi' in w_p when some of the servers are there; p is.
func (p *mixing) weightsAt(server int, there func(server int) bool) []float64 {
	all, eta := make([]float64, len(p.rules)), p.eta
	is := func(r int) bool { return r == server || there(r) }
	own := among(p.rules[server].own, is)
	if own == nil {
		own = []weight{{server, 1}}
	}
	for _, c := range own {
		all[c.server] += c.value
		for _, w := range among(p.rules[c.server].others, is) {
			all[w.server] += c.value * eta * w.value
			all[c.server] -= c.value * eta * w.value
		}
	}
	for r, w := range all {
		if w < leastWeight {
			all[r] = 0
		}
	}
	return all
}

// leastWeight is the least weight of a server in another's model. What is below it is the rounding of weights that
// cancel, or a vector so small that it would hide nobody's: it is left out.
const leastWeight = 1e-9

// Neighbourhood lists the other servers whose psi' may be in a server's w_p, in ascending order: its neighbours, and
// those of its neighbours in its cluster.
func (p *mixing) Neighbourhood(server int) []int { return p.around[server] }

// neighbourhood finds a server's Neighbourhood.
func (p *mixing) neighbourhood(server int) []int {
	in := make([]bool, len(p.rules))
	for _, c := range p.rules[server].own {
		in[c.server] = true
		for _, w := range p.rules[c.server].others {
			in[w.server] = in[w.server] || p.eta > 0
		}
	}
	return slices.DeleteFunc(p.graph.pick(func(r int) bool { return in[r] }), func(r int) bool { return r == server })
}

// Adders lists those of the servers that are there whose psi' have a weight in another one's w_p. Only they add to its
// sum: a vector of zeros would hide nobody's. When there are too few nobody does.
func (p *mixing) Adders(at int, there []int) []int {
	weights := p.weightsAt(at, func(r int) bool { return slices.Contains(there, r) })
	var list []int
	for _, r := range there {
		if r != at && weights[r] != 0 {
			list = append(list, r)
		}
	}
	if len(list) < federated.LeastMixed {
		return nil
	}
	return list
}

// LargestShare returns how much of a total at a server can be one other server's vector, as a part of the weights in
// it: of the heaviest and the lightest, when all others have left. A server that lies about who is there, to all alike
// or to each otherwise, makes one heavier than it should be: that counts too.
func (p *mixing) LargestShare(at int) float64 {
	neighbours := p.Neighbourhood(at)
	full := p.weightsAt(at, func(int) bool { return true })
	heaviest := func(r int) float64 {
		alone := p.weightsAt(at, func(s int) bool { return s == r })[r]
		own := p.weightsAt(at, func(s int) bool { return s == r || p.graph.cluster[s] == p.graph.cluster[at] })[r]
		return max(full[r], alone, own)
	}
	share := 0.0
	for _, x := range neighbours {
		heavy := heaviest(x)
		for _, y := range neighbours {
			if x != y && full[x] > 0 && full[y] > 0 {
				share = max(share, heavy/(heavy+full[y]))
			}
		}
	}
	return share
}

// mostShare is the largest share with which a sum still counts as one that hides its addends.
const mostShare = 0.99

// Diffusion returns how servers combine their models in a privacy mode: as the job says or, where it says nothing,
// "masked" if each of them has at least two others in its neighbourhood.
func (p *Plan) Diffusion(privacy string) string {
	switch {
	case privacy == federated.Published:
		return DiffusionPlain
	case p.params.Diffusion != "":
		return p.params.Diffusion
	}
	if p.lonely() >= 0 {
		return DiffusionPlain
	}
	return DiffusionMasked
}

// findLonely returns a server whose neighbourhood is too small for a sum that hides its vectors, -1 when there is none.
func (p *mixing) findLonely() int {
	for s := range len(p.rules) {
		if p.Adders(s, p.Neighbourhood(s)) == nil || p.LargestShare(s) > mostShare {
			return s
		}
	}
	return -1
}

// checkDiffusion refuses masks that are asked for and would hide nothing.
func (p *Plan) checkDiffusion(privacy string) error {
	if p.params.Diffusion != DiffusionMasked {
		return nil
	}
	if privacy == federated.Published {
		return fmt.Errorf("diffusion is %q with privacy %q, which has no masks; want %q", DiffusionMasked, privacy,
			DiffusionPlain)
	}
	s := p.lonely()
	if s < 0 {
		return nil
	}
	beside := "no other server's model"
	switch list := p.Neighbourhood(s); {
	case len(list) == 1:
		beside = fmt.Sprintf("only the model of %q", p.graph.names[list[0]])
	case len(list) > 1:
		beside = "others' that can be one server's alone, but for a hundredth"
	}
	return fmt.Errorf("diffusion is %q, and server %q combines its model with %s: a sum would hide nothing; "+
		"want more edges, or diffusion %q",
		DiffusionMasked, p.graph.names[s], beside, DiffusionPlain)
}

// Turns lists all servers in the order in which their neighbourhoods sum. Sums that share no server may run at the
// same time: servers of one turn of a greedy colouring stand next to each other.
func (p *mixing) Turns() []int { return p.turns() }

// findTurns finds Turns.
func (p *mixing) findTurns() []int {
	busy := func(s int) []int { return append(slices.Clone(p.Neighbourhood(s)), s) }
	var turns [][]int // the servers of each turn
	for s := range len(p.rules) {
		own := busy(s)
		at := slices.IndexFunc(turns, func(turn []int) bool {
			return !slices.ContainsFunc(turn, func(other int) bool {
				return slices.ContainsFunc(busy(other), func(r int) bool { return slices.Contains(own, r) })
			})
		})
		if at < 0 {
			at, turns = len(turns), append(turns, nil)
		}
		turns[at] = append(turns[at], s)
	}
	return slices.Concat(turns...)
}

// MixSum says how the vectors of a server's neighbourhood are added: with as many digits as uploads.
func (p *Plan) MixSum(server int) federated.Sum {
	s := federated.Finest(KindDiffusion, p.params.Features, p.params.Bound*boundTolerance,
		max(1, len(p.Neighbourhood(server))))
	s.Bits = min(s.Bits, maxDigits)
	return s
}

// Contribution returns what this server adds to the sum at another one when the servers listed are there: its psi'
// with its weight in that server's model, nil when it is none of the adders.
func (s *Server) Contribution(at int, there []int, psi []float64) []float64 {
	if !slices.Contains(s.plan.Adders(at, there), s.server) {
		return nil
	}
	out := slices.Clone(psi)
	floats.Scale(s.plan.weightsAt(at, func(r int) bool { return slices.Contains(there, r) })[s.server], out)
	return out
}

// Mix is steps 4 and 5 from a total: it sets w_p from this server's psi' and the sum of the contributions of the
// servers From, of the adders among those There. The weights of adders that were lost on the way are shared out among
// all others, in proportion. Without a total, or with one that makes numbers beyond the bound, w_p is psi', and Mix
// reports why: a neighbour has deviated, nobody can tell which.
func (s *Server) Mix(psi []float64, m *federated.Mixture) (refused string, err error) {
	if len(psi) != len(s.w) {
		return "", fmt.Errorf("server %q: its vector has %d numbers, want %d", s.name(), len(psi), len(s.w))
	}
	w := slices.Clone(psi)
	if m == nil {
		s.w = w
		return "", nil
	}

	// Refuses a total of the wrong length, or of servers that have no place in it.
	neighbours := s.plan.Neighbourhood(s.server)
	within := func(list, of []int) bool {
		return slices.IsSorted(list) && !slices.ContainsFunc(list, func(r int) bool { return !slices.Contains(of, r) })
	}
	if !within(m.There, neighbours) || !within(m.From, s.plan.Adders(s.server, m.There)) {
		return "", fmt.Errorf("server %q: a total of servers %v of %v, want some of %v", s.name(), m.From, m.There,
			neighbours)
	}
	if len(m.Values) != len(s.w) {
		return "", fmt.Errorf("server %q: the total of its neighbourhood has %d numbers, want %d", s.name(), len(m.Values),
			len(s.w))
	}
	weights := s.plan.weightsAt(s.server, func(r int) bool { return slices.Contains(m.There, r) })
	floats.Scale(weights[s.server], w)
	floats.Add(w, m.Values)
	if len(m.From) < len(s.plan.Adders(s.server, m.There)) {
		sum := weights[s.server]
		for _, r := range m.From {
			sum += weights[r]
		}
		floats.Scale(1/sum, w)
	}
	s.w = w
	for i, x := range w {
		if !s.plan.within(x, 1) {
			s.w = slices.Clone(psi)
			return fmt.Sprintf("the sum of the models around %q is not used: number %d of the model would be %v, more than %v: "+
				"one of its neighbours, or more, sent what it must not", s.name(), i, x, s.plan.params.Bound), nil
		}
	}
	return "", nil
}
