package audit

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	fedmemory "github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// binned is a test network of one server, p0, and clients in a job of POF-MKL with a common bin.
type binned struct {
	*choosers
	agreed pofmkl.Params // the contract's
	played pofmkl.Params // what the parties run
}

// newBinned is a job of n clients in a privacy mode of the algorithms over clients, or masked along a tree.
func newBinned(t testing.TB, n int, mode string) *binned {
	t.Helper()
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "test", Algorithm: "pofmkl", Task: contract.TaskTrain, Table: "stream",
		Topology: "star", Privacy: "masked",
		Parameters: map[string]any{"common_bin": true},
	}
	c := &binned{choosers: &choosers{cohorts: &cohorts{
		testNetwork: newTestNetwork(t, n+1),
		spec: cohort.Spec{Backend: cohort.Masked, Topology: contract.Star, MinContributors: 3,
			Patience: 20 * time.Second},
	}}}
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
	c.agreed = pofmkl.Params{
		Server: "p0", Label: "y", Seed: "s", Bandwidths: []float64{0.1, 1, 10, 100, 1000}, Features: 3, Chosen: 2,
		CommonBin: true, Rounds: 12, LabelHigh: 2,
	}.WithDefaults()
	c.played = c.agreed
	for range c.names {
		c.vaults = append(c.vaults, fedmemory.Vault{})
	}
	d, err := pofmkl.Disclose(c.agreed, mode, c.names[1:])
	mustDo(t, err)
	c.conclude(job, d, 2)
	return c
}

// dictionary is that of what the parties run.
func (c *binned) dictionary() *pofmkl.Dictionary {
	d, err := pofmkl.NewDictionary(c.played, []string{"x1", "x2"})
	if err != nil {
		panic(err)
	}
	return d
}

// serve implements player.
func (c *binned) serve(ctx context.Context, s *cohort.Server) error {
	n := &tellingServer{choosingServer{server: s, contract: c.contract}}
	part := &pofmkl.ServerPart{Dictionary: c.dictionary(), Network: n, Vault: c.vaults[0]}
	if err := pofmkl.Serve(ctx, part); err != nil {
		return err
	}
	for _, i := range s.Present() {
		if err := s.Notify(ctx, i, evidence.KindFinished, contract.ClassControl, nil); err != nil {
			return err
		}
	}
	_, err := s.Finish(ctx)
	return err
}

// visit implements player.
func (c *binned) visit(ctx context.Context, client *cohort.Client, i int) error {
	rng := rand.New(rand.NewPCG(5, uint64(i)))
	var x [][]float64
	var y []float64
	for range c.played.Rounds {
		a, b := rng.Float64()/2, rng.Float64()/2
		x, y = append(x, []float64{a, b}), append(y, a+b)
	}
	part := &pofmkl.ClientPart{
		Name: c.names[i], Dictionary: c.dictionary(), Clients: len(c.names) - 1,
		Network: &hearingClient{choosingClient{client: client}},
		Rows:    fedmemory.NewRows(x, y), Vault: c.vaults[i],
	}
	if err := pofmkl.RunClient(ctx, part); err != nil {
		return err
	}
	return client.Finish(ctx)
}

// tellingServer is a session as the server's part sees it.
type tellingServer struct{ choosingServer }

func (n *tellingServer) SendValues(ctx context.Context, client int, kind string, round int, values []float64) error {
	payload := make([]byte, 0, 8*len(values))
	for _, v := range values {
		payload = binary.LittleEndian.AppendUint64(payload, math.Float64bits(v))
	}
	return n.Send(ctx, client, kind, round, payload)
}

// hearingClient is a session as a client's part sees it.
type hearingClient struct{ choosingClient }

func (n *hearingClient) ReceiveValues(ctx context.Context, kind string, limit int) (int, []float64, error) {
	l, err := n.Await(ctx, kind, 8*limit)
	if err != nil {
		return 0, nil, err
	}
	var values []float64
	for b := l.Payload; len(b) > 0; b = b[8:] {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return l.Round, values, nil
}

// TestCommonBinsAreDisclosed in every mode but the published one, which leaks: the verdict no longer says that a
// part of a total may be one client's.
func TestCommonBinsAreDisclosed(t *testing.T) {
	modes := map[string]finding.Verdict{"masked": finding.Disclosed, "tree": finding.Disclosed, "he": finding.Disclosed,
		"published": finding.Leak}
	for mode, want := range modes {
		if mode == "he" && !drawn.All {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			c := newBinned(t, 5, mode)
			must(t, c.federate())
			r := c.wantFederation(want)
			f := r.Federations[0]
			if f.Sums != 12 || f.Opened != 12 || f.Fewest != 5 || f.Median != 5 {
				t.Errorf("%+v", f)
			}
			if strings.Contains(r.Summary, "one client's alone") {
				t.Errorf("the summary is %q", r.Summary)
			}
			for _, l := range r.Ledger {
				if l.Unread || l.Count > l.Declared {
					t.Errorf("%+v", l)
				}
			}
		})
	}
}

// TestPartiesThatDrawTheirOwnBinsAreFound: a server and its clients that have agreed on a common bin and quietly run
// Algorithm 2 add vectors of all kernels, which would show the server whose update a kernel's part is.
func TestPartiesThatDrawTheirOwnBinsAreFound(t *testing.T) {
	c := newBinned(t, 5, "masked")
	c.played.CommonBin = false
	c.played.Rounds = 3 // within the budget, so that nobody stops them
	must(t, c.federate())
	all, _ := c.examined(c.source(0), c.source(2))
	long, most := 1+8*2*5*3, 1+8*2*2*3
	for _, x := range all {
		wantCheck(t, x.Checks, finding.CheckOperations, finding.Failed,
			fmt.Sprintf("a vector of %d bytes, the contract says %d at most", long, most))
	}
}
