package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// training is a small training that a test network does.
type training struct {
	*testNetwork
	params  fdskl.Params
	privacy string
	parts   []fdskl.Part
	labels  *joint.Labels
	vaults  []*joint.Memory

	sameTree bool // the phases of the published protocol go along T1
}

// trainingRows is how many rows a training has.
const trainingRows = 40

// newTraining agrees on a training of q parties, the first of which are active.
func newTraining(t testing.TB, q, active int, privacy string, topology contract.Topology, p fdskl.Params) *training {
	t.Helper()
	tr := &training{testNetwork: newTestNetwork(t, q), privacy: privacy}
	tr.topology = topology
	p.Active, p.Label, p.Seed = tr.names[:active], "y", "seed"
	tr.params = p.WithDefaults()
	rng := rand.New(rand.NewPCG(1, uint64(q)))
	signal := make([]float64, trainingRows)
	var columns []int
	for i := range q {
		tr.parts = append(tr.parts, tr.part(i, rng, signal))
		tr.vaults = append(tr.vaults, joint.NewMemory())
		columns = append(columns, 3)
	}
	tr.labels = &joint.Labels{Classes: []string{"good", "bad"}}
	for _, s := range signal {
		tr.labels.Values = append(tr.labels.Values, math.Copysign(1, s))
	}
	d, err := fdskl.Disclose(fdskl.Outline{Params: tr.params, Privacy: privacy, Parties: tr.names, Columns: columns,
		Rows: trainingRows})
	mustDo(t, err)
	tr.declare(d, active)
	return tr
}

// declare makes the contract of a disclosure.
func (tr *training) declare(d joint.Disclosure, active int) {
	tr.t.Helper()
	var text bytes.Buffer
	job := contract.Job{Privacy: tr.privacy}
	if err := errors.Join(toml.NewEncoder(&text).Encode(tr.params),
		toml.Unmarshal(text.Bytes(), &job.Parameters)); err != nil {
		tr.t.Fatal(err)
	}
	tr.agree(job, active, d.Openings, d.Operations)
}

// part draws a party's columns and adds them to the signal.
func (tr *training) part(i int, rng *rand.Rand, signal []float64) fdskl.Part {
	tr.t.Helper()
	columns := make([]kernel.Column, 3)
	for c := range columns {
		columns[c] = kernel.Column{Name: fmt.Sprintf("c%d", c), Values: make([]float64, len(signal))}
		for j := range signal {
			columns[c].Values[j] = rng.NormFloat64()
			signal[j] += math.Sin(2 * columns[c].Values[j])
		}
	}
	options := kernel.FitOptions{Numeric: kernel.MinMax}
	if tr.params.Binned() {
		options = tr.params.Goal().Scales
		options.DropConstant = false
	}
	n, err := kernel.Fit(columns, nil, options)
	if err != nil {
		tr.t.Fatal(err)
	}
	rows, err := n.Apply(columns)
	if err != nil {
		tr.t.Fatal(err)
	}
	return fdskl.Part{Owner: tr.members[i].ID, Normaliser: n, Rows: rows,
		Phase: fdskl.PhaseSeed(keys.HashOf("test phase", []byte(tr.names[i])))}
}

// train runs a session in which party `who` fails at its operation number at with failure; at 0 nobody
// does.
func (tr *training) train(who, at int, failure error) []error {
	return tr.run(func(ctx context.Context, i int, s *protocol.Session) error {
		n, err := tr.network(ctx, s)
		if err != nil {
			return err
		}
		if i == who {
			n.at, n.failure = at, failure
		}
		p := &fdskl.Party{Self: i, Names: tr.names, Params: tr.params, Privacy: tr.privacy,
			Parts: []fdskl.Part{tr.parts[i]}, Rows: trainingRows,
			Network: n, Vault: tr.vaults[i], Workers: 1}
		if slices.Contains(tr.params.Active, tr.names[i]) {
			p.Labels = tr.labels
		}
		_, err = fdskl.Train(ctx, p)
		return err
	})
}

// network is a session as FDSKL sees it; it may fail at one operation, and sum along one tree twice.
type network struct {
	joint.Network
	at       int
	count    int
	failure  error
	sameTree bool
}

// network wraps a party's session.
func (tr *training) network(ctx context.Context, s *protocol.Session) (*network, error) {
	n, err := wired.NewNetwork(ctx, s, tr.contract, func(string, int64) {})
	return &network{Network: n, sameTree: tr.sameTree}, err
}

// step counts an operation and may fail.
func (n *network) step() error {
	if n.count++; n.count == n.at {
		return n.failure
	}
	return nil
}

func (n *network) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	if err := n.step(); err != nil {
		return err
	}
	return n.Network.SumTurns(ctx, kind, root, v)
}

func (n *network) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	if err := n.step(); err != nil {
		return err
	}
	return n.Network.SumReals(ctx, kind, root, v)
}

func (n *network) SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error {
	if err := n.step(); err != nil {
		return err
	}
	if n.sameTree {
		tree = 1
	}
	return n.Network.SumTree(ctx, kind, tree, root, excluded, v)
}

func (n *network) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if err := n.step(); err != nil {
		return nil, err
	}
	return n.Network.Broadcast(ctx, kind, root, data, limit)
}
