package node

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// prediction is this node's part of a joint prediction.
type prediction struct {
	node     *Node
	job      *protocol.Job
	model    *fdskl.Model
	contract keys.Hash // known once the session runs
	asked    *asked    // of a sealed one, once the session runs
}

// newPrediction finds the model part that a predict job names.
func (n *Node) newPrediction(job *protocol.Job) (*prediction, error) {
	m, err := n.modelOf(job.Model)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	if fmt.Sprint(m.Names) != fmt.Sprint(job.Parties) {
		return nil, fmt.Errorf("job %q: its parties are %v, the model was trained by %v in this order", job.Name, job.Parties, m.Names)
	}
	if m.Privacy != fdskl.Published && job.Privacy != m.Privacy || m.Privacy == fdskl.Published && job.Privacy == fdskl.Sealed {
		return nil, fmt.Errorf("job %q: privacy is %q, the model was trained %q", job.Name, job.Privacy, m.Privacy)
	}
	if m.Privacy == fdskl.Sealed {
		if err := n.checkSealed(job, m.Params); err != nil {
			return nil, err
		}
	}
	return &prediction{node: n, job: job, model: m}, nil
}

// load reads the rows to be scored.
func (p *prediction) load() (*dataset.Table, error) {
	return p.node.tables.loadFor(p.job.Table, p.model)
}

// facts implements task.
func (p *prediction) facts() (protocol.Facts, error) {
	if p.idle() {
		return p.node.idleFacts(), nil
	}
	table, err := p.load()
	if err != nil {
		return protocol.Facts{}, err
	}
	if _, err := vertical.PrepareScoring(table, p.model); err != nil {
		return protocol.Facts{}, err
	}
	active := len(p.model.Alpha) > 0 || p.sealed() && p.model.Params.Active[0] == p.node.name()
	return p.node.factsOf(table, len(p.model.Columns), active), nil
}

// disclose implements task.
func (p *prediction) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	if all[p.job.Index(p.job.OpenTo)].Role == roleHelper {
		return nil, nil, fmt.Errorf("job %q: open_to is %q, who brings no rows and could not say whose the scores are", p.job.Name, p.job.OpenTo)
	}
	rows, batch := rowsOf(all), fdskl.ScoreRows
	batches := batchesOf(rows)
	var more []protocol.Operation
	if n := p.job.Requests; n > 0 {
		rows, batch, batches = n, 1, n
		more = append(more, protocol.Operation{
			Kind: kindRequest, Stage: 1, Collective: protocol.CollectiveBroadcast, Root: p.job.OpenTo, Class: protocol.ClassOpening.String(),
			Encoding: protocol.Bytes.String(), Count: int64(n), Bytes: requestSize * int64(n),
		}, protocol.Confirms(int64(n)))
	}
	if p.sealed() && p.job.Requests == 0 {
		more = append(more, disclosesKnown(p.job, rows))
	}
	if p.sealed() {
		d, err := sealed.DisclosePrediction(p.model.Params, p.job.Parties, rows, batch, p.job.OpenTo)
		if err != nil {
			return nil, nil, fmt.Errorf("job %q: %w", p.job.Name, err)
		}
		return disclosed(p.job, all, d, more...)
	}
	d := fdskl.DisclosePrediction(p.model.Params, p.job.Privacy, p.job.Parties, columnCounts(all), rows, batches, p.job.OpenTo)
	return disclosed(p.job, all, d, more...)
}

// idle reports whether this party is a helper whose model part has no columns.
func (p *prediction) idle() bool { return p.sealed() && p.model.Normaliser == nil }

// sealed reports whether rows are scored by shares.
func (p *prediction) sealed() bool { return p.job.Privacy == fdskl.Sealed }

// scorer scores n rows, of which this party has a part unless it has no data: *openScorer from angles, *sealedScorer by
// shares. The scores come to the receiver alone. number is the opening's, from 1 on: the same rows have the same in all
// sessions.
type scorer interface {
	score(ctx context.Context, number, n int, t *dataset.Table) ([]float64, error)
}

// openScorer scores rows whose angles open.
type openScorer struct {
	*fdskl.Scorer
	model *fdskl.Model
}

// score implements scorer. What a party adds follows from its rows and its model part alone: it is the same whenever it
// is asked for.
func (s *openScorer) score(ctx context.Context, _, _ int, t *dataset.Table) ([]float64, error) {
	rows, err := vertical.PrepareScoring(t, s.model)
	if err != nil {
		return nil, err
	}
	return s.Score(ctx, []*kernel.Matrix{rows})
}

// newScorer prepares this party's part of the scoring.
func (p *prediction) newScorer(ctx context.Context, r *run, table *dataset.Table) (scorer, error) {
	if p.sealed() {
		return newSealedScorer(ctx, p, r, table)
	}
	s, err := fdskl.NewScorer(fdskl.Scoring{
		Self: r.session.Self(), Receiver: p.job.Index(p.job.OpenTo), Models: []*fdskl.Model{p.model},
		Network: r.network, Workers: p.node.config.Workers, Opened: r.opened,
	})
	return &openScorer{s, p.model}, err
}

// table reads the rows to be scored as they were consented to, nil at a helper without data.
func (p *prediction) table(r *run) (*dataset.Table, error) {
	if p.idle() {
		return nil, nil
	}
	table, err := p.load()
	if err != nil {
		return nil, err
	}
	return table, r.state.unchanged(table.Path, table.Sum)
}

// run implements task: rows are scored block by block, in the order of their ids.
func (p *prediction) run(ctx context.Context, r *run) (*Report, error) {
	table, err := p.table(r)
	if err != nil {
		return nil, err
	}
	if err := r.compareRows(ctx, table); err != nil {
		return nil, err
	}
	scorer, err := p.newScorer(ctx, r, table)
	if err != nil {
		return nil, err
	}
	if p.job.Requests > 0 {
		p.contract = r.hash()
		return p.serve(ctx, r, table, scorer)
	}
	scores, err := p.scoreAll(ctx, r, table, scorer)
	if err != nil {
		return nil, err
	}
	report := r.report(rows(r.state.contract))
	report.Known = r.state.snapshot().Known
	if p.job.OpenTo != p.node.name() {
		return report, nil
	}
	report.Scores = r.state.vault.Path(ScoresFile)
	return report, writeScores(report.Scores, table.IDs, scores, p.model)
}

// batchesOf is in how many batches so many rows are scored.
func batchesOf(rows int) int { return (rows + fdskl.ScoreRows - 1) / fdskl.ScoreRows }

// scoreAll scores all rows. What opened in an earlier session comes again as it was.
func (p *prediction) scoreAll(ctx context.Context, r *run, table *dataset.Table, scorer scorer) ([]float64, error) {
	n := rows(r.state.contract)
	var scores []float64
	for lo := 0; lo < n; lo += fdskl.ScoreRows {
		hi := min(lo+fdskl.ScoreRows, n)
		var part *dataset.Table
		if table != nil {
			part = table.Slice(lo, hi)
		}
		f, err := scorer.score(ctx, lo/fdskl.ScoreRows+1, hi-lo, part)
		if err != nil {
			return nil, err
		}
		scores = append(scores, f...)
		r.progress(fdskl.Progress{Step: "scores", Done: hi, Total: n})
	}
	return scores, nil
}

// writeScores writes the predictions: id, score, and for classes the label and, where the loss
// gives one, the probability of the second class.
func writeScores(path string, ids []string, scores []float64, m *fdskl.Model) error {
	var b bytes.Buffer
	if err := renderScores(&b, ids, scores, m); err != nil {
		return err
	}
	return durable.WriteFile(path, b.Bytes())
}

// renderScores renders a scores file.
func renderScores(b *bytes.Buffer, ids []string, scores []float64, m *fdskl.Model) error {
	w := csv.NewWriter(b)
	w.Write(scoreHeader(m))
	for i, id := range ids {
		w.Write(scoreRow(id, scores[i], m))
	}
	w.Flush()
	return w.Error()
}

// scoreHeader names the columns of a scores file.
func scoreHeader(m *fdskl.Model) []string {
	switch {
	case m.Params.Target == fdskl.Regression:
		return []string{"id", "prediction"}
	case m.Params.Loss == kernel.Logistic.String():
		return []string{"id", "score", m.Params.Label, "probability"}
	}
	return []string{"id", "score", m.Params.Label}
}

// scoreRow renders one prediction.
func scoreRow(id string, score float64, m *fdskl.Model) []string {
	if m.Params.Target == fdskl.Regression {
		return []string{id, number(m.Unit(score))}
	}
	class := m.Classes[0]
	if score > 0 {
		class = m.Classes[1]
	}
	row := []string{id, number(score), class}
	if m.Params.Loss == kernel.Logistic.String() {
		row = append(row, number(fdskl.Calibrated(score)))
	}
	return row
}

// number renders a score.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
