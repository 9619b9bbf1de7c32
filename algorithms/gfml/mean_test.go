package gfml

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// outcomes are the rows that a client may draw, all equally likely.
type outcomes struct {
	z [][]float64
	y []float64
}

// drawOutcomes makes so many outcomes for every client.
func drawOutcomes(p *Plan, count int) [][]outcomes {
	rng := rand.New(rand.NewPCG(5, 5))
	var all [][]outcomes
	for s := range p.Servers() {
		all = append(all, nil)
		for range p.Clients(s) {
			var o outcomes
			for range count {
				z := make([]float64, p.Params().Features)
				for i := range z {
					z[i] = rng.Float64() - 0.3
				}
				o.z, o.y = append(o.z, z), append(o.y, rng.Float64())
			}
			all[s] = append(all[s], o)
		}
	}
	return all
}

// momentsOf are those of the outcomes.
func momentsOf(all [][]outcomes) [][]Moments {
	var list [][]Moments
	for s, of := range all {
		list = append(list, nil)
		for _, o := range of {
			list[s] = append(list[s], MomentsOf(o.z, o.y))
		}
	}
	return list
}

// everyCourse is the oracle: it goes through all that may happen to two servers of two clients each, one of which
// is chosen, and returns the mean of the servers' models after so many iterations.
func everyCourse(p *Plan, all [][]outcomes, n, last int, w [][]float64, wk [][][]float64) [][]float64 {
	if n == last {
		return w
	}
	mean := [][]float64{make([]float64, 2), make([]float64, 2)}
	const ways = 4 * 16
	for way := range ways {
		prime := [][]float64{slices.Clone(w[0]), slices.Clone(w[1])}
		next := [][][]float64{{nil, nil}, {nil, nil}}
		for s := range 2 {
			chosen := way >> s & 1
			for k := range 2 {
				v := slices.Clone(wk[s][k])
				if k == chosen {
					for _, i := range p.Selected(s, k, n) {
						v[i] = w[s][i]
					}
				}
				which := way >> (2 + 2*s + k) & 1
				z, y := all[s][k].z[which], all[s][k].y[which]
				e := y - v[0]*z[0] - v[1]*z[1]
				for i := range v {
					v[i] += p.Params().Step * e * z[i]
				}
				next[s][k] = v
			}
			for _, i := range p.Selected(s, chosen, n+1) {
				prime[s][i] = next[s][chosen][i]
			}
		}
		psi := [][]float64{{0, 0}, {0, 0}} // each server is a cluster of its own: psi is its model
		for s := range 2 {
			for i := range 2 {
				psi[s][i] = prime[s][i] + p.Params().Eta*(prime[1-s][i]-prime[s][i])
			}
		}
		for s, v := range everyCourse(p, all, n+1, last, psi, next) {
			for i := range v {
				mean[s][i] += v[i] / ways
			}
		}
	}
	return mean
}

// TestTheMeanIsThatOfAllCourses, for selections of one entry and of all.
func TestTheMeanIsThatOfAllCourses(t *testing.T) {
	for _, entries := range []int{1, 2} {
		params := DefaultParams()
		params.Servers, params.Edges, params.Clusters = []string{"a", "b"}, [][]string{{"a", "b"}}, [][]string{{"a"}, {"b"}}
		params.Columns, params.Label, params.Seed = []string{"x"}, "y", "courses"
		params.Features, params.Participants, params.Iterations, params.Entries, params.Eta = 2, 1, 10, entries, 0.3
		params, parties := withClients(params, 2)
		p, err := NewPlan(params, parties)
		must(t, err)
		all := drawOutcomes(p, 2)
		m, err := p.NewMean(momentsOf(all), false)
		must(t, err)
		zero := func() []float64 { return []float64{0, 0} }
		want := everyCourse(p, all, 0, 3, [][]float64{zero(), zero()}, [][][]float64{{zero(), zero()}, {zero(), zero()}})
		for n := range 3 {
			m.Step(n)
		}
		for s := range want {
			wantNear(t, p.graph.names[s], m.Server(s), want[s], 1e-12)
		}
		printed, err := p.NewMean(momentsOf(all), true)
		must(t, err)
		for n := range 3 {
			printed.Step(n)
		}
		if got := printed.Server(0)[0]; got == want[0][0] {
			t.Errorf("with A and B taken apart the mean is %v too", got)
		}
	}
}

// TestApartIsEquationEighteen against the matrices of equations 12, 16 and 18, of one server and its clients.
func TestApartIsEquationEighteen(t *testing.T) {
	p := plan(t, func(p *Params) { p.Entries, p.Selection = 5, Uncoordinated })
	moments := momentsOf(drawOutcomes(p, 20))
	m, err := p.NewMean(moments, true)
	must(t, err)
	const d, clients = 12, 5
	chance := float64(p.params.Participants) / clients
	state := make([]*mat.VecDense, p.Servers()) // w_p and then its clients'
	for s := range state {
		state[s] = mat.NewVecDense(d*(clients+1), nil)
	}
	for n := range 25 {
		prime := make([][]float64, p.Servers())
		for s := range state {
			size := d * (clients + 1)
			a, b, r, target := mat.NewDense(size, size, nil), mat.NewDense(size, size, nil), mat.NewDense(size, size, nil),
				mat.NewVecDense(size, nil)
			for i := range size {
				a.Set(i, i, 1)
				b.Set(i, i, 1)
				r.Set(i, i, 1)
			}
			for k := range clients {
				at := d * (k + 1)
				for _, i := range p.Selected(s, k, n) {
					a.Set(at+i, at+i, 1-chance)
					a.Set(at+i, i, chance)
				}
				for _, i := range p.Selected(s, k, n+1) {
					b.Set(i, i, b.At(i, i)-1.0/clients)
					b.Set(i, at+i, 1.0/clients)
				}
				for i := range d {
					for j := range d {
						r.Set(at+i, at+j, r.At(at+i, at+j)-p.params.Step*moments[s][k].ZZ[i*d+j])
					}
					target.SetVec(at+i, p.params.Step*moments[s][k].ZY[i])
				}
			}
			v := mat.NewVecDense(size, nil)
			v.MulVec(a, state[s])
			u := mat.NewVecDense(size, nil)
			u.MulVec(r, v)
			u.AddVec(u, target)
			state[s].MulVec(b, u)
			prime[s] = slices.Clone(state[s].RawVector().Data[:d])
		}
		psi := make([][]float64, len(prime))
		for s := range psi {
			psi[s] = slices.Clone(prime[s])
			for _, o := range p.OtherNeighbours(s) {
				for i := range d {
					psi[s][i] += p.params.Eta / float64(len(p.OtherNeighbours(s))) * (prime[o][i] - prime[s][i])
				}
			}
		}
		for s := range state {
			own := append(p.OwnNeighbours(s), s)
			for i := range d {
				sum := 0.0
				for _, o := range own {
					sum += psi[o][i] / float64(len(own))
				}
				state[s].SetVec(i, sum)
			}
		}
		m.Step(n)
	}
	for s := range state {
		wantNear(t, p.graph.names[s], m.Server(s), state[s].RawVector().Data[:d], 1e-12)
	}
}

// TestMomentsMustFitThePlan names whose do not.
func TestMomentsMustFitThePlan(t *testing.T) {
	p := plan(t, func(*Params) {})
	good := momentsOf(drawOutcomes(p, 1))
	short := slices.Clone(good)
	short[1] = short[1][:4]
	thin := slices.Clone(good)
	thin[2] = slices.Clone(thin[2])
	thin[2][3].ZY = thin[2][3].ZY[:3]
	for want, moments := range map[string][][]Moments{
		"there are moments of the clients of 4 servers, want 5": good[:4],
		`server "b": there are moments of 4 clients, want 5`:    short,
		"its moments are of 144 and 3 numbers, want 144 and 12": thin,
	} {
		if _, err := p.NewMean(moments, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
