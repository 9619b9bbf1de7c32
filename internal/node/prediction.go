package node

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
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
	if m.Privacy == fdskl.Masked && job.Privacy != fdskl.Masked {
		return nil, fmt.Errorf("job %q: privacy is %q, the model was trained %q", job.Name, job.Privacy, m.Privacy)
	}
	return &prediction{node: n, job: job, model: m}, nil
}

// load reads the rows to be scored.
func (p *prediction) load() (*dataset.Table, error) {
	return p.node.tables.load(p.job.Table, "", p.model.Fills)
}

// facts implements task.
func (p *prediction) facts() (protocol.Facts, error) {
	table, err := p.load()
	if err != nil {
		return protocol.Facts{}, err
	}
	if _, err := vertical.PrepareScoring(table, p.model); err != nil {
		return protocol.Facts{}, err
	}
	return p.node.factsOf(table, len(p.model.Columns), len(p.model.Alpha) > 0), nil
}

// disclose implements task.
func (p *prediction) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	rows := all[0].Rows
	batches := (rows + fdskl.ScoreRows - 1) / fdskl.ScoreRows
	var more []protocol.Operation
	if n := p.job.Requests; n > 0 {
		rows, batches = n, n
		more = append(more, protocol.Operation{
			Kind: kindRequest, Stage: 1, Collective: protocol.CollectiveBroadcast, Root: p.job.OpenTo, Class: protocol.ClassOpening.String(),
			Encoding: protocol.Bytes.String(), Count: int64(n), Bytes: 4 * int64(n),
		})
	}
	d := fdskl.DisclosePrediction(p.model.Params, p.job.Privacy, p.job.Parties, columnCounts(all), rows, batches, p.job.OpenTo)
	return disclosed(p.job, d, more...)
}

// run implements task: rows are scored block by block, in the order of their ids.
func (p *prediction) run(ctx context.Context, r *run) (*Report, error) {
	table, err := p.load()
	if err != nil {
		return nil, err
	}
	if err := r.state.unchanged(table); err != nil {
		return nil, err
	}
	scorer, err := fdskl.NewScorer(fdskl.Scoring{
		Self: r.session.Self(), Receiver: p.job.Index(p.job.OpenTo), Models: []*fdskl.Model{p.model},
		Network: r.network, Workers: p.node.config.Workers, Opened: r.opened,
	})
	if err != nil {
		return nil, err
	}
	if p.job.Requests > 0 {
		p.contract = r.hash()
		return p.serve(ctx, r, table, scorer)
	}
	var scores []float64
	for lo := 0; lo < table.Rows(); lo += fdskl.ScoreRows {
		hi := min(lo+fdskl.ScoreRows, table.Rows())
		rows, err := vertical.PrepareScoring(table.Slice(lo, hi), p.model)
		if err != nil {
			return nil, err
		}
		f, err := scorer.Score(ctx, []*kernel.Matrix{rows})
		if err != nil {
			return nil, err
		}
		scores = append(scores, f...)
		r.progress(fdskl.Progress{Step: "scores", Done: hi, Total: table.Rows()})
	}
	report := r.report(table.Rows())
	if p.job.OpenTo != p.node.name() {
		return report, nil
	}
	report.Scores = r.state.vault.Path("scores.csv")
	return report, writeScores(report.Scores, table.IDs, scores, p.model)
}

// writeScores writes the predictions: id, score, and for classes the label and, where the loss
// gives one, the probability of the second class.
func writeScores(path string, ids []string, scores []float64, m *fdskl.Model) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	b := bufio.NewWriter(f)
	w := csv.NewWriter(b)
	w.Write(scoreHeader(m))
	for i, id := range ids {
		w.Write(scoreRow(id, scores[i], m))
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return b.Flush()
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
