package node

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/rss"
)

// roleHelper is the role of a party that holds shares and no data.
const roleHelper = "helper"

// hasTable reports whether this node has a job's table. Of a sealed job's parties the helper needs none.
func (n *Node) hasTable(job *protocol.Job) bool {
	_, ok := n.tables.specs[job.Table]
	return ok
}

// idle reports whether this node is the helper of a sealed job and brings no data to it.
func (n *Node) idle(job *protocol.Job, p fdskl.Params) bool {
	return job.Privacy == fdskl.Sealed && p.Helper == n.name() && !n.hasTable(job)
}

// idleFacts is what a party without data says of it.
func (n *Node) idleFacts() protocol.Facts {
	return protocol.Facts{Name: n.name(), ID: n.config.Key.ID(), Role: roleHelper}
}

// sealing is this node's part of a sealed training.
type sealing struct{ *training }

// newSealing reads a sealed training job's parameters and checks its roles.
func (n *Node) newSealing(job *protocol.Job) (*sealing, error) {
	t, err := n.newTraining(job)
	if err != nil {
		return nil, err
	}
	t.params = sealed.WithDefaults(t.params)
	if err := n.checkSealed(job, t.params); err != nil {
		return nil, err
	}
	return &sealing{t}, nil
}

// checkSealed checks what a sealed job asks of its parameters, and that no two of the three that hold shares
// are affiliated.
func (n *Node) checkSealed(job *protocol.Job, p fdskl.Params) error {
	if err := sealed.Validate(p, job.Parties); err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	charter := n.currentCharter()
	three := []string{p.Active[0], p.Keeper, p.Helper}
	for i, a := range three {
		for _, b := range three[:i] {
			if charter.Affiliated(a, b) {
				return fmt.Errorf("job %q: %s and %s are affiliated in charter %q: together they could rebuild everything, so no two of label holder, keeper and helper may be", job.Name, b, a, charter.Name)
			}
		}
	}
	return nil
}

// completeSealed fills in what the proposer of a sealed training left open: the loss that opens nothing of the
// rows, and the keeper and the helper, the first parties that may hold shares beside the label holder.
func (n *Node) completeSealed(job *protocol.Job) error {
	if err := checkSealable(job); err != nil {
		return err
	}
	if job.Parameters == nil {
		job.Parameters = make(map[string]any)
	}
	if job.Parameters["loss"] == nil {
		job.Parameters["loss"] = kernel.Square.String()
	}
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	charter := n.currentCharter()
	three := []string{p.Active[0], p.Keeper, p.Helper}
	for place, role := range []string{"", "keeper", "helper"} {
		if place == 0 || three[place] != "" {
			continue
		}
		for _, name := range job.Parties {
			if three[place] == "" && free(charter, three, name) {
				three[place] = name
				job.Parameters[role] = name
			}
		}
		if three[place] == "" {
			return fmt.Errorf("job %q: none of its parties can be the %s: it must be another than the label holder and affiliated with nobody who holds shares; add a member of the charter to the job, it needs no data", job.Name, role)
		}
	}
	return nil
}

// free reports whether a party may hold shares beside those who do.
func free(charter *keys.SignedCharter, three []string, name string) bool {
	for _, other := range three {
		if other == name || other != "" && charter.Affiliated(other, name) {
			return false
		}
	}
	return true
}

// facts implements task.
func (s *sealing) facts() (protocol.Facts, error) {
	if s.node.idle(s.job, s.params) {
		return s.node.idleFacts(), nil
	}
	return s.training.facts()
}

// disclose implements task.
func (s *sealing) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	d, err := sealed.DiscloseTraining(s.params, s.job.Parties, rowsOf(all))
	if err != nil {
		return nil, nil, fmt.Errorf("job %q: %w", s.job.Name, err)
	}
	return disclosed(s.job, all, d)
}

// run implements task.
func (s *sealing) run(ctx context.Context, r *run) (*Report, error) {
	party, prepared, err := s.party(ctx, r)
	if err != nil {
		return nil, err
	}
	m, err := sealed.Train(ctx, &sealed.Party{Party: party, Network: r.sealed, Session: r.number, Owner: s.node.config.Key.ID()})
	if err != nil {
		return nil, err
	}
	m.Contract, m.Columns, m.Fills = r.state.contract.Hash(), prepared.columns, prepared.fills
	if err := r.state.saveModel(r.number, m); err != nil {
		return nil, err
	}
	report := r.report(party.Rows)
	report.Sigma = m.Sigma
	if s.active() {
		report.Trained = &Training{Iterations: s.params.Iterations * max(1, s.params.Outer)}
	}
	return report, nil
}

// prepared is what a model part keeps of a table.
type prepared struct {
	columns []string
	fills   map[string]float64
}

// party is this node's part as the algorithm wants it, once the row ids are compared; of an idle helper without data.
func (s *sealing) party(ctx context.Context, r *run) (*fdskl.Party, prepared, error) {
	p := &fdskl.Party{
		Self: r.session.Self(), Names: s.job.Parties, Params: s.params, Privacy: s.job.Privacy, Rows: rows(r.state.contract),
		Vault: r.state.vault, Workers: s.node.config.Workers, Report: r.progress, Opened: r.opened,
	}
	if s.node.idle(s.job, s.params) {
		return p, prepared{}, r.compareRows(ctx, nil)
	}
	table, err := s.load()
	if err != nil {
		return nil, prepared{}, err
	}
	if err := r.state.unchanged(table.Path, table.Sum); err != nil {
		return nil, prepared{}, err
	}
	if err := r.compareRows(ctx, table); err != nil {
		return nil, prepared{}, err
	}
	own, err := vertical.PrepareTraining(table, s.params, s.active())
	if err != nil {
		return nil, prepared{}, err
	}
	phase, err := r.state.phase()
	if err != nil {
		return nil, prepared{}, err
	}
	p.Parts = []fdskl.Part{{Owner: s.node.config.Key.ID(), Normaliser: own.Normaliser, Rows: own.Rows, Phase: phase}}
	p.Labels = own.Labels
	return p, prepared{own.Columns, table.Fills}, nil
}

// sealedScorer scores rows by shares.
type sealedScorer struct {
	*sealed.Scorer
	model *fdskl.Model
	asked *asked
}

// newSealedScorer prepares this party's part of a sealed prediction. Before it returns all have been told which rows are
// asked for, and none of them was scored as often as it may be; single rows are looked at one by one. table is nil at a
// helper without data.
func newSealedScorer(ctx context.Context, p *prediction, r *run, table *dataset.Table) (*sealedScorer, error) {
	a, err := p.newAsked(r)
	if err != nil {
		return nil, err
	}
	p.asked = a
	openings, known := p.job.Requests, []byte(nil)
	if openings == 0 {
		openings = batchesOf(rows(r.state.contract))
		if known, err = a.tellKnown(ctx, p, r, table); err != nil {
			return nil, err
		}
	}
	s, err := sealed.NewScorer(ctx, sealed.Scoring{
		Self: r.session.Self(), Receiver: p.job.Index(p.job.OpenTo), Model: p.model, Network: r.sealed, Vault: r.state.vault, Session: r.number,
		Openings: openings, Singly: p.job.Requests > 0, Workers: p.node.config.Workers, Opened: r.opened,
		Asked: a.of, Book: a.book,
	}) // it confirms what was told
	if err == nil && known != nil {
		err = a.settle(r, known, table)
	}
	return &sealedScorer{s, p.model, a}, err
}

// score implements scorer.
func (s *sealedScorer) score(ctx context.Context, number, n int, t *dataset.Table) ([]float64, error) {
	if t == nil {
		return s.Score(ctx, number, n, nil, nil)
	}
	rows, err := vertical.PrepareScoring(t, s.model)
	if err != nil {
		return nil, err
	}
	s.asked.ids = t.IDs
	scores, err := s.Score(ctx, number, n, []*kernel.Matrix{rows}, t.IDs)
	if err == nil && scores != nil {
		err = s.asked.keep(number, scores)
	}
	return scores, err
}

// SealedNetwork is a session as package sealed sees it.
type SealedNetwork struct {
	announcer
	masked  *secagg.Masked
	workers int
}

// NewSealedNetwork wraps the session of a sealed job; workers bounds the goroutines of its arithmetic.
func NewSealedNetwork(s *protocol.Session, c *protocol.Contract, workers int) (*SealedNetwork, error) {
	masked, err := maskedSums(s, c)
	return &SealedNetwork{announcer: announcer{s, c}, masked: masked, workers: workers}, err
}

// SumPadded implements sealed.Network.
func (n *SealedNetwork) SumPadded(ctx context.Context, kind string, root int, v []uint16) error {
	return n.masked.SumPadded(ctx, kind, root, v)
}

// SumPacked implements sealed.Network.
func (n *SealedNetwork) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	return n.masked.SumPacked(ctx, kind, root, bits, v)
}

// Three implements sealed.Network.
func (n *SealedNetwork) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.Join(n.Session, parties, n.workers)
}
