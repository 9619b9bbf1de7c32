package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	fedmemory "github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// choosers is a test network of one server, p0, and clients in a job of OFMS-FT: clients choose networks, and the steps
// of each are added among those that store it.
type choosers struct {
	*cohorts
	params   ofmsft.Params
	networks []*nn.Network
	vaults   []fedmemory.Vault
	missing  map[int]int // by client: the round in which it is silent
}

// newChoosers is a job of n clients and so many rounds in a privacy mode of the algorithms over clients, or masked
// along a tree.
func newChoosers(t testing.TB, n, rounds int, mode string, edit func(*ofmsft.Params)) *choosers {
	t.Helper()
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "test", Algorithm: "ofmsft", Task: contract.TaskTrain, Table: "stream",
		Topology: "star", Privacy: "masked",
	}
	c := &choosers{cohorts: &cohorts{
		testNetwork: newTestNetwork(t, n+1),
		spec: cohort.Spec{Backend: cohort.Masked, Topology: contract.Star, MinContributors: 3,
			Patience: 20 * time.Second},
	}, missing: make(map[int]int)}
	switch mode {
	case "published":
		job.Privacy, c.spec.Backend, c.spec.MinContributors = mode, cohort.Plain, 2
	case "tree":
		job.Topology, c.spec.Topology, mode = mode, contract.Tree, "masked"
	case "he":
		job.Aggregation, c.spec.Backend = contract.AggregateHE, cohort.HE
	}
	c.play = c
	job.Parties, job.Servers = c.names, c.names[:1]
	c.draw(rounds, edit)
	d, err := ofmsft.Disclose(c.params, mode, c.names[1:])
	mustDo(t, err)
	c.conclude(job, d, 2)
	return c
}

// draw draws networks of different sizes.
func (c *choosers) draw(rounds int, edit func(*ofmsft.Params)) {
	c.t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	var names []string
	for k := range 4 {
		layers := []nn.Layer{{Kind: nn.Dense, Units: 2 + k%3, Activation: nn.ReLU},
			{Kind: nn.Dense, Units: 1, Activation: nn.Linear}}
		network, err := nn.New([]int{2}, layers, rng)
		if err != nil {
			c.t.Fatal(err)
		}
		names, c.networks = append(names, fmt.Sprintf("m%d", k+1)), append(c.networks, network)
	}
	p, err := ofmsft.Params{Server: "p0", Label: "y", Budget: 2, Bandwidth: 8.5, Rounds: rounds, Rate: 0.3,
		Step: 0.05, LabelHigh: 2}.WithNetworks(names, c.networks)
	if err != nil {
		c.t.Fatal(err)
	}
	if edit != nil {
		edit(&p)
	}
	c.params = p.WithDefaults(len(c.names) - 1)
	for range c.names {
		c.vaults = append(c.vaults, fedmemory.Vault{})
	}
}

// operations lists what the parties send.
func (c *cohorts) operations(d federated.Disclosure) []contract.Operation {
	c.t.Helper()
	var list []contract.Operation
	add := func(up bool, o contract.Operation) {
		o.Root, o.Encoding, o.Collective = c.names[0], "bytes", contract.CollectiveDownload
		if up {
			o.Collective = contract.CollectiveUpload
		}
		list = append(list, o)
	}
	for _, t := range d.Told {
		add(false, contract.Operation{Kind: t.Kind, Class: "opening", Count: t.Times, Bytes: t.Bytes + 4*t.Times})
	}
	for _, a := range d.Answers {
		add(true, contract.Operation{Kind: a.Kind, Class: "opening", Count: a.Times, Bytes: a.Bytes})
	}
	for _, kind := range []string{"finished", "paused"} {
		add(false, contract.Operation{Kind: kind, Class: "control", Count: 1})
	}
	if len(d.Sums) == 0 { // clients still say who they are
		add(true, contract.Operation{Kind: cohort.KindKey, Class: "control", Count: 1, Bytes: contract.SessionKeySize})
	}
	for _, s := range d.Sums {
		flows, err := c.spec.Flows(len(c.names), s.Clients,
			cohort.Vector{Kind: s.Sum.Kind, Words: s.Sum.N, Bits: 64}, s.Times)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, f := range flows {
			o := contract.Operation{Kind: f.Kind, Class: f.Class.String(), Count: f.Count, Bytes: f.Bytes}
			if f.Kind == s.Sum.Kind {
				o.Shape = []int64{s.Times, int64(s.Sum.N)}
			}
			add(f.Up, o)
		}
	}
	return list
}

// serve implements player.
func (c *choosers) serve(ctx context.Context, s *cohort.Server) error {
	n := &choosingServer{server: s, contract: c.contract}
	part := &ofmsft.ServerPart{Params: c.params, Networks: c.networks, Names: c.names[1:], Least: c.spec.MinContributors,
		Network: n, Vault: c.vaults[0]}
	if err := ofmsft.Serve(ctx, part); err != nil {
		return err
	}
	for _, i := range s.Present() {
		if err := s.Notify(ctx, i, "finished", contract.ClassControl, nil); err != nil {
			return err
		}
	}
	_, err := s.Finish(ctx)
	return err
}

// visit implements player.
func (c *choosers) visit(ctx context.Context, client *cohort.Client, i int) error {
	rng := rand.New(rand.NewPCG(5, uint64(i)))
	var x [][]float64
	var y []float64
	for range c.params.Rounds {
		a, b := rng.Float64(), rng.Float64()
		x, y = append(x, []float64{a, b}), append(y, a+b)
	}
	part := &ofmsft.ClientPart{
		Name: c.names[i], Params: c.params, Clients: len(c.names) - 1, Network: &choosingClient{client: client},
		Rows: fedmemory.NewRows(x, y), Vault: c.vaults[i],
	}
	if err := ofmsft.RunClient(ctx, part); err != nil {
		return err
	}
	return client.Finish(ctx)
}

// choosingServer is a session as the server's part sees it.
type choosingServer struct {
	server   *cohort.Server
	contract *contract.Contract
}

// numbered puts a round's number in front of a payload.
func numbered(round int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(round)), payload...)
}

func (n *choosingServer) Clients() int { return len(n.contract.Job.ClientsOf(0)) }

func (n *choosingServer) Present() []int {
	var list []int
	for _, i := range n.server.Present() {
		list = append(list, i-1)
	}
	return list
}

// parties turns the numbers of clients into those of parties.
func parties(clients []int) []int {
	list := slices.Clone(clients)
	for i := range list {
		list[i]++
	}
	return list
}

func (n *choosingServer) Ask(
	ctx context.Context, round int, clients []int, q federated.Question,
) (map[int][]byte, error) {
	answers, _, err := n.server.Ask(ctx, parties(clients), cohort.Question{
		Kind: q.Kind, Class: contract.ClassOpening, Payload: numbered(round, q.Payload), Answer: q.Answer,
		Reply: contract.ClassOpening, Limit: q.Limit,
		Check: func(party int, answer []byte) error { return q.Check(party-1, answer) },
	})
	all := make(map[int][]byte)
	for party, answer := range answers {
		all[party-1] = answer
	}
	return all, err
}

func (n *choosingServer) Send(ctx context.Context, client int, kind string, round int, payload []byte) error {
	return n.server.Notify(ctx, client+1, kind, contract.ClassOpening, numbered(round, payload))
}

func (n *choosingServer) Sum(ctx context.Context, s federated.Sum, clients []int) (*federated.Total, error) {
	total, err := n.server.Sum(ctx, cohort.Vector{Kind: s.Kind, Words: s.N, Bits: 64}, parties(clients))
	var few *cohort.TooFewError
	if errors.As(err, &few) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &federated.Total{Values: make([]float64, s.N)}
	secagg.Fixed{Bits: s.Bits, Bound: s.Bound}.Decode(t.Values, total.Words)
	for _, party := range total.Survivors {
		t.Clients = append(t.Clients, party-1)
	}
	return t, nil
}

// choosingClient is a session as a client's part sees it.
type choosingClient struct {
	client  *cohort.Client
	forgets *forgetful // is told of vectors before they get their masks; may be nil
}

func (n *choosingClient) Await(ctx context.Context, awaited string, limit int) (federated.Message, error) {
	h, err := n.client.ReceiveNotice(ctx, awaited, 4+limit)
	if err != nil {
		return federated.Message{}, err
	}
	if h.Kind == "finished" {
		return federated.Message{}, io.EOF
	}
	return federated.Message{Kind: h.Kind, Round: int(binary.BigEndian.Uint32(h.Payload)), Payload: h.Payload[4:]}, nil
}

func (n *choosingClient) Answer(ctx context.Context, kind string, payload []byte) error {
	return n.client.Answer(ctx, kind, contract.ClassOpening, payload)
}

func (n *choosingClient) Sum(ctx context.Context, s federated.Sum, v []float64) (bool, error) {
	words := make([]uint64, len(v))
	if err := (secagg.Fixed{Bits: s.Bits, Bound: s.Bound}).Encode(s.Kind, words, v); err != nil {
		return false, err
	}
	if n.forgets != nil {
		n.forgets.words = slices.Clone(words)
	}
	err := n.client.Sum(ctx, cohort.Vector{Kind: s.Kind, Words: s.N, Bits: 64}, words)
	if errors.Is(err, cohort.ErrLeftOut) {
		return false, nil
	}
	return err == nil, err
}
