package ofmsft

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/nn"
)

// TestStepSumsFitAndAreAsFineAsTheyCan for any clip and number of clients.
func TestStepSumsFitAndAreAsFineAsTheyCan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{Clip: rapid.Float64Range(1e-9, maxClip).Draw(t, "clip"), Models: []Model{{Size: 7}, {Size: 9}}}
		clients := rapid.IntRange(1, maxClients).Draw(t, "clients")
		if got, want := StepSum(p, 1, clients), federated.Finest(KindUpdates, 9, p.SumBound(), clients); got != want ||
			!got.Fits(clients) {
			t.Fatalf("the sum is %+v, want %+v, which fits", got, want)
		}
	})
}

// tally is messages and bytes of them, or sums and words of them.
type tally struct{ times, size int64 }

// counts counts what goes between a server and its clients.
type counts struct {
	mu      sync.Mutex
	told    map[string]map[int]tally // by kind and client
	answers map[int]tally
	sums    map[int]tally
	opened  int64
	longest int
}

// count counts a message to a client.
func (c *counts) count(kind string, client int, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[kind] == nil {
		c.told[kind] = make(map[int]tally)
	}
	n := c.told[kind][client]
	c.told[kind][client] = tally{n.times + 1, n.size + int64(len(payload))}
}

// countingHub counts what a server sends.
type countingHub struct {
	*memory.Hub
	*counts
}

func (h *countingHub) Send(ctx context.Context, client int, kind string, round int, payload []byte) error {
	h.count(kind, client, payload)
	return h.Hub.Send(ctx, client, kind, round, payload)
}

func (h *countingHub) Ask(ctx context.Context, round int, clients []int, q federated.Question) (map[int][]byte, error) {
	for _, c := range clients {
		h.count(q.Kind, c, q.Payload)
	}
	return h.Hub.Ask(ctx, round, clients, q)
}

func (h *countingHub) Sum(ctx context.Context, s federated.Sum, clients []int) (*federated.Total, error) {
	total, err := h.Hub.Sum(ctx, s, clients)
	if total != nil {
		h.opened += int64(len(total.Values))
		h.longest = max(h.longest, s.N)
	}
	return total, err
}

// countingClient counts what a client sends.
type countingClient struct {
	*memory.Client
	*counts
	number int
}

func (c *countingClient) Answer(ctx context.Context, kind string, payload []byte) error {
	c.mu.Lock()
	n := c.answers[c.number]
	c.answers[c.number] = tally{n.times + 1, n.size + int64(len(payload))}
	c.mu.Unlock()
	return c.Client.Answer(ctx, kind, payload)
}

func (c *countingClient) Sum(ctx context.Context, s federated.Sum, v []float64) (bool, error) {
	c.mu.Lock()
	n := c.sums[c.number]
	c.sums[c.number] = tally{n.times + 1, n.size + int64(len(v))}
	c.mu.Unlock()
	return c.Client.Sum(ctx, s, v)
}

// count runs a job in one session and counts; cached says that clients keep networks.
func count(ctx context.Context, p Params, networks []*nn.Network, clients, least int, cached bool) (*counts, error) {
	c := &counts{told: make(map[string]map[int]tally), answers: make(map[int]tally), sums: make(map[int]tally)}
	hub := memory.NewHub(clients, least)
	var names []string
	errs := make([]error, clients)
	var wait sync.WaitGroup
	for k := range clients {
		names = append(names, name(k))
		x, y := drawRows(rand.New(rand.NewPCG(1, uint64(k))), p.Rounds-k, p.Classes) // some streams end early
		part := &ClientPart{Name: name(k), Params: p, Clients: clients, Network: &countingClient{hub.Join(k), c, k},
			Rows: memory.NewRows(x, y), Vault: memory.Vault{}}
		if cached {
			part.Cache = newCountingCache()
		}
		wait.Go(func() { errs[k] = RunClient(ctx, part) })
	}
	err := Serve(ctx, &ServerPart{Params: p, Networks: networks, Names: names, Least: least,
		Network: &countingHub{hub, c}, Vault: memory.Vault{}})
	hub.End()
	wait.Wait()
	return c, errors.Join(append(errs, err)...)
}

// within reports whether a count is within its bounds.
func (n tally) within(times, size int64) bool { return n.times <= times && n.size <= size }

// drawJob draws a small job.
func drawJob(t *rapid.T, outer testing.TB) (p Params, networks []*nn.Network, clients int) {
	clients = rapid.IntRange(1, 4).Draw(t, "clients")
	p, networks = small(outer, rapid.IntRange(1, 5).Draw(t, "models"), rapid.SampledFrom([]int{0, 3}).Draw(t, "classes"),
		clients, func(p *Params) {
			p.Budget = rapid.Float64Range(2, 5).Draw(t, "budget")
			p.Rounds = rapid.IntRange(4, 8).Draw(t, "rounds")
			p.RoundsPerUpload = rapid.IntRange(1, 3).Draw(t, "rounds per upload")
			p.WarmUp = rapid.IntRange(0, 3).Draw(t, "warm-up")
			p.Broadcast = rapid.Bool().Draw(t, "broadcast")
			p.Update = rapid.SampledFrom([]string{UpdateEquation11, UpdateEquation11, UpdateNone}).Draw(t, "update")
			if rapid.Bool().Draw(t, "own budget") {
				p.Budgets = map[string]float64{"1": rapid.Float64Range(2, 5).Draw(t, "its budget")}
			}
		})
	p.Server = "hub"
	return p, networks, clients
}

// TestNothingPassesBeyondTheDisclosure in any small job: its budgets are upper bounds of what the parts send in a
// session, and its openings of what they learn.
func TestNothingPassesBeyondTheDisclosure(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, networks, clients := drawJob(r, t)
		c, err := count(t.Context(), p, networks, clients, rapid.IntRange(1, 3).Draw(r, "least"),
			rapid.Bool().Draw(r, "cached"))
		mustDo(r, err)
		var names []string
		for k := range clients {
			names = append(names, name(k))
		}
		d, err := Disclose(p, "masked", names)
		mustDo(r, err)
		mustDo(r, c.check(d, clients))
	})
}

// check holds what was counted against a disclosure.
func (c *counts) check(d federated.Disclosure, clients int) error {
	told := make(map[string]federated.Told)
	for _, t := range d.Told {
		told[t.Kind] = t
	}
	opens := make(map[[2]string]int64)
	for _, o := range d.Openings {
		opens[[2]string{o.To, o.Kind}] = o.Count
	}
	var answered int64
	for k := range clients {
		for kind, all := range c.told {
			if n, agreed := all[k], told[kind]; !n.within(agreed.Times, agreed.Bytes) {
				return fmt.Errorf("client %d was sent %+v of %q, the disclosure is %+v", k+1, n, kind, agreed)
			}
			if n, most := all[k].times, opens[[2]string{name(k), kind}]; n > most && len(d.Sums) > 0 {
				return fmt.Errorf("client %d learns %d of %q, the disclosure has %d", k+1, n, kind, most)
			}
		}
		if n := c.answers[k]; !n.within(d.Answers[0].Times, d.Answers[0].Bytes) {
			return fmt.Errorf("client %d answered %+v, the disclosure is %+v", k+1, n, d.Answers[0])
		}
		answered += c.answers[k].times
		if n := c.sums[k]; n.times > 0 && (len(d.Sums) == 0 || !n.within(d.Sums[0].Times, d.Sums[0].Words)) {
			return fmt.Errorf("client %d added %+v, the disclosure is %+v", k+1, n, d.Sums)
		}
	}
	switch {
	case answered > opens[[2]string{"hub", KindChoice}]:
		return fmt.Errorf("the server heard %d choices, the disclosure has %d", answered, opens[[2]string{"hub", KindChoice}])
	case c.opened > opens[[2]string{"hub", KindUpdates}]:
		return fmt.Errorf("%d numbers opened to the server, the disclosure has %d", c.opened,
			opens[[2]string{"hub", KindUpdates}])
	case c.longest > 0 && c.longest > d.Sums[0].Sum.N:
		return fmt.Errorf("a sum has %d numbers, the disclosure has %d", c.longest, d.Sums[0].Sum.N)
	}
	return nil
}

// TestBudgetsAreReached where all clients store and fine-tune everything in every round: no bound is loose but
// that of the networks' files.
func TestBudgetsAreReached(t *testing.T) {
	p, networks := small(t, 4, 0, 3, func(p *Params) { p.Budget, p.Bandwidth, p.Rounds = 5, 100, 5 })
	p.Server = "hub"
	c, err := count(t.Context(), p, networks, 1, 1, false)
	mustDo(t, err)
	d, err := Disclose(p, "masked", []string{"1"})
	mustDo(t, err)
	for _, told := range d.Told {
		n := c.told[told.Kind][0]
		if n.times != told.Times || n.size != told.Bytes && told.Kind != KindModel {
			t.Errorf("%+v of %q, the disclosure is %+v", n, told.Kind, told)
		}
	}
	if n := c.answers[0]; n != (tally{d.Answers[0].Times, d.Answers[0].Bytes}) {
		t.Errorf("answers %+v, the disclosure is %+v", n, d.Answers[0])
	}
	if n := c.sums[0]; n != (tally{d.Sums[0].Times, d.Sums[0].Words}) || c.opened != d.Openings[0].Count {
		t.Errorf("sums %+v and %d numbers opened, the disclosure is %+v", n, c.opened, d.Sums[0])
	}
}

// TestDisclosuresSayWhoLearnsWhat in words, in every mode.
func TestDisclosuresSayWhoLearnsWhat(t *testing.T) {
	p, _ := small(t, 4, 0, 2, func(p *Params) { p.Rounds, p.Window = 20, 3 })
	p.Server = "hub"
	broadcast, none := p, p
	broadcast.Broadcast, none.Update = true, UpdateNone
	for name, c := range map[string]struct {
		params   Params
		mode     string
		openings int
		want     map[string]string // by "to kind"
	}{
		"masked": {p, "masked", 10, map[string]string{
			"hub updates": "the sum of the steps of those in a round's group who store a network",
			"hub choice": "which networks each client stores in each round: drawn by its own weights, so that over 20 " +
				"rounds they tell",
			"a model": "the server's networks that the client asks for",
			"b step":  "which others in a round's group store a network that the client stores",
			"a round": "the hashes of all networks in every round",
			"a turn":  "whether the client is in a round's group",
		}},
		"published": {p, federated.Published, 10, map[string]string{"hub updates": "every client's step of every " +
			"network that it fine-tunes: gradients over 3 rows or fewer"}},
		"broadcast": {broadcast, "he", 10, map[string]string{"hub choice": "which networks a client says it lacks",
			"a step": "which others are in a round's group"}},
		"nothing is tuned": {none, "masked", 3, map[string]string{"hub choice": "which networks each client stores",
			"b model": "the server's networks"}},
	} {
		d, err := Disclose(c.params, c.mode, []string{"a", "b"})
		mustDo(t, err)
		if len(d.Openings) != c.openings {
			t.Errorf("%s: %d openings, want %d", name, len(d.Openings), c.openings)
		}
		said := make(map[string]string)
		for _, o := range d.Openings {
			said[o.To+" "+o.Kind] = o.Meaning
			if len(o.Meaning) > 500 || o.Count < 1 {
				t.Errorf("%s: opening %+v", name, o)
			}
		}
		for who, want := range c.want {
			if !strings.HasPrefix(said[who], want) {
				t.Errorf("%s: %s is %q, want %q", name, who, said[who], want)
			}
		}
	}
}
