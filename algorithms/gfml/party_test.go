package gfml

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// parts returns server a and a client of it that is chosen in iteration 0.
func parts(t testing.TB, p *Plan) (*Server, *Client) {
	t.Helper()
	s, err := p.NewServer(0)
	must(t, err)
	c, err := p.NewClient(0, p.Chosen(0, 0)[0])
	must(t, err)
	return s, c
}

// TestAClientRefuses what does not fit, by text.
func TestAClientRefuses(t *testing.T) {
	p := plan(t, func(p *Params) { p.Entries, p.Bound = 3, 4 })
	_, c := parts(t, p)
	z, who := make([]float64, 12), fmt.Sprintf("client %q of server \"a\"", p.clients[0][c.client])
	_, err := c.Predict(z[:2])
	wantError(t, err, who+": the row's features is a vector of 2 numbers, want 12")
	_, err = c.Learn(3, z, math.NaN())
	wantError(t, err, who+", iteration 3: the target is NaN, want a finite number")
	wantError(t, c.Receive(0, z[:2]), who+": what the server sent is a vector of 2 numbers, want 3")
	wantError(t, c.Receive(0, []float64{0, math.Inf(1), 0}), who+", iteration 0: entry 1 of what the server sent is "+
		"+Inf, want a magnitude of at most 4")
	wantError(t, c.Receive(-1, z[:3]), who+": iteration -1 is out of range, want 0 to 399")
	_, err = c.Upload(400)
	wantError(t, err, who+": iteration 400 is out of range, want 0 to 399")
	n := 0
	for slices.Contains(p.Chosen(0, n), c.client) {
		n++
	}
	_, err = c.Upload(n)
	wantError(t, err, fmt.Sprintf("%s is not chosen in iteration %d", who, n))
	wantError(t, c.Receive(n, z[:3]), fmt.Sprintf("%s is not chosen in iteration %d", who, n))
	_, err = p.NewClient(0, 5)
	wantError(t, err, `client 5 of server "a" is out of range, want 0 to 4`)
	_, err = p.NewClient(5, 0)
	wantError(t, err, "server 5 is out of range, want 0 to 4")
	_, err = p.NewServer(-1)
	wantError(t, err, "server -1 is out of range, want 0 to 4")
	_, err = p.NewOnlineFed(9)
	wantError(t, err, "server 9 is out of range, want 0 to 4")
}

// TestWeightsBeyondTheBoundAreNotSent: they stop the training instead.
func TestWeightsBeyondTheBoundAreNotSent(t *testing.T) {
	p := plan(t, func(p *Params) { p.Entries, p.Bound = 3, 4 })
	_, c := parts(t, p)
	c.w[3] = -5 // S_1 is 3, 4, 5
	_, err := c.Upload(0)
	wantError(t, err, fmt.Sprintf(`client %q of server "a", iteration 0: the model diverges: weight 3 is -5, beyond the bound 4; step is 0.75, try a smaller one`, p.clients[0][c.client]))
	if out := (*DivergenceError)(nil); !errors.As(err, &out) || out.Iteration != 0 {
		t.Errorf("%v is no DivergenceError", err)
	}
	c.w[3], c.w[0] = 0, 100 // not shared
	if got, err := c.Upload(0); err != nil || len(got) != 3 {
		t.Errorf("error %v, upload %v", err, got)
	}
}

// TestAServerRefuses what does not fit, by text.
func TestAServerRefuses(t *testing.T) {
	p := plan(t, func(p *Params) { p.Entries, p.Bound = 3, 4 })
	s, c := parts(t, p)
	chosen := p.Chosen(0, 0)
	stranger := 0
	for slices.Contains(chosen, stranger) {
		stranger++
	}
	total := make([]float64, 3)
	for _, f := range []struct {
		n         int
		total     []float64
		survivors []int
		want      string
	}{
		{-1, total, chosen, `server "a": iteration -1 is out of range, want 0 to 399`},
		{0, total[:2], chosen, `server "a", iteration 0: the total has 2 entries, want 3`},
		{0, total, []int{7}, `client 7 of server "a" is out of range, want 0 to 4`},
		{0, total, []int{stranger}, fmt.Sprintf(`server "a", iteration 0: the total holds an upload of %q, which is not chosen`, p.clients[0][stranger])},
		{0, total, []int{c.client, c.client}, `server "a", iteration 0: the survivors are not in ascending order`},
		{0, []float64{0, 0, 12.5}, chosen, `server "a", iteration 0: entry 5 of the total of 3 clients is 12.5, want a magnitude of at most 12`},
		{0, []float64{math.NaN(), 0, 0}, chosen[:1], `server "a", iteration 0: entry 3 of the total of 1 clients is NaN, want a magnitude of at most 4`},
	} {
		_, err := s.Fill(f.n, f.total, f.survivors)
		wantError(t, err, f.want)
	}
	psi := make([]float64, 12)
	large := slices.Clone(psi)
	large[7] = math.Inf(-1)
	_, err := s.Cooperate(psi[:1], nil)
	wantError(t, err, `server "a": its vector has 1 numbers, want 12`)
	_, err = s.Cooperate(psi, map[int][]float64{1: psi})
	wantError(t, err, `server "a" has 1 vectors of servers that are no such neighbours of it`)
	_, err = s.Cooperate(psi, map[int][]float64{4: psi[:2]})
	wantError(t, err, `server "a": the vector of "e" has 2 numbers, want 12`)
	wantError(t, s.Combine(psi, map[int][]float64{1: large}), `server "a": number 7 in the vector of "b" is -Inf, want a magnitude of at most 4`)
	wantError(t, s.Combine(psi, map[int][]float64{0: psi}), `server "a" has 1 vectors of servers that are no such neighbours of it`)
	_, err = s.Share(0, 9)
	wantError(t, err, `client 9 of server "a" is out of range, want 0 to 4`)
}

// TestNobodySurvives: without an upload psi' is the server's own model.
func TestNobodySurvives(t *testing.T) {
	s, _ := parts(t, plan(t, func(*Params) {}))
	s.w[3] = 7
	psi, err := s.Fill(0, nil, nil)
	must(t, err)
	wantNear(t, "psi'", psi, s.w, 0)
	psi[3] = 0
	if s.w[3] != 7 {
		t.Error("psi' is the model itself, want a copy")
	}
}

// TestWeightsOfThoseWhoAreGone go to the others in proportion, so that the sum stays 1.
func TestWeightsOfThoseWhoAreGone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []weight
		for r, v := range rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 6).Draw(rt, "weights") {
			list = append(list, weight{r, v})
		}
		there := rapid.Uint8().Draw(rt, "there")
		sum := 0.0
		left := among(list, func(r int) bool { return there>>r&1 == 1 })
		for _, w := range left {
			sum += w.value
			if there>>w.server&1 == 0 {
				rt.Fatalf("server %d is gone and has weight", w.server)
			}
			if len(left) < len(list) && w.value*list[left[0].server].value != left[0].value*list[w.server].value &&
				math.Abs(w.value*list[left[0].server].value-left[0].value*list[w.server].value) > 1e-12 {
				rt.Fatalf("weights %v of %v are not in proportion", left, list)
			}
		}
		if len(left) > 0 && len(left) < len(list) && math.Abs(sum-1) > 1e-12 {
			rt.Fatalf("weights %v sum to %v", left, sum)
		}
	})
}

// TestWeightsGiven: matrices take the place of averages, and redistribution follows them.
func TestWeightsGiven(t *testing.T) {
	p := plan(t, func(p *Params) {
		p.Eta = 1
		p.Rho = [][]float64{{0, 0, 0, 0, 1}, {0, 0, 0.25, 0, 0.75}, {0, 1, 0, 0, 0}, {0, 0, 0, 0, 0}, {0.5, 0.5, 0, 0, 0}}
		p.Combine = [][]float64{{1, 0.8, 0, 0, 0}, {0, 0.2, 0, 0, 0}, {0, 0, 1, 0.5, 0}, {0, 0, 0, 0, 1}, {0, 0, 0, 0.5, 0}}
	})
	all := func(v float64) []float64 { return slices.Repeat([]float64{v}, 12) }
	b, err := p.NewServer(1)
	must(t, err)
	psi, err := b.Cooperate(all(5), map[int][]float64{2: all(1), 4: all(2)})
	must(t, err)
	wantNear(t, "psi", psi, all(1.75), 1e-15)
	psi, err = b.Cooperate(all(5), map[int][]float64{2: all(1)})
	must(t, err)
	wantNear(t, "psi without e", psi, all(1), 1e-15)
	psi, err = b.Cooperate(all(5), nil)
	must(t, err)
	wantNear(t, "psi alone", psi, all(5), 0)
	must(t, b.Combine(all(5), map[int][]float64{0: all(1)}))
	wantNear(t, "w", b.Model(), all(1.8), 1e-15)
	e, err := p.NewServer(4)
	must(t, err)
	must(t, e.Combine(all(5), nil)) // all its weight is on d, which is gone
	wantNear(t, "w alone", e.Model(), all(5), 0)
}
