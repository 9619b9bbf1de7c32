package gfml

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// short is a plan of 60 iterations.
func short(t *testing.T, change func(*Params)) *Plan {
	t.Helper()
	return plan(t, func(p *Params) {
		p.Iterations = 60
		change(p)
	})
}

func TestPartsEqualTheFederation(t *testing.T) {
	for name, c := range map[string]struct {
		privacy string
		change  func(*Params)
	}{
		"all entries":   {"masked", func(*Params) {}},
		"plain":         {"masked", func(p *Params) { p.Diffusion = DiffusionPlain }},
		"coordinated":   {"masked", func(p *Params) { p.Entries = 5 }},
		"uncoordinated": {federated.Published, func(p *Params) { p.Entries, p.Selection = 5, Uncoordinated }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, short(t, c.change), 60)
			w.privacy = c.privacy
			w.run(nil)
			m := newMirror(w)
			for n := range 60 {
				m.step(n)
			}
			m.compare()
		})
	}
}

func TestClientsThatAreLeftOutKeepTheirWeights(t *testing.T) {
	w := newWorld(t, short(t, func(p *Params) { p.Entries = 5 }), 60)
	w.lost = func(n, s, k int) bool { return (n+s+k)%4 == 0 && s != 3 }
	w.run(nil)
	m := newMirror(w)
	// Where fewer than two are left nothing opens: as if all were lost.
	m.world = new(world)
	*m.world = *w
	m.world.lost = func(n, s, k int) bool {
		left := 0
		for _, c := range w.plan.Chosen(s, n) {
			if !w.lost(n, s, c) {
				left++
			}
		}
		return left < 2 || w.lost(n, s, k)
	}
	for n := range 60 {
		m.step(n)
	}
	m.compare()
}

func TestStreamsThatEnd(t *testing.T) {
	w := newWorld(t, short(t, func(p *Params) { p.Entries = 5 }), 60)
	for s := range w.x {
		w.x[s][1] = w.x[s][1][:10]
		w.x[s][2] = nil
	}
	w.run(nil)
	m := newMirror(w)
	for n := range 60 {
		m.step(n)
	}
	m.compare()
	if got := w.seen[0][2]; got.Round != 60 || got.Rounds != 60 || !math.IsNaN(got.Loss) {
		t.Errorf("a client without rows reports %+v", got)
	}
}

// TestAClientThatReturnsGoesOnFromItsNewestUpload: rows it learned alone since are learned again.
func TestAClientThatReturnsGoesOnFromItsNewestUpload(t *testing.T) {
	w := newWorld(t, short(t, func(p *Params) { p.Entries = 5 }), 60)
	died := func(n int) bool { return n == 11 || n == 30 }
	w.at = func(server int, s *serverSession, p federated.Progress) {
		if server != 2 || !died(p.Round) {
			return
		}
		for k := range 2 {
			s.Stop(k)
			if err := s.Ended(k); !errors.Is(err, context.Canceled) {
				t.Errorf("client %d ended with %v, want that it was cancelled", k, err)
			}
			s.runClient(t.Context(), k)
		}
	}
	w.run(nil)
	m := newMirror(w)
	for n := range 60 {
		if died(n) {
			m.revive(2, 0)
			m.revive(2, 1)
		}
		m.step(n)
	}
	m.compare()
}

// TestAServerThatIsGoneIsDoneWithout.
func TestAServerThatIsGoneIsDoneWithout(t *testing.T) {
	for _, diffusion := range []string{DiffusionPlain, DiffusionMasked} {
		w := newWorld(t, short(t, func(p *Params) { p.Diffusion = diffusion }), 60)
		w.run(func(server int) error { return w.live(server, 13, nil) })
		m := newMirror(w)
		m.down = func(n, server int) bool { return server == 2 && n >= 13 }
		for n := range 60 {
			m.step(n)
		}
		m.compare()
	}
}

// live is a server's life; server 2 is killed when so many iterations are done, and then does what
// comes after.
func (w *world) live(server, killed int, after func() error) error {
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	if server != 2 {
		return w.serve(ctx, server)
	}
	err := w.serveUntil(ctx, killed, kill)
	if want := fmt.Sprintf(`server "c", iteration %d: context canceled`, killed); err == nil || err.Error() != want {
		return fmt.Errorf("the server ended with %v, want %q", err, want)
	}
	if after == nil {
		return nil
	}
	return after()
}

// TestAServerThatReturnsSkipsWhatItMayHaveAnnounced: the checkpoint before iteration 10 says that it
// goes on at 15.
func TestAServerThatReturnsSkipsWhatItMayHaveAnnounced(t *testing.T) {
	w := newWorld(t, short(t, func(p *Params) { p.Entries = 5 }), 80)
	back := make(chan struct{})
	w.at = func(server int, _ *serverSession, p federated.Progress) {
		if server != 2 && p.Round == 13 {
			<-back
		}
	}
	w.run(func(server int) error {
		return w.live(server, 13, func() error {
			w.links.Join(2)
			close(back)
			return w.serve(t.Context(), 2)
		})
	})
	m := newMirror(w)
	m.down = func(n, server int) bool { return server == 2 && (n == 13 || n == 14) }
	var checkpoint []byte
	for n := range 60 {
		if n == 10 {
			var err error
			checkpoint, err = m.Servers[2].Save(15)
			must(t, err)
		}
		if n == 13 {
			_, err := m.Servers[2].Restore(checkpoint)
			must(t, err)
			for k := range m.Clients[2] {
				m.revive(2, k)
			}
		}
		m.step(n)
	}
	m.compare()
}

func TestAFinishedServerHasNothingToDo(t *testing.T) {
	w := newWorld(t, short(t, func(*Params) {}), 60)
	w.run(nil)
	before := string(w.servers[1][federated.ServerSlot])
	w.at = func(int, *serverSession, federated.Progress) { t.Error("an iteration after the last") }
	w.run(nil)
	if string(w.servers[1][federated.ServerSlot]) != before {
		t.Error("the model has changed")
	}
}

// TestReportsOfParts: a client's loss is that of what it predicted.
func TestReportsOfParts(t *testing.T) {
	w := newWorld(t, short(t, func(*Params) {}), 60)
	last := make([]federated.Progress, w.plan.Servers())
	w.at = func(server int, _ *serverSession, p federated.Progress) { last[server] = p }
	w.run(nil)
	if p := last[4]; p.Round != 60 || p.Rounds != 60 || p.Clients != 3 || !math.IsNaN(p.Loss) || !math.IsNaN(p.Regret) {
		t.Errorf("server 4 reports %+v", p)
	}
	sum := 0.0
	for i, y := range w.y[3][1] {
		e := w.rows[3][1].Predictions[i+1] - y
		sum += e * e
	}
	if p := w.seen[3][1]; p.Round != 60 || p.Rounds != 60 || math.Abs(p.Loss-sum/60) > 1e-12 || !math.IsNaN(p.Regret) {
		t.Errorf("client 1 of server 3 reports %+v, want loss %v", p, sum/60)
	}
}

// TestPrivacyThatIsNotKeptIsRefused by server and client before anything is sent.
func TestPrivacyThatIsNotKeptIsRefused(t *testing.T) {
	uncoordinated := func(entries int) *Plan {
		return plan(t, func(p *Params) { p.Entries, p.Selection = entries, Uncoordinated })
	}
	exposed := `selection is "uncoordinated" with 11 of 12 entries: selections are public, so that the totals of server "a" would show single clients' weights however they are masked; want selection "coordinated", all 12 entries, or privacy "published"`
	for _, c := range []struct {
		plan    *Plan
		privacy string
		least   int
		want    string
	}{
		{uncoordinated(11), "masked", 3, exposed},
		{uncoordinated(11), "", 3, exposed},
		{uncoordinated(11), federated.Published, 3, ""},
		{uncoordinated(12), "masked", 3, ""},
		{plan(t, func(p *Params) { p.Entries = 1 }), "masked", 3, ""},
		{plan(t, func(p *Params) {}), "masked", 4, "participants is 3: no total would ever open, want at least 4, the " +
			"fewest clients in one"},
		{plan(t, func(p *Params) {}), federated.Published, 4, ""},
	} {
		err := c.plan.CheckPrivacy(c.privacy, c.least)
		if got := strings.TrimPrefix(fmt.Sprint(err), "<nil>"); got != c.want {
			t.Errorf("error is\n\t%s\nwant\n\t%s", got, c.want)
		}
	}
	p := uncoordinated(11)
	err := Serve(t.Context(), &ServerPart{Plan: p, Server: 1, Least: 3})
	wantError(t, err, `server "b": `+exposed)
	err = RunClient(t.Context(), &ClientPart{Plan: p, Server: 1, Client: 2, Least: 3})
	wantError(t, err, `client "b3" of server "b": `+exposed)
}

// TestWhatCheckPrivacyAllowsExposesNothing to any set of survivors that opens, and what it refuses
// exposes something to one.
func TestWhatCheckPrivacyAllowsExposesNothing(t *testing.T) {
	for _, selection := range []string{Coordinated, Uncoordinated} {
		for _, entries := range []int{1, 6, 11, 12} {
			p := plan(t, func(p *Params) { p.Entries, p.Selection = entries, selection })
			exposed := false
			for set := range 1 << p.Clients(0) {
				var survivors []int
				for k := range p.Clients(0) {
					if set>>k&1 == 1 {
						survivors = append(survivors, k)
					}
				}
				if len(survivors) == 2 || len(survivors) == 3 {
					exposed = exposed || len(p.Exposed(0, 7, survivors, 2)) > 0
				}
			}
			if refused := p.CheckPrivacy("masked", 2) != nil; refused != exposed {
				t.Errorf("%s, %d entries: refused %v, exposed %v", selection, entries, refused, exposed)
			}
		}
	}
}
