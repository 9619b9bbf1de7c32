package gfml

import (
	"fmt"
	"math"
	"slices"
)

// sumTolerance is how far a sum of weights may be from 1: decimals are not exact.
const sumTolerance = 1e-9

// weight is what one server's vector counts.
type weight struct {
	server int
	value  float64
}

// rules are the weights of one server.
type rules struct {
	others []weight // rho_pr, r in N_p \ C(p)
	own    []weight // c_rp, r in N_p and C(p), the server itself included
}

// allRules returns the weights of all servers: the matrices given, or averages where there are none.
func (g *graph) allRules(rho, combine [][]float64) ([]rules, error) {
	if err := g.checkShape("rho", rho); err != nil {
		return nil, err
	}
	if err := g.checkShape("combine", combine); err != nil {
		return nil, err
	}
	all := make([]rules, len(g.names))
	for p, name := range g.names {
		all[p] = rules{others: equal(g.others(p)), own: equal(g.own(p))}
		if rho != nil {
			row := slices.Clone(rho[p])
			w, err := g.weigh(fmt.Sprintf("rho, row of %q", name), "other clusters", row, g.others(p))
			if err != nil {
				return nil, err
			}
			all[p].others = w
		}
		if combine != nil {
			w, err := g.weigh(fmt.Sprintf("combine, column of %q", name), "its own cluster", column(combine, p), g.own(p))
			if err != nil {
				return nil, err
			}
			all[p].own = w
		}
	}
	return all, nil
}

// checkShape refuses a matrix that is there and not square in the servers.
func (g *graph) checkShape(name string, m [][]float64) error {
	if m == nil {
		return nil
	}
	if len(m) != len(g.names) {
		return fmt.Errorf("%s has %d rows, want %d, one for each server", name, len(m), len(g.names))
	}
	for i, row := range m {
		if len(row) != len(g.names) {
			return fmt.Errorf("%s, row of %q, has %d numbers, want %d, one for each server", name, g.names[i], len(row),
				len(g.names))
		}
	}
	return nil
}

// weigh takes the weights of the allowed servers from a row or column and checks it: nowhere
// negative, zero for all others, and the sum 1 (or 0 where nobody is allowed).
func (g *graph) weigh(what, where string, values []float64, allowed []int) ([]weight, error) {
	var list []weight
	sum := 0.0
	for r, v := range values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: the weight of %q is %v, want none below 0", what, g.names[r], v)
		}
		if !slices.Contains(allowed, r) {
			if v != 0 {
				return nil, fmt.Errorf("%s: the weight of %q is %v, want 0, as it is no neighbour in %s", what, g.names[r], v,
					where)
			}
			continue
		}
		list, sum = append(list, weight{r, v}), sum+v
	}
	if len(allowed) > 0 && math.Abs(sum-1) > sumTolerance {
		return nil, fmt.Errorf("%s: the sum is %v, want 1", what, sum)
	}
	return list, nil
}

// column returns a column of a square matrix.
func column(m [][]float64, p int) []float64 {
	c := make([]float64, len(m))
	for r := range m {
		c[r] = m[r][p]
	}
	return c
}

// equal returns equal weights of sum 1 for some servers.
func equal(servers []int) []weight {
	list := make([]weight, len(servers))
	for i, r := range servers {
		list[i] = weight{r, 1 / float64(len(servers))}
	}
	return list
}

// among returns the weights of the servers that are there, scaled to the sum 1 again: what the
// others had is shared out in proportion. If those that are there had no weight at all, none is left.
func among(list []weight, there func(server int) bool) []weight {
	sum, missing := 0.0, false
	var left []weight
	for _, w := range list {
		if !there(w.server) {
			missing = true
			continue
		}
		left, sum = append(left, w), sum+w.value
	}
	if !missing {
		return list // as it was, to the bit
	}
	if sum == 0 {
		return nil
	}
	for i := range left {
		left[i].value /= sum
	}
	return left
}
