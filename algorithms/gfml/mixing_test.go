package gfml

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// drawPlan draws a connected graph of servers, their clusters and eta.
func drawPlan(t *rapid.T) *Plan {
	params, _ := testNetwork()
	n := rapid.IntRange(1, 7).Draw(t, "servers")
	params.Servers, params.Edges, params.Clusters = nil, nil, nil
	for s := range n {
		params.Servers = append(params.Servers, string(rune('a'+s)))
	}
	for s := 1; s < n; s++ {
		near := rapid.IntRange(0, s-1).Draw(t, "near")
		for r := range s {
			if r == near || rapid.Bool().Draw(t, "edge") {
				params.Edges = append(params.Edges, []string{params.Servers[r], params.Servers[s]})
			}
		}
	}
	clusters := make(map[int][]string)
	for _, s := range params.Servers {
		at := rapid.IntRange(0, 2).Draw(t, "cluster")
		clusters[at] = append(clusters[at], s)
	}
	for _, members := range clusters {
		params.Clusters = append(params.Clusters, members)
	}
	params.Eta = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "eta")
	params, parties := withClients(params, 3)
	p, err := NewPlan(params, parties)
	must(t, err)
	return p
}

// TestMixtureIsSteps4And5: one weighted sum at a server is what its two exchanges with neighbours give, whoever is
// gone.
func TestMixtureIsSteps4And5(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "vectors"), 1))
		primes, psi := make([][]float64, p.Servers()), make([][]float64, p.Servers()) // nil: gone
		for s := range primes {
			if rapid.IntRange(0, 3).Draw(t, "gone") > 0 {
				for range p.Params().Features {
					primes[s] = append(primes[s], draw.NormFloat64())
				}
			}
		}
		servers := make([]*Server, p.Servers())
		for s := range servers {
			var err error
			if servers[s], err = p.NewServer(s); err != nil {
				t.Fatal(err)
			}
			if primes[s] == nil {
				continue
			}
			if psi[s], err = servers[s].Cooperate(primes[s], those(primes, servers[s].rules.others, s)); err != nil {
				t.Fatal(err)
			}
		}
		for s, server := range servers {
			if primes[s] == nil {
				continue
			}
			must(t, server.Combine(psi[s], those(psi, server.rules.own, s)))
			want := server.Model()
			m := &federated.Mixture{Values: make([]float64, len(want))}
			for _, r := range p.Neighbourhood(s) {
				if primes[r] != nil {
					m.There = append(m.There, r)
				}
			}
			m.From = p.Adders(s, m.There)
			if m.From == nil && len(m.There) > 0 {
				continue // a sum that would open one server's vector: nobody adds
			}
			for _, r := range m.From {
				floats.Add(m.Values, servers[r].Contribution(s, m.There, primes[r]))
			}
			if refused, err := server.Mix(primes[s], m); err != nil || refused != "" {
				t.Fatal(refused, err)
			}
			if got := server.Model(); !floats.EqualApprox(got, want, 1e-12) {
				t.Fatalf("server %d has %v, want %v", s, got, want)
			}
		}
	})
}

// TestLostContributionsAreSharedOut: the weights of who stayed, and of the server itself, add up to 1 again.
func TestLostContributionsAreSharedOut(t *testing.T) {
	p := plan(t, func(*Params) {})
	ones := slices.Repeat([]float64{1}, 12)
	s, err := p.NewServer(0)
	must(t, err)
	m := &federated.Mixture{Values: make([]float64, 12), There: []int{1, 2, 4}, From: []int{1, 4}}
	for _, r := range m.From {
		other, err := p.NewServer(r)
		must(t, err)
		floats.Add(m.Values, other.Contribution(0, m.There, ones))
	}
	refused, err := s.Mix(ones, m)
	if err != nil || refused != "" {
		t.Fatal(refused, err)
	}
	wantNear(t, "a mean of ones", s.Model(), ones, 1e-12)
	if got := s.Contribution(1, []int{2, 4}, ones); got != nil {
		t.Errorf("a server that was not told of a sum adds %v", got)
	}
}

// TestNoSumOpensOneServersVector, whatever a server says of who is there: at least two others add to it with a weight,
// or nobody does. A neighbour whose psi is all that of others has no weight, and a vector of zeros that hides nothing.
func TestNoSumOpensOneServersVector(t *testing.T) {
	graphs := []*Plan{plan(t, func(p *Params) { p.Eta = 1 }), cancelling(t)}
	for _, p := range graphs {
		noSumOpensOne(t, p)
	}
}

// cancelling is a plan whose weights cancel up to their rounding.
func cancelling(t *testing.T) *Plan {
	t.Helper()
	params, _ := testNetwork()
	params.Servers, params.Eta = []string{"a", "b", "c", "d", "e", "f"}, 1
	params.Edges = nil
	for _, e := range strings.Fields("ab ac bc ad bd cd be ce de af bf cf ef") {
		params.Edges = append(params.Edges, []string{e[:1], e[1:]})
	}
	params.Clusters = [][]string{{"a", "d", "f"}, {"b", "c", "e"}}
	params, parties := withClients(params, 3)
	p, err := NewPlan(params, parties)
	must(t, err)
	return p
}

// noSumOpensOne tries every list of who is there at every server.
func noSumOpensOne(t *testing.T, p *Plan) {
	t.Helper()
	for at := range p.Servers() {
		for set := range 1 << p.Servers() {
			var there []int
			for r := range p.Servers() {
				if set>>r&1 == 1 && r != at {
					there = append(there, r)
				}
			}
			nonzero := 0
			for _, r := range there {
				s, err := p.NewServer(r)
				must(t, err)
				v := s.Contribution(at, there, slices.Repeat([]float64{1}, 12))
				if v != nil && v[0] < 1e-6 {
					t.Fatalf("server %d adds next to nothing at %d among %v", r, at, there)
				}
				if v != nil {
					nonzero++
				}
			}
			if nonzero == 1 {
				t.Fatalf("one server adds at %d among %v", at, there)
			}
		}
	}
}

// TestTurnsOfSums: each server has one turn, and those before it that share a server with it are the same in the eyes
// of all. Far apart in a graph, servers share a turn, so that their number does not grow with the graph.
func TestTurnsOfSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		order := slices.Sorted(slices.Values(p.Turns()))
		for s := range p.Servers() {
			if order[s] != s {
				t.Fatalf("turns are %v", p.Turns())
			}
		}
	})
	params, _ := testNetwork()
	params.Servers, params.Edges, params.Clusters = nil, nil, nil
	for s := range 40 {
		params.Servers = append(params.Servers, fmt.Sprintf("s%02d", s))
		if s > 0 {
			params.Edges = append(params.Edges, []string{params.Servers[s-1], params.Servers[s]})
		}
	}
	params.Clusters = [][]string{params.Servers}
	params, parties := withClients(params, 3)
	p, err := NewPlan(params, parties)
	must(t, err)
	if turns := p.Turns(); !slices.Equal(turns[:4], []int{0, 3, 6, 9}) {
		t.Errorf("on a line the turns are %v, want every third server at first", turns)
	}
}

// TestDiffusionByDefault is masked where every sum hides something.
func TestDiffusionByDefault(t *testing.T) {
	line := func(p *Params) {
		p.Servers, p.Edges, p.Clusters = []string{"a", "b", "c"}, [][]string{{"a", "b"},
			{"b", "c"}}, [][]string{{"a", "b", "c"}}
		p.Clients = map[string][]string{"a": p.Clients["a"], "b": p.Clients["b"],
			"c": append(append(p.Clients["c"], p.Clients["d"]...), p.Clients["e"]...)}
	}
	alone := func() *Plan {
		params, _ := testNetwork()
		line(&params)
		params, parties := withClients(params, 5)
		p, err := NewPlan(params, parties)
		must(t, err)
		return p
	}
	if got := alone().Diffusion("masked"); got != DiffusionPlain {
		t.Errorf("on a line of three diffusion is %q, want %q: its ends have one neighbour each", got, DiffusionPlain)
	}
	p := plan(t, func(*Params) {})
	for privacy, want := range map[string]string{"masked": DiffusionMasked, "he": DiffusionMasked,
		federated.Published: DiffusionPlain} {
		if got := p.Diffusion(privacy); got != want {
			t.Errorf("privacy %q diffuses %q, want %q", privacy, got, want)
		}
	}
	if got := plan(t, func(p *Params) { p.Diffusion = DiffusionPlain }).Diffusion("masked"); got != DiffusionPlain {
		t.Errorf("a job that says plain diffuses %q", got)
	}
	must(t, alone().CheckPrivacy("masked", 3))
	forced := alone()
	forced.params.Diffusion = DiffusionMasked
	wantError(t, forced.CheckPrivacy("masked", 3), `diffusion is "masked", and server "a" combines its model with only the model of "b": `+
		`a sum would hide nothing; want more edges, or diffusion "plain"`)
	masked := plan(t, func(p *Params) { p.Diffusion = DiffusionMasked })
	wantError(t, masked.CheckPrivacy(federated.Published, 3), `diffusion is "masked" with privacy "published", which has no masks; want "plain"`)
	params, parties := testNetwork()
	params.Diffusion = "none"
	_, err := NewPlan(params, parties)
	wantError(t, err, `diffusion is "none", want "masked" or "plain"`)
}

// TestDisclosureOfMaskedDiffusion: no model of another server opens, and each server has one sum.
func TestDisclosureOfMaskedDiffusion(t *testing.T) {
	d, err := plan(t, func(*Params) {}).Disclose("masked")
	must(t, err)
	if len(d.Between) != 0 || len(d.Mixed) != 5 {
		t.Fatalf("between servers %+v, sums %+v", d.Between, d.Mixed)
	}
	want := federated.Mixed{
		Server: "a", From: []string{"b", "c", "e"}, Times: 400, Told: KindNeighbours,
		Sum: federated.Sum{Kind: KindDiffusion, N: 12, Bits: 40, Bound: 1024 * boundTolerance},
	}
	if got := d.Mixed[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("a sums %+v, want %+v", got, want)
	}
	opening := contract.Opening{To: "a", Kind: KindDiffusion, Count: 400 * 12,
		Meaning: "the weighted sum of the models of 3 other servers, once an iteration, and no single one; if all but " +
			"two leave, up to 96 % of it is one server's model"}
	if !slices.Contains(d.Openings, opening) {
		t.Errorf("openings are %+v, want %+v among them", d.Openings, opening)
	}
	if slices.ContainsFunc(d.Openings, func(o contract.Opening) bool { return strings.HasPrefix(o.Kind, "psi") }) {
		t.Errorf("a server's model opens: %+v", d.Openings)
	}
}

// TestWeightsThatHideNothingAreRefused: a neighbour whose weight is next to nothing hides nobody's model.
func TestWeightsThatHideNothingAreRefused(t *testing.T) {
	tiny := func(p *Params) {
		p.Rho = make([][]float64, 5)
		for i := range p.Rho {
			p.Rho[i] = make([]float64, 5)
		}
		p.Rho[0][4], p.Rho[1][2], p.Rho[1][4], p.Rho[2][1], p.Rho[4][0], p.Rho[4][1] = 1, 1, 0, 1, 1, 0
		p.Eta = 1e-4
	}
	p := plan(t, tiny)
	if got := p.Diffusion("masked"); got != DiffusionPlain {
		t.Errorf("diffusion is %q though %.5f of a total can be one server's", got, p.LargestShare(0))
	}
	p = plan(t, func(p *Params) { tiny(p); p.Diffusion = DiffusionMasked })
	wantError(t, p.CheckPrivacy("masked", 3), `diffusion is "masked", and server "a" combines its model with others' that can be `+
		`one server's alone, but for a hundredth: a sum would hide nothing; want more edges, or diffusion "plain"`)
}

// TestAMixtureBeyondTheBoundIsNotUsed: a neighbour that sends the largest numbers it may cannot make this server's
// model one that its clients refuse.
func TestAMixtureBeyondTheBoundIsNotUsed(t *testing.T) {
	p := plan(t, func(*Params) {})
	s, err := p.NewServer(0)
	must(t, err)
	psi := slices.Repeat([]float64{1}, 12)
	m := &federated.Mixture{Values: slices.Repeat([]float64{1024}, 12), There: []int{1, 2, 4}, From: []int{1, 2, 4}}
	refused, err := s.Mix(psi, m)
	must(t, err)
	if !strings.Contains(refused, `the sum of the models around "a" is not used`) {
		t.Errorf("it says %q", refused)
	}
	wantNear(t, "the model", s.Model(), psi, 0)
}
