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
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// training is a small training that a test network does.
type training struct {
	*testNetwork
	params  fdskl.Params
	privacy string
	parts   []fdskl.Part
	labels  *fdskl.Labels
	vaults  []*memory

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
		tr.vaults = append(tr.vaults, newVault())
		columns = append(columns, 3)
	}
	tr.labels = &fdskl.Labels{Classes: []string{"good", "bad"}}
	for _, s := range signal {
		tr.labels.Values = append(tr.labels.Values, math.Copysign(1, s))
	}
	d, err := fdskl.DiscloseTraining(tr.params, privacy, tr.names, columns, trainingRows)
	if err != nil {
		t.Fatal(err)
	}
	tr.declare(d, active)
	return tr
}

// declare makes the contract of a disclosure.
func (tr *training) declare(d fdskl.Disclosure, active int) {
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
	tr.params.FitBins(&options)
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
		n := &network{session: s, topology: tr.topology, contract: tr.contract, sameTree: tr.sameTree}
		if i == who {
			n.at, n.failure = at, failure
		}
		if tr.privacy == fdskl.Masked {
			var err error
			if n.masked, err = secagg.NewMasked(s, tr.config(i).IDs, tr.topology); err != nil {
				return err
			}
		}
		p := &fdskl.Party{Self: i, Names: tr.names, Params: tr.params, Privacy: tr.privacy,
			Parts: []fdskl.Part{tr.parts[i]}, Rows: trainingRows,
			Network: n, Vault: tr.vaults[i], Workers: 1}
		if slices.Contains(tr.params.Active, tr.names[i]) {
			p.Labels = tr.labels
		}
		_, err := fdskl.Train(ctx, p)
		return err
	})
}

// network is a session as FDSKL sees it; it may fail at one operation.
type network struct {
	session  *protocol.Session
	topology contract.Topology
	contract *contract.Contract
	masked   sums // nil in the published mode
	at       int
	count    int
	failure  error
	sameTree bool
}

// sums are protected sums, by masks or by homomorphic encryption.
type sums interface {
	SumTurns(ctx context.Context, kind string, root int, v []uint16) error
	SumFixed(ctx context.Context, kind string, root int, f secagg.Fixed, v []float64) error
}

// realBits is what sums of reals keep behind the point.
const realBits = 36

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
	return n.masked.SumTurns(ctx, kind, root, v)
}

func (n *network) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	if err := n.step(); err != nil {
		return err
	}
	if n.masked == nil {
		return secagg.SumPublished(ctx, n.session, kind, contract.PlanFor(n.topology, n.session.Parties(), root), v)
	}
	return n.masked.SumFixed(ctx, kind, root, secagg.Fixed{Bits: realBits, Bound: fdskl.RealBound}, v)
}

func (n *network) SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error {
	if err := n.step(); err != nil {
		return err
	}
	t1, t2, err := contract.PublishedTrees(n.session.Parties(), root, excluded)
	if err != nil {
		return err
	}
	if tree == 2 && !n.sameTree {
		t1 = t2
	}
	return secagg.SumPublished(ctx, n.session, kind, t1, v)
}

func (n *network) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if err := n.step(); err != nil {
		return nil, err
	}
	return n.session.Broadcast(ctx, kind, n.contract.ClassOf(kind), root, data, limit)
}

func (n *network) Confirm(ctx context.Context) error { return n.session.Confirm(ctx) }

// memory is a Vault in memory.
type memory struct {
	states map[string][]byte
	logs   map[string][][]byte
}

func newVault() *memory {
	return &memory{states: make(map[string][]byte), logs: make(map[string][][]byte)}
}

func (m *memory) Load(name string) ([]byte, error) { return slices.Clone(m.states[name]), nil }

func (m *memory) Save(name string, data []byte) error {
	m.states[name] = slices.Clone(data)
	return nil
}

func (m *memory) Append(name string, record []byte) error {
	m.logs[name] = append(m.logs[name], slices.Clone(record))
	return nil
}

func (m *memory) Records(name string, most int, each func(record []byte) error) (int, error) {
	log := m.logs[name]
	if most >= 0 && most < len(log) {
		log = log[:most]
	}
	for _, record := range log {
		if err := each(record); err != nil {
			return 0, err
		}
	}
	m.logs[name] = slices.Clone(log)
	return len(log), nil
}

func (m *memory) Remove(name string) error {
	delete(m.states, name)
	delete(m.logs, name)
	return nil
}
