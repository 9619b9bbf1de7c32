package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// maxScores is the longest scores file that figures are made of, in bytes.
const maxScores = 1 << 30

// Card is what one party can say of a model in parts: what its contract says, and what the party alone knows.
type Card struct {
	Job       string         `json:"job"`
	Contract  string         `json:"contract"`
	Algorithm string         `json:"algorithm"`
	Privacy   string         `json:"privacy"`
	Self      string         `json:"self"`
	Parties   []CardParty    `json:"parties"`
	Columns   []string       `json:"columns,omitempty"` // this party's own
	Label     string         `json:"label"`
	Target    string         `json:"target"`
	Classes   []string       `json:"classes,omitempty"`
	Positive  string         `json:"positive,omitempty"` // which of two classes is the event at this party
	Table     string         `json:"table"`
	Data      string         `json:"data_digest"` // of this party's table, as it was consented to
	Consented *time.Time     `json:"consented,omitempty"`
	Trained   *time.Time     `json:"trained,omitempty"` // when the end was stored here
	Sigma     float64        `json:"sigma"`
	Params    map[string]any `json:"parameters"` // as the job says them
	Features  int            `json:"features"`
	Binned    bool           `json:"-"` // features are bins
	Lambda    float64        `json:"lambda"`
	Loss      string         `json:"loss"`
	Openings  []CardOpening  `json:"openings"`
	// Figures are those of the training, where this party has them.
	Figures *figures.Report `json:"figures,omitempty"`
	// Decision is how this party reads scores, nil where it reads them as the model does.
	Decision *figures.Decision `json:"decision,omitempty"`
}

// CardParty is a party of a model, as its contract says it.
type CardParty struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
}

// CardOpening is a value that the training opened, as its contract says it.
type CardOpening struct {
	To      string `json:"to"`
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Meaning string `json:"meaning"`
}

// ReadCard reads the card of a training over columns from a node's folder, also while the node runs: nothing is
// written. job is from Trainings, and must be done.
func ReadCard(l registry.List, dir string, j *JobInfo) (*Card, error) {
	if j.State == job.Unread {
		return nil, errors.New(j.Reason)
	}
	if j.State != job.Done {
		return nil, fmt.Errorf("job %q is %s%s, not done: there is no model to show", j.Name, j.State,
			because(j.Reason))
	}
	var h keys.Hash
	if err := h.UnmarshalText([]byte(j.Contract)); err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, jobsDir, h.String())
	c, err := job.ReadContract(folder, h)
	if err != nil {
		return nil, err
	}
	part, err := ReadModel(l, folder)
	if err != nil {
		return nil, err
	}
	card := cardOf(c, part, j.Self)
	status, err := job.ReadRecord(folder)
	if err != nil {
		return nil, err
	}
	card.Data = status.Data.String()
	if status.Consent != nil {
		card.Consented = &status.Consent.At
	}
	if !status.Ended.IsZero() {
		card.Trained = &status.Ended
	}
	report, err := optional(folder, job.ReportFile)
	if err != nil {
		return nil, err
	}
	if report != nil {
		var r jobs.Report
		if err := json.Unmarshal(report, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(folder, job.ReportFile), err)
		}
		card.Figures = r.Figures
	}
	decision, err := optional(folder, columns.DecisionFile)
	if err == nil && decision != nil {
		card.Decision, err = figures.DecodeDecision(decision)
	}
	return card, err
}

// optional reads a file of a job that need not be there.
func optional(folder, name string) ([]byte, error) {
	data, err := readState(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// cardOf is what contract and model part say.
func cardOf(c *contract.Contract, part joint.Part, self string) *Card {
	m := part.Model()
	card := &Card{
		Job: c.Job.Name, Contract: c.Hash().String(), Algorithm: c.Job.Algorithm, Privacy: c.Job.Privacy, Self: self,
		Columns: m.Columns, Label: m.Goal.Label, Target: m.Goal.Target, Table: c.Job.Table, Sigma: m.Sigma,
		Params: c.Job.Parameters, Features: m.Features, Binned: m.Goal.Binned(),
	}
	if own := fdskl.Of(part); own != nil {
		card.Loss, card.Lambda = own.Params.Loss, own.Regulariser()
	}
	if m.Goal.Target != joint.Regression {
		card.Classes, card.Positive = m.Classes, m.Event()
	}
	for _, f := range c.Parties {
		card.Parties = append(card.Parties, CardParty{f.Name, f.Role, f.Rows, f.Columns})
	}
	for _, o := range c.Openings {
		card.Openings = append(card.Openings, CardOpening{o.To, o.Kind, o.Count, o.Meaning})
	}
	return card
}

// ScoredRows is what figures are asked of: a training, a table with labels or a file of them, and scores of its rows as
// scores files have them, of that training's model and of others.
type ScoredRows struct {
	Training keys.Hash         `json:"training"`
	Table    string            `json:"table"`
	Labels   string            `json:"labels,omitempty"`
	Scores   []byte            `json:"scores"`
	Others   map[string][]byte `json:"others,omitempty"` // by what the other models are called
}

// Figures returns the figures of scored rows.
func (c *Client) Figures(ctx context.Context, asked ScoredRows) (*figures.Report, error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	body, err := c.do(ctx, http.MethodPost, "/figures", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var r figures.Report
	return &r, json.NewDecoder(body).Decode(&r)
}

// Threshold has a rule choose the threshold above which the node says that a row is positive, from now on.
func (c *Client) Threshold(ctx context.Context, training string, rule figures.Rule) (*figures.Decision, error) {
	q := url.Values{"model": {training}, "rule": {rule.String()}}
	body, err := c.do(ctx, http.MethodPost, "/threshold?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var d figures.Decision
	return &d, json.NewDecoder(body).Decode(&d)
}

// ReadJob returns a job of a node's, as its contract says it.
func ReadJob(dir string, j *JobInfo) (*contract.Job, error) {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(j.Contract)); err != nil {
		return nil, err
	}
	c, err := job.ReadContract(filepath.Join(dir, jobsDir, h.String()), h)
	if err != nil {
		return nil, err
	}
	return c.Job, nil
}
