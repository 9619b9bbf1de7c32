package ofmsft

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// askedServer is a server's network with faults, all of whose clients answer alike.
type askedServer struct {
	ask, send, sum error
	answer         []byte
	kind           string // whose sending fails; all, if empty
	total          *federated.Total
	refused        error // of the answers
}

func (n *askedServer) Clients() int   { return 3 }
func (n *askedServer) Present() []int { return []int{0, 1, 2} }

func (n *askedServer) Ask(_ context.Context, _ int, clients []int, q federated.Question) (map[int][]byte, error) {
	all := make(map[int][]byte)
	for _, c := range clients {
		if n.refused = q.Check(c, n.answer); n.refused == nil {
			all[c] = n.answer
		}
	}
	return all, n.ask
}

func (n *askedServer) Send(_ context.Context, _ int, kind string, _ int, _ []byte) error {
	if n.kind == "" || kind == n.kind {
		return n.send
	}
	return nil
}

func (n *askedServer) Sum(context.Context, federated.Sum, []int) (*federated.Total, error) {
	return n.total, n.sum
}

func TestErrorsOfAServersPart(t *testing.T) {
	w := newTeller(t, nil)
	w.params.Server = "hub"
	server, err := NewServer(w.params, w.networks, secret)
	mustDo(t, err)
	state, err := server.State()
	mustDo(t, err)
	kept := func(round int) memory.Vault {
		data, err := checkpoint.Seal(servingDomain, &servingState{stateVersion, round, state})
		mustDo(t, err)
		return memory.Vault{federated.ServerSlot: data}
	}
	all := []byte{7, 7}
	for name, c := range map[string]struct {
		network askedServer
		vault   memory.FaultyVault
		want    string
	}{
		"no answers": {network: askedServer{ask: errLost},
			want: `server "hub", round 1: ask for choices: the link is lost`},
		"not sent":    {network: askedServer{answer: all, send: errLost}, want: `server "hub", round 1: send client "a" model "m1": the link is lost`},
		"no turn":     {network: askedServer{answer: all, send: errLost, kind: KindTurn}, want: `server "hub", round 1: give client "a" its turn: the link is lost`},
		"no step":     {network: askedServer{answer: all, send: errLost, kind: KindStep}, want: `server "hub", round 1: steps of model "m1": the link is lost`},
		"no sum":      {network: askedServer{answer: all, sum: errLost}, want: `server "hub", round 1: steps of model "m1": the link is lost`},
		"short total": {network: askedServer{answer: all, total: &federated.Total{}}, want: `server "hub", round 1: steps of model "m1": step 1 of model "m1" has 0 elements, want 11`},
		"no vault":    {vault: memory.FaultyVault{LoadErr: errLost}, want: `server "hub": the link is lost`},
		"not saved": {network: askedServer{answer: []byte{0, 0}},
			want: `server "hub", round 1: checkpoint: the link is lost`},
		"damaged": {vault: memory.FaultyVault{Vault: memory.Vault{federated.ServerSlot: make([]byte, 50)}}, want: `server "hub": state: its checksum is not the one of its bytes: it is damaged, or of another kind`},
		"too many held": {vault: memory.FaultyVault{Vault: kept(11)},
			want: `server "hub": state: 11 rounds were held, want 0 to 10`},
		"too few held": {vault: memory.FaultyVault{Vault: kept(-1)},
			want: `server "hub": state: -1 rounds were held, want 0 to 10`},
	} {
		c.vault.SaveErr = errLost
		err := Serve(t.Context(), &ServerPart{Params: w.params, Networks: w.networks, Names: []string{"a", "b", "c"},
			Least: 1, Network: &c.network, Vault: &c.vault, seed: &secret})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, c.want)
		}
	}
	err = Serve(t.Context(), &ServerPart{Params: w.params, Networks: w.networks[1:], Network: &askedServer{},
		Vault: memory.Vault{}})
	wantError(t, err, `server "hub": there are 2 networks, want 3, one for each model`)
}

// TestChoicesThatClientsMustNotMakeAreRefused says why; the budget of client "b" is larger.
func TestChoicesThatClientsMustNotMakeAreRefused(t *testing.T) {
	named := func(edit func(*Params)) func(*Params) {
		return func(p *Params) {
			p.Budget, p.Budgets = 2.1, map[string]float64{"b": 3}
			if edit != nil {
				edit(p)
			}
		}
	}
	costs := func(p *Params) {
		for k := range p.Models {
			p.Models[k].Cost = 1
		}
	}
	for name, c := range map[string]struct {
		edit   func(*Params)
		client int
		answer []byte
		want   string
	}{
		"within its budget": {costs, 0, []byte{3, 0}, ""},
		"over its budget":   {costs, 0, []byte{7, 0}, "it stores models of cost 3, its budget is 2.1"},
		"its own budget":    {costs, 1, []byte{7, 5}, ""},
		"nothing":           {costs, 0, []byte{0, 0}, ""},
		"no choice":         {nil, 0, []byte{0}, "a choice of 1 bytes, want 2"},
		"over the bandwidth": {func(p *Params) { p.Models[2].Bandwidth, p.Bandwidth = 5, 5.9 }, 1, []byte{7, 0},
			"it stores models that need a bandwidth of 6.28571, the server has 5.9"},
		"broadcast, all":     {func(p *Params) { p.Broadcast = true }, 0, []byte{7, 0}, ""},
		"broadcast, nothing": {func(p *Params) { p.Broadcast = true }, 0, []byte{0, 0}, ""},
		"broadcast, its choice": {func(p *Params) { p.Broadcast = true }, 0, []byte{3, 1},
			"it stores 2 of 3 models, want all: choices stay with the clients"},
	} {
		p, networks := small(t, 3, 0, 3, nil)
		named(c.edit)(&p)
		s, err := (&ServerPart{Params: p, Networks: networks, Names: []string{"a", "b", "c"}, Vault: memory.Vault{}}).packed()
		mustDo(t, err)
		err = s.checkChoice(c.client, c.answer)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "":
			t.Run(name, func(t *testing.T) { wantError(t, err, c.want) })
		}
	}
}

// packed is a server's part as far as it checks choices.
func (s *ServerPart) packed() (*ServerPart, error) {
	for _, name := range s.Names {
		packings, err := NewPackings(s.Params.Models, s.Params.BudgetOf(name))
		if err != nil {
			return nil, err
		}
		s.packings = append(s.packings, packings)
	}
	return s, nil
}

// greedy is a client that stores everything, whatever its budget.
type greedy struct{ *memory.Client }

func (g greedy) Answer(ctx context.Context, kind string, payload []byte) error {
	return g.Client.Answer(ctx, kind, bytes.Repeat([]byte{0x1f}, len(payload)))
}

// TestAClientOverItsBudgetHasNoFurtherPart, and the others go on without it.
func TestAClientOverItsBudgetHasNoFurtherPart(t *testing.T) {
	p, networks := small(t, 5, 0, 3, nil)
	l := newTestNetwork(t, p, networks, 60, 60)
	l.clients, l.seen = append(l.clients, memory.Vault{}), append(l.seen, federated.Progress{})
	var last federated.Progress
	l.at = func(g federated.Progress) { last = g }
	s := &session{l, memory.NewSession(3, 2)}
	l.rows = make([]*memory.Rows, 3)
	s.runClient(t.Context(), 0)
	s.runClient(t.Context(), 1)
	rows := fewRows()
	s.RunClient(t.Context(), 2, func(ctx context.Context, c *memory.Client) error {
		return RunClient(ctx, &ClientPart{Name: "3", Params: l.params, Clients: 3, Network: greedy{c}, Rows: rows,
			Vault: l.clients[2]})
	})
	mustDo(t, s.serve(t.Context()))
	mustDo(t, errors.Join(s.Ended(0), s.Ended(1), s.Ended(2)))
	if last.Round != 60 || last.Clients != 2 || len(rows.Predictions) != 0 {
		t.Errorf("the server's last progress is %+v, the greedy client predicted %d rows", last, len(rows.Predictions))
	}
}
