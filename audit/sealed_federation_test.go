package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/rss"
)

// threes is a sealed training, and predictions with what it makes, of four parties: p0 has the labels, p1 is the
// keeper, p2 the helper, p3 is outside.
type threes struct {
	*training
	written fdskl.Params // what the job says, without defaults
	rows    int
	columns []*evidence.Columns
	models  []*fdskl.Model
	idle    int             // the party without data; -1: none
	scoring []*joint.Memory // of the latest prediction

	pads func(rss.Source) rss.Source // changes the pads of the three; nil: nothing

	shards  int                  // of the job; 0: none
	sharded []contract.Operation // of all of them
	// sums makes them, at party i in its session.
	sums func(ctx context.Context, i int, s *protocol.Session, b *sealed.Begun) ([]sealed.Sums, error)
}

// newThrees agrees on a sealed training over so many rows; payloads are kept.
func newThrees(t testing.TB, rows, idle int, p fdskl.Params) *threes {
	t.Helper()
	f := &threes{training: &training{testNetwork: newTestNetwork(t, 4), privacy: fdskl.Sealed}, rows: rows, idle: idle}
	p.Active, p.Label, p.Keeper, p.Helper = f.names[:1], "y", "p1", "p2"
	if !p.Binned() {
		p.Seed = "seed"
	}
	if p.Loss == "" {
		p.Loss = "square"
	}
	f.written, f.params = p, sealed.WithDefaults(p.WithDefaults())
	rng := rand.New(rand.NewPCG(1, 4))
	signal := make([]float64, rows)
	for i := range f.names {
		f.vaults = append(f.vaults, joint.NewMemory())
		part, columns := fdskl.Part{}, (*evidence.Columns)(nil)
		if i != idle {
			part = f.part(i, rng, signal)
			columns = evidence.NewColumns(part.Rows)
			columns.Confirmed = true
		}
		f.parts, f.columns = append(f.parts, part), append(f.columns, columns)
	}
	f.labels = &joint.Labels{Classes: []string{"good", "bad"}}
	for _, s := range signal {
		f.labels.Values = append(f.labels.Values, math.Copysign(1, s))
	}
	f.columns[0].Labels = f.labels.Values
	var err error
	if f.params, err = sealed.WithFacts(f.params, f.facts()); err != nil {
		t.Fatal(err)
	}
	d, err := sealed.Disclose(f.outline())
	mustDo(t, err)
	f.sign(contract.TaskTrain, d)
	f.keep()
	return f
}

// outline is the training.
func (f *threes) outline() fdskl.Outline {
	return fdskl.Outline{Params: f.params, Privacy: fdskl.Sealed, Parties: f.names, Rows: f.rows}
}

// sign makes the contract that all sign.
func (f *threes) sign(task string, d joint.Disclosure) {
	f.t.Helper()
	job := contract.Job{Format: "hanse-job-v1", Name: "test", Algorithm: "fdskl", Task: task, Table: "train",
		Privacy: f.privacy, Parties: f.names, Topology: f.topology.String(), Charter: f.charter.Digest().String(),
		Shards: f.shards}
	if f.params.Binned() {
		job.Algorithm = contract.GLM
	}
	if task == contract.TaskPredict {
		job.Model, job.OpenTo = keys.HashOf("test model").String(), "p3"
		for _, m := range f.models {
			m.Contract = keys.HashOf("test model")
		}
	}
	var text bytes.Buffer
	if task == contract.TaskTrain {
		if err := errors.Join(toml.NewEncoder(&text).Encode(f.written),
			toml.Unmarshal(text.Bytes(), &job.Parameters)); err != nil {
			f.t.Fatal(err)
		}
		for _, name := range fdskl.OfKernels() {
			if f.params.Binned() {
				delete(job.Parameters, name)
			}
		}
	}
	facts := f.facts()
	operations := append([]contract.Operation{contract.Rowset()}, d.Operations...)
	if f.shards > 0 {
		operations = append(operations, contract.ShardsCompared())
	}
	var err error
	if f.contract, err = contract.NewContract(&job, facts, d.Openings,
		append(contract.SessionOperations(len(facts), operations), f.sharded...)); err != nil {
		f.t.Fatal(err)
	}
	for _, k := range f.keys {
		f.contract.Sign(k)
	}
}

// facts are what the parties say of their tables.
func (f *threes) facts() []contract.Facts {
	var facts []contract.Facts
	for i, m := range f.members {
		fact := contract.Facts{Name: m.Name, ID: m.ID, Role: "passive", Rows: f.rows, Columns: 3}
		switch i {
		case 0:
			fact.Role = "active"
		case f.idle:
			fact = contract.Facts{Name: m.Name, ID: m.ID, Role: "helper"}
		}
		if f.params.Binned() && i != f.idle {
			fact.Bins = len(f.parts[i].Rows.Binary)
		}
		facts = append(facts, fact)
	}
	return facts
}

// learn runs a session of the training; party who fails at its operation at, at 0 nobody does.
func (f *threes) learn(who, at int, failure error) []error {
	f.models = make([]*fdskl.Model, len(f.names))
	return f.run(func(ctx context.Context, i int, s *protocol.Session) error {
		n, err := f.network(ctx, i, s)
		if err != nil {
			return err
		}
		if _, err := s.CompareRows(ctx, keys.HashOf("test rows"), f.contract.Holders()); err != nil {
			return err
		}
		if i == who {
			n.at, n.failure = at, failure
		}
		p := &fdskl.Party{Self: i, Names: f.names, Params: f.params, Privacy: f.privacy, Rows: f.rows,
			Vault: f.vaults[i], Workers: 1}
		if i != f.idle {
			p.Parts = []fdskl.Part{f.parts[i]}
		}
		if i == 0 {
			p.Labels = f.labels
		}
		var bins *fdskl.Part
		if f.params.Binned() && i != f.idle {
			p.Parts, bins = nil, &f.parts[i]
		}
		v, err := vault.Open(f.t.TempDir(), vault.Options{})
		if err != nil {
			return err
		}
		var sums func(context.Context, *sealed.Begun) ([]sealed.Sums, error)
		if f.sums != nil {
			sums = func(ctx context.Context, b *sealed.Begun) ([]sealed.Sums, error) { return f.sums(ctx, i, s, b) }
		}
		f.models[i], err = sealed.Train(ctx,
			&sealed.Party{Sums: sums, Party: p, Bins: bins, Network: n, Session: f.session, Owner: f.members[i].ID, SaveEvery: 1,
				Scratch: func(bytes int64) (joint.Scratch, error) { return v.Scratch("features", bytes) }})
		return err
	})
}

// predict agrees on a prediction of the training's rows, to p3, and runs it.
func (f *threes) predict() []error {
	f.t.Helper()
	o := f.outline()
	o.Receiver = "p3"
	d, err := sealed.Disclose(o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.sign(contract.TaskPredict, d)
	f.dir = f.t.TempDir()
	f.stores, f.scoring = nil, nil
	f.keep()
	for range f.names {
		f.scoring = append(f.scoring, joint.NewMemory())
	}
	return f.score(-1, 0, nil)
}

// score runs a session of the prediction; party who fails at its operation at, at 0 nobody does.
func (f *threes) score(who, at int, failure error) []error {
	var ids []string
	for j := range f.rows {
		ids = append(ids, string(binary.BigEndian.AppendUint32(nil, uint32(j))))
	}
	return f.run(func(ctx context.Context, i int, s *protocol.Session) error {
		n, err := f.network(ctx, i, s)
		if err != nil {
			return err
		}
		if _, err := s.CompareRows(ctx, keys.HashOf("test rows"), f.contract.Holders()); err != nil {
			return err
		}
		if i == who {
			n.at, n.failure = at, failure
		}
		scorer, err := sealed.NewScorer(ctx,
			sealed.Scoring{Self: i, Receiver: 3, Model: f.models[i], Network: n, Vault: f.scoring[i], Session: f.session,
				Openings: (f.rows + joint.ScoreRows - 1) / joint.ScoreRows, Workers: 1})
		if err != nil {
			return err
		}
		var rows []*kernel.Matrix
		if i != f.idle {
			rows = append(rows, f.parts[i].Rows)
		}
		_, err = scorer.Score(ctx, 1, f.rows, rows, ids)
		return err
	})
}

// network is party i's session as sealed jobs see it.
func (f *threes) network(ctx context.Context, i int, s *protocol.Session) (*paddedNetwork, error) {
	inner, err := f.training.network(ctx, s)
	if err != nil {
		return nil, err
	}
	n := &paddedNetwork{network: inner, session: s, pads: f.pads}
	n.sums, err = secagg.NewMasked(s, f.config(i).IDs, f.topology)
	return n, err
}

// input is what an auditor has who knows everything.
func (f *threes) input() *evidence.Input {
	in := &evidence.Input{Contract: f.contract, Charter: f.charter, Sources: f.sources(),
		Columns: slices.Clone(f.columns), Workers: 1}
	if f.contract.Job.Task == contract.TaskPredict {
		data, err := f.models[0].Encode()
		if err == nil {
			in.Model, err = sealed.ReadPart(data)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return in
}

func (f *threes) audited(in *evidence.Input) *finding.Report {
	f.t.Helper()
	r, err := Run(f.t.Context(), in)
	if err != nil {
		f.t.Fatal(err)
	}
	wantJSON(f.t, r)
	return r
}

// paddedNetwork is a session as sealed jobs see it, whose pads may be other than they should.
type paddedNetwork struct {
	*network
	session *protocol.Session
	sums    *secagg.Masked
	pads    func(rss.Source) rss.Source
}

// BeginPadded implements joint.SealedNetwork.
func (n *paddedNetwork) BeginPadded(
	ctx context.Context, kind string, root int, v []uint16,
) (end func(context.Context) error, err error) {
	if err := n.step(); err != nil {
		return nil, err
	}
	return n.sums.BeginPadded(ctx, kind, root, v)
}

// Ask implements joint.SealedNetwork.
func (n *paddedNetwork) Ask(ctx context.Context, root int, kind string, count, number int) error {
	return n.session.Ask(ctx, root, kind, count, number)
}

// SumPacked implements joint.SealedNetwork.
func (n *paddedNetwork) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	if err := n.step(); err != nil {
		return err
	}
	return n.sums.SumPacked(ctx, kind, root, bits, v)
}

// Three implements joint.SealedNetwork.
func (n *paddedNetwork) Three(parties [rss.Roles]int) (*rss.Party, error) {
	role := rss.Outside
	var with [rss.Roles]rss.Derive
	for r, i := range parties {
		if i == n.session.Self() {
			role = rss.Role(r)
		} else {
			with[r] = n.session.Pair(i).Derive
		}
	}
	w := &paddedWire{rss.NewWire(n.session, parties), n}
	if role == rss.Outside {
		return rss.New(role, w, nil, 1), nil
	}
	var source rss.Source = rss.NewPads(role, with, n.session.Shared)
	if n.pads != nil {
		source = n.pads(source)
	}
	return rss.New(role, w, source, 1), nil
}

// paddedWire is the wires of a session, that may break at any message of the three.
type paddedWire struct {
	rss.Wire
	network *paddedNetwork
}

// BeginPass implements rss.Wire.
func (w *paddedWire) BeginPass(
	ctx context.Context, kind string, from, to rss.Role, bits, n int, words []uint64,
) (end func(context.Context) error, err error) {
	if err := w.network.step(); err != nil {
		return nil, err
	}
	return w.Wire.BeginPass(ctx, kind, from, to, bits, n, words)
}

// otherPads is pads of which some are other ones.
type otherPads struct {
	rss.Source
	pad func(unknown rss.Role, step uint64, use rss.Use) rss.Pad // nil where the pad is as it should be
}

// Pad implements rss.Source.
func (c *otherPads) Pad(unknown rss.Role, at rss.Place, use rss.Use) (rss.Pad, error) {
	pad, err := c.Source.Pad(unknown, at, use)
	if other := c.pad(unknown, at.Number, use); other != nil {
		return other, err
	}
	return pad, err
}

// zeros is no pad at all.
type zeros struct{}

// Words implements rss.Pad.
func (zeros) Words(dst []uint64, _ int) { clear(dst) }

// fixed is a pad that follows from a seed alone.
type fixed [32]byte

// Words implements rss.Pad.
func (f fixed) Words(dst []uint64, at int) {
	source := rand.NewChaCha8(f)
	for range at {
		source.Uint64()
	}
	for i := range dst {
		dst[i] = source.Uint64()
	}
}
