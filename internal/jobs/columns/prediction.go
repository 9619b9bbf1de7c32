package columns

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// prediction is this node's part of a joint prediction.
type prediction struct {
	joint.Prediction
	member   *Jobs
	job      *contract.Job
	model    *joint.Model
	contract keys.Hash // known once the session runs
	asked    *asked    // of a sealed one, once the session runs
	reading  reading   // of one that answers single rows, once the session runs
}

// newPrediction finds the model part that a predict job names.
func (j *Jobs) newPrediction(job *contract.Job) (*prediction, error) {
	part, trained, err := j.modelOf(job.Model)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	m := part.Model()
	if fmt.Sprint(m.Names) != fmt.Sprint(job.Parties) {
		return nil, fmt.Errorf("job %q: its parties are %v, the model was trained by %v in this order", job.Name,
			job.Parties, m.Names)
	}
	if m.Privacy != keys.PrivacyPublished && job.Privacy != m.Privacy || m.Privacy == keys.PrivacyPublished &&
		job.Privacy == keys.PrivacySealed {
		return nil, fmt.Errorf("job %q: privacy is %q, the model was trained %q", job.Name, job.Privacy, m.Privacy)
	}
	if job.Algorithm != trained.Algorithm { // a policy may go by it
		return nil, fmt.Errorf("job %q: algorithm is %q, the model was trained by %q", job.Name, job.Algorithm,
			trained.Algorithm)
	}
	read, err := part.Predict(job)
	if err != nil {
		return nil, wrongRoles(job, err)
	}
	return &prediction{Prediction: read, member: j, job: job, model: m}, j.apart(job, &m.Goal)
}

// load reads the rows to be scored.
func (p *prediction) load() (*dataset.Table, error) {
	a, err := p.member.alignmentOf(p.job)
	if err != nil {
		return nil, err
	}
	return p.member.Tables.LoadFor(p.job.Table, p.model, a)
}

// Facts implements jobs.Task.
func (p *prediction) Facts() (contract.Facts, error) {
	if p.idle() {
		return p.member.idleFacts(), nil
	}
	table, err := p.load()
	if err != nil {
		return contract.Facts{}, err
	}
	rows, err := vertical.PrepareScoring(table, p.model)
	if err != nil {
		return contract.Facts{}, err
	}
	p.member.looks.at(rows)
	active := p.model.Holds || p.sealed() && p.model.Goal.Active[0] == p.member.Name()
	return p.member.factsOf(table, len(p.model.Columns), active), nil
}

// Disclose implements jobs.Task.
func (p *prediction) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	if all[p.job.Index(p.job.OpenTo)].Role == joint.RoleHelper {
		return nil, nil, fmt.Errorf("job %q: open_to is %q, who brings no rows and could not say whose the scores are",
			p.job.Name, p.job.OpenTo)
	}
	var more []contract.Operation
	if n := p.job.Requests; n > 0 {
		more = append(more, contract.Operation{
			Kind: trace.KindRequest, Stage: 1, Collective: contract.CollectiveBroadcast, Root: p.job.OpenTo,
			Class:    contract.ClassOpening.String(),
			Encoding: contract.Bytes.String(), Count: int64(n), Bytes: trace.RequestSize * int64(n),
		}, contract.Confirms(int64(n)))
	} else if p.sealed() {
		more = append(more, contract.Operation{ // by which the receiver says which scores it has
			Kind: kindKnown, Stage: 1, Collective: contract.CollectiveBroadcast, Root: p.job.OpenTo,
			Class: contract.ClassOpening.String(), Encoding: contract.Bytes.String(), Count: 1,
			Bytes: int64(knownSize(contract.RowsOf(all))),
		})
	}
	return wired.Disclose(p.job, all, p, more...)
}

// idle reports whether this party is a helper whose model part has no columns.
func (p *prediction) idle() bool { return p.sealed() && p.model.Normaliser == nil }

// sealed reports whether rows are scored by shares.
func (p *prediction) sealed() bool { return p.job.Privacy == keys.PrivacySealed }

// scorer prepares this party's part of a session that scores rows. Before it returns all have been told which rows of a
// sealed job are asked for, and none of them was scored as often as it may be; single rows are looked at one by one.
// table is nil at a helper without data.
func (p *prediction) scorer(ctx context.Context, r *session, table *dataset.Table) (joint.Scorer, error) {
	o := joint.Scoring{Receiver: p.job.Index(p.job.OpenTo), Openings: p.job.Requests, Singly: p.job.Requests > 0}
	if !o.Singly {
		o.Openings = batchesOf(r.Contract().Rows())
	}
	var known []byte
	var err error
	if p.sealed() {
		if p.asked, err = p.newAsked(r); err != nil {
			return nil, err
		}
		o.Asked, o.Record = p.asked.of, p.asked.record
		if !o.Singly {
			if known, err = p.asked.sendKnown(ctx, p, r, table); err != nil {
				return nil, err
			}
		}
	}
	if p.job.Shards > 0 && table != nil {
		if o.Rows, err = vertical.PrepareScoring(table, p.model); err != nil {
			return nil, err
		}
		o.IDs = table.IDs
	}
	scorer, err := p.Scorer(ctx, r.joint(p), o) // it confirms what was told
	if err == nil && known != nil {
		err = p.asked.settle(r, known, table)
	}
	return scorer, err
}

// score scores n rows, of which this party has a part unless it has no data. The scores, of each row as many as the
// model has, come to the receiver alone. number is the opening's, from 1 on: the same rows have the same in all
// sessions.
func (p *prediction) score(ctx context.Context, scorer joint.Scorer, number, n int, t *dataset.Table) ([]float64,
	error) {
	if t == nil {
		return scorer.Score(ctx, number, n, nil, nil)
	}
	var rows *kernel.Matrix
	var err error
	if p.job.Shards == 0 { // else workers have scored them
		if rows, err = vertical.PrepareScoring(t, p.model); err != nil {
			return nil, err
		}
	}
	if p.asked != nil {
		p.asked.ids = t.IDs
	}
	scores, err := scorer.Score(ctx, number, n, rows, t.IDs)
	if err == nil && scores != nil && p.asked != nil {
		err = p.asked.keep(number, scores)
	}
	return scores, err
}

// run implements part: rows are scored block by block, in the order of their ids.
func (p *prediction) run(ctx context.Context, r *session) (*jobs.Report, error) {
	// The rows as they were consented to; a helper has none.
	var table *dataset.Table
	if !p.idle() {
		var err error
		if table, err = p.load(); err != nil {
			return nil, err
		}
		if err := r.Unchanged(table.Path, table.Sum); err != nil {
			return nil, err
		}
	}
	if err := r.compareRows(ctx, table); err != nil {
		return nil, err
	}
	scorer, err := p.scorer(ctx, r, table)
	if err != nil {
		return nil, err
	}
	if p.job.Requests > 0 {
		p.contract = r.Contract().Hash()
		return p.serve(ctx, r, table, scorer)
	}
	// All rows, block by block. What opened in an earlier session comes again as it was.
	n := r.Contract().Rows()
	var scores []float64
	for lo := 0; lo < n; lo += joint.ScoreRows {
		hi := min(lo+joint.ScoreRows, n)
		var part *dataset.Table
		if table != nil {
			part = table.Slice(lo, hi)
		}
		f, err := p.score(ctx, scorer, lo/joint.ScoreRows+1, hi-lo, part)
		if err != nil {
			return nil, err
		}
		scores = append(scores, f...)
		r.progress(joint.Progress{Step: "scores", Done: hi, Total: n})
	}
	report := r.Report(n)
	report.Known, report.Model, report.Positive = r.Daemon.Known(), p.job.Model, positiveOf(p.model, "")
	if table != nil {
		report.Unseen = p.unseen(r, table)
	}
	if p.job.OpenTo != p.member.Name() {
		return report, nil
	}
	report.Scores = r.Vault.Path(jobs.ScoresFile)
	if report.Figures, err = p.figures(table, scores); err != nil {
		r.Warn("there are no figures of the scored rows: " + err.Error())
	}
	decision, err := p.member.Decision(p.model.Contract)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	rest, err := p.member.unmatched(p.job)
	if err != nil {
		return nil, err
	}
	if err := renderScores(&b, table.IDs, scores, rest, reading{p.model, decision}); err != nil {
		return nil, err
	}
	return report, durable.WriteFile(report.Scores, b.Bytes())
}

// unseen lists what training never saw in scored rows, and warns the columns' owner, alone, of the first few that are
// more than chance.
func (p *prediction) unseen(r *session, rows *dataset.Table) []kernel.Unseen {
	const warned = 5
	all, n := vertical.Unseen(rows, p.model), 0
	for _, u := range all {
		if !u.Notable(rows.Rows()) {
			continue
		}
		if n++; n <= warned {
			r.Warn(u.String())
		}
	}
	if n > warned {
		r.Warn(fmt.Sprintf("%s more with what training never saw, which hanse result lists",
			wording.Count(n-warned, "column")))
	}
	return all
}

// batchesOf is in how many batches so many rows are scored.
func batchesOf(rows int) int { return (rows + joint.ScoreRows - 1) / joint.ScoreRows }

// figures are those of the scored rows, where this node's table has their labels.
func (p *prediction) figures(rows *dataset.Table, scores []float64) (*figures.Report, error) {
	a, err := p.member.alignmentOf(p.job)
	if err != nil {
		return nil, err
	}
	labels, err := p.member.Tables.LoadLabels(p.job.Table, p.model, a)
	if err != nil {
		return nil, err
	}
	return p.member.scoredFigures(p.model, "the rows of job "+p.job.Name, labels, rows, scores, nil)
}

// reading is how scores are read: the model's target and classes and, where this node has one, its own decision.
type reading struct {
	model    *joint.Model
	decision *figures.Decision
}

// probable reports whether scores have probabilities: the model's own, of the logistic loss, or calibrated ones.
func (r reading) probable() bool {
	return r.model.Probable || r.decision != nil && r.decision.Platt != nil
}

// namedEvent returns what the header of a scores file has behind a column about the event: a blank and the class, where
// it is not the later one in the order, so that whoever reads scores of that one finds no such column; and where the
// job names the event and codes are in one order as numbers and in another as texts.
func namedEvent(m *joint.Model) string {
	event := m.Event()
	if event == "" || event == laterClass(m) && (m.Goal.Positive == "" || event == max(m.Classes[0], m.Classes[1])) {
		return ""
	}
	return " " + event
}

// renderScores renders a scores file: id, score, and for classes the class and, where there is one, the probability of
// the event, which the header names where it is not the later class; of three or more classes the largest score, the
// class and every class's score. Rows that another party lacks have no score.
func renderScores(b *bytes.Buffer, ids []string, scores []float64, rest []string, as reading) error {
	w := csv.NewWriter(b)
	each, header := as.model.Goal.Scores(), scoreHeader(as)
	w.Write(header)
	for i, id := range ids {
		w.Write(scoreRow(id, scores[i*each:(i+1)*each], as))
	}
	for _, id := range rest {
		w.Write(unmatchedRow(id, len(header)))
	}
	w.Flush()
	return w.Error()
}

// scoreHeader names the columns of a scores file.
func scoreHeader(as reading) []string {
	event := namedEvent(as.model)
	header := []string{"id", "score" + event, "class"}
	switch {
	case as.model.Goal.Target == joint.Regression:
		header = []string{"id", "prediction"}
	case as.model.Goal.Scores() > 1:
		for _, class := range as.model.Classes {
			header = append(header, "score "+class)
		}
	case as.probable():
		header = append(header, "probability"+event)
	}
	return header
}

// unmatchedRow renders a row of so many cells that has no score.
func unmatchedRow(id string, cells int) []string {
	row := make([]string, cells)
	row[0], row[1] = id, noMatch
	return row
}

// scoreRow renders one prediction from a row's scores.
func scoreRow(id string, scores []float64, as reading) []string {
	score := scores[0]
	if as.model.Goal.Target == joint.Regression {
		return []string{id, number(as.model.Unit(score))}
	}
	if len(scores) > 1 {
		best := joint.Class(scores)
		row := []string{id, number(scores[best]), as.model.Classes[best]}
		for _, f := range scores {
			row = append(row, number(f))
		}
		return row
	}
	sides, threshold := as.model.Sides(), 0.0
	class, scores := sides[0], []float64{score}
	as.model.Turn(scores)
	score = scores[0]
	if as.decision != nil {
		threshold = as.decision.Threshold
	}
	if score > threshold {
		class = sides[1]
	}
	row := []string{id, number(score), class}
	switch {
	case as.model.Probable:
		row = append(row, number(kernel.Sigmoid(score)))
	case as.probable():
		row = append(row, number(as.decision.Platt.Probability(score)))
	}
	return row
}

// noMatch stands in a scores file for the score of a row that another party does not have.
const noMatch = "no match"

// number renders a score.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
