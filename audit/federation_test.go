package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// federation is a training of four parties with three columns each, audited as its users do it.
type federation struct {
	*training
	rows     int
	columns  []*evidence.Columns
	sabotage masks // of the sums of angles; nil: honest ones

	encrypted bool // its sums, which are masked otherwise
}

// newFederation agrees on a training over so many rows; payloads are kept.
func newFederation(
	t testing.TB, rows, active int, privacy string, topology contract.Topology, p fdskl.Params,
) *federation {
	t.Helper()
	const q = 4
	f := &federation{training: &training{testNetwork: newTestNetwork(t, q), privacy: privacy}, rows: rows}
	f.topology = topology
	p.Active, p.Label, p.Seed = f.names[:active], "y", "seed"
	f.params = p.WithDefaults()
	rng := rand.New(rand.NewPCG(1, q))
	signal := make([]float64, rows)
	for i := range q {
		f.parts = append(f.parts, f.part(i, rng, signal))
		f.vaults = append(f.vaults, joint.NewMemory())
	}
	f.labels = &joint.Labels{Classes: []string{"good", "bad"}}
	for _, s := range signal {
		f.labels.Values = append(f.labels.Values, math.Copysign(1, s))
	}
	for i := range q {
		c := evidence.NewColumns(f.parts[i].Rows)
		c.Confirmed = true
		if i < active {
			c.Labels = f.labels.Values
		}
		f.columns = append(f.columns, c)
	}
	f.sign(active)
	f.keep()
	return f
}

// sign makes the contract that all sign.
func (f *federation) sign(active int) {
	f.t.Helper()
	job := contract.Job{Format: "hanse-job-v1", Name: "test", Algorithm: "fdskl", Task: contract.TaskTrain, Table: "train",
		Privacy: f.privacy, Parties: f.names, Topology: f.topology.String(),
		Charter: f.charter.Digest().String()}
	var text strings.Builder
	if err := toml.NewEncoder(&text).Encode(f.params); err != nil {
		f.t.Fatal(err)
	}
	if err := toml.Unmarshal([]byte(text.String()), &job.Parameters); err != nil {
		f.t.Fatal(err)
	}
	d, err := fdskl.Disclose(fdskl.Outline{Params: f.params, Privacy: f.privacy, Parties: f.names,
		Columns: []int{3, 3, 3, 3}, Rows: f.rows})
	if err != nil {
		f.t.Fatal(err)
	}
	operations := d.Operations
	if f.encrypted {
		job.Aggregation = contract.AggregateHE
		if operations, err = wired.Encrypted(operations, f.names); err != nil {
			f.t.Fatal(err)
		}
	}
	if f.contract, err = contract.NewContract(&job, f.facts(active), d.Openings,
		contract.SessionOperations(len(f.members), operations)); err != nil {
		f.t.Fatal(err)
	}
	for _, k := range f.keys {
		f.contract.Sign(k)
	}
}

// facts are what the parties say of their tables.
func (f *federation) facts(active int) []contract.Facts {
	var facts []contract.Facts
	for i, m := range f.members {
		role := "passive"
		if i < active {
			role = "active"
		}
		facts = append(facts, contract.Facts{Name: m.Name, ID: m.ID, Role: role, Rows: f.rows, Columns: 3})
	}
	return facts
}

// learn runs a session in which party who fails at its operation number at; at 0 nobody does.
func (f *federation) learn(who, at int, failure error) []error {
	return f.run(func(ctx context.Context, i int, s *protocol.Session) error {
		inner, err := f.network(ctx, s)
		if err != nil {
			return err
		}
		n := &faultyNetwork{network: inner, session: s, topology: f.topology, masks: f.sabotage}
		if i == who {
			n.at, n.failure = at, failure
		}
		p := &fdskl.Party{Self: i, Names: f.names, Params: f.params, Privacy: f.privacy,
			Parts: []fdskl.Part{f.parts[i]}, Rows: f.rows,
			Network: n, Vault: f.vaults[i], Workers: 1}
		if slices.Contains(f.params.Active, f.names[i]) {
			p.Labels = f.labels
		}
		_, err = fdskl.Train(ctx, p)
		return err
	})
}

// input is what an auditor has who knows everything.
func (f *federation) input() *evidence.Input {
	return &evidence.Input{Contract: f.contract, Charter: f.charter, Sources: f.sources(),
		Columns: slices.Clone(f.columns), Workers: 1}
}
