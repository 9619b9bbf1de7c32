package gfml

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// testNetwork returns the parameters of a small federation, two clusters of two and three servers, and
// the names of its parties.
func testNetwork() (Params, []string) {
	p := DefaultParams()
	p.Servers = []string{"a", "b", "c", "d", "e"}
	p.Edges = [][]string{{"a", "b"}, {"c", "d"}, {"e", "d"}, {"b", "c"}, {"a", "e"}, {"b", "e"}}
	p.Clusters = [][]string{{"b", "a"}, {"c", "d", "e"}}
	p.Columns, p.Label, p.Seed = []string{"x1", "x2"}, "y", "league"
	p.Features, p.Participants, p.Iterations = 12, 3, 400
	return withClients(p, 5)
}

// withClients gives every server its clients.
func withClients(p Params, clients int) (Params, []string) {
	parties := append([]string(nil), p.Servers...)
	p.Clients = make(map[string][]string)
	for _, s := range p.Servers {
		for k := range clients {
			p.Clients[s] = append(p.Clients[s], fmt.Sprintf("%s%d", s, k+1))
		}
		parties = append(parties, p.Clients[s]...)
	}
	return p, parties
}

// plan derives the plan of parameters that a change was made to.
func plan(t testing.TB, change func(*Params)) *Plan {
	t.Helper()
	params, parties := testNetwork()
	change(&params)
	p, err := NewPlan(params, parties)
	must(t, err)
	return p
}

// federation starts a federation of a plan.
func federation(t testing.TB, p *Plan, newServer func(int) (*Server, error)) *Federation {
	t.Helper()
	f, err := NewFederation(p, newServer)
	must(t, err)
	return f
}

// streams is every client's rows, made beforehand: some have none at times.
type streams struct {
	z [][][][]float64 // [iteration][server][client], nil: no row
	y [][][]float64
}

// newStreams makes rows for a number of iterations; a share of them is missing.
func newStreams(t testing.TB, p *Plan, iterations int, missing float64, seed uint64) *streams {
	t.Helper()
	draw, features, st := rand.New(rand.NewPCG(seed, 1)), p.Features(), new(streams)
	for n := range iterations {
		st.z, st.y = append(st.z, nil), append(st.y, nil)
		for s := range p.Servers() {
			st.z[n], st.y[n] = append(st.z[n], make([][]float64, p.Clients(s))), append(st.y[n], make([]float64, p.Clients(s)))
			for k := range p.Clients(s) {
				if draw.Float64() < missing {
					continue
				}
				x := []float64{draw.NormFloat64(), draw.NormFloat64()}
				z := make([]float64, p.Params().Features)
				must(t, features.Map(z, x))
				st.z[n][s][k] = z
				st.y[n][s][k] = math.Sin(x[0]) + 0.1*float64(s)*x[1] + 0.05*draw.NormFloat64()
			}
		}
	}
	return st
}

// round is an iteration in which nobody is gone.
func (st *streams) round(n int) Round {
	return Round{Sample: func(s, k int) ([]float64, float64, bool) {
		return st.z[n][s][k], st.y[n][s][k], st.z[n][s][k] != nil
	}}
}

// run takes a federation through all iterations.
func (st *streams) run(t testing.TB, f *Federation) {
	t.Helper()
	for n := range st.z {
		must(t, f.Step(n, st.round(n)))
	}
}

// must fails the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError wants an error of this text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error is\n\t%s\nwant\n\t%s", got, want)
	}
}

// wantNear wants two vectors to agree to a tolerance, relative for large numbers.
func wantNear(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*max(1, math.Abs(want[i]))) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
