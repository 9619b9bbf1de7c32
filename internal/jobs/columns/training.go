package columns

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// training is this node's part of an FDSKL training.
type training struct {
	member *Jobs
	job    *contract.Job
	params fdskl.Params
}

// newTraining reads a training job's parameters.
func (j *Jobs) newTraining(job *contract.Job) (*training, error) {
	params, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return nil, wrongRoles(job, err)
	}
	if err := checkBinned(job, params); err != nil {
		return nil, err
	}
	if err := checkShards(job, params); err != nil {
		return nil, err
	}
	return &training{member: j, job: job, params: params}, nil
}

// wrongRoles is an error of a training's parameters, with the party that was probably meant where a role names none.
func wrongRoles(job *contract.Job, err error) error {
	meant := ""
	for _, role := range []string{"active", "keeper", "helper"} {
		named, several := job.Parameters[role].([]any)
		if !several {
			named = []any{job.Parameters[role]}
		}
		for _, name := range named {
			if text, ok := name.(string); ok && job.Index(text) < 0 {
				meant = cmp.Or(meant, wording.DidYouMean(text, job.Parties))
			}
		}
	}
	return fmt.Errorf("job %q: %w%s", job.Name, err, meant)
}

// checkBinned refuses parameters of an algorithm under the name of another.
func checkBinned(job *contract.Job, p fdskl.Params) error {
	switch {
	case p.Binned() && job.Algorithm != contract.GLM:
		return fmt.Errorf("job %q: algorithm is %q, and bins are of jobs with algorithm %q", job.Name, job.Algorithm,
			contract.GLM)
	case job.Algorithm == contract.GLM && job.Privacy != keys.PrivacySealed:
		return fmt.Errorf("job %q: privacy is %q, and jobs with algorithm %q are always %q", job.Name, job.Privacy,
			contract.GLM, keys.PrivacySealed)
	case !p.Binned() && job.Algorithm == contract.GLM:
		return fmt.Errorf("job %q: algorithm is %q, and bins is missing: say about how many bins a column of numbers has",
			job.Name, job.Algorithm)
	}
	return nil
}

// active reports whether this node holds labels in the job.
func (t *training) active() bool {
	return slices.Contains(t.params.Active, t.member.Name())
}

// load reads the training table.
func (t *training) load() (*dataset.Table, error) {
	label := ""
	if t.active() {
		label = t.params.Label
	}
	a, err := t.member.alignmentOf(t.job)
	if err != nil {
		return nil, err
	}
	return t.member.Tables.Load(t.job.Table, label, a)
}

// prepare normalises the training table. A proposer whose table lacks a column that the job gives edges of hears it.
func (t *training) prepare(table *dataset.Table) (*vertical.Prepared, error) {
	proposer := t.member.Name() == t.job.Proposer
	own, err := vertical.PrepareTraining(table, t.params.EdgesAt(proposer), t.active())
	if err != nil || !proposer {
		return own, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.params.Edges)) {
		if !slices.Contains(own.Columns, name) {
			return nil, fmt.Errorf("job %q: edges has %.60q, which is no column of the proposer's: another party cuts its "+
				"own columns%s", t.job.Name, name, wording.DidYouMean(name, own.Columns))
		}
	}
	return own, nil
}

// Facts implements jobs.Task.
func (t *training) Facts() (contract.Facts, error) {
	table, err := t.load()
	if err != nil {
		return contract.Facts{}, err
	}
	if t.params.Binned() {
		if err := t.member.cuts.may(t.member.Name(), t.job, t.params, table.Sum); err != nil {
			return contract.Facts{}, err
		}
	}
	prepared, err := t.prepare(table)
	if err != nil {
		return contract.Facts{}, err
	}
	t.member.looks.at(prepared.Rows)
	f := t.member.factsOf(table, len(prepared.Columns), t.active())
	if t.active() {
		if f.Labels, err = t.member.labelsOf(table, t.params.Label); err != nil {
			return contract.Facts{}, err
		}
		if t.job.Privacy == keys.PrivacySealed {
			if err := sealed.CheckLabels(t.params, prepared.Labels.Values); err != nil {
				return contract.Facts{}, fmt.Errorf("%s: %w", table.Path, err)
			}
		}
	}
	if t.params.Binned() {
		f.Bins = prepared.Rows.Columns()
	}
	return f, nil
}

// Disclose implements jobs.Task.
func (t *training) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	return wired.Disclose(t.job, all, t.params)
}

// run implements part.
func (t *training) run(ctx context.Context, r *session) (*jobs.Report, error) {
	table, err := t.load()
	if err != nil {
		return nil, err
	}
	if err := r.Unchanged(table.Path, table.Sum); err != nil {
		return nil, err
	}
	if err := r.compareRows(ctx, table); err != nil {
		return nil, err
	}
	prepared, err := t.prepare(table)
	if err != nil {
		return nil, err
	}
	phase, err := wired.PhaseOf(r.Vault)
	if err != nil {
		return nil, err
	}
	party := &fdskl.Party{
		Self: r.wire.Self(), Names: t.job.Parties, Params: t.params, Privacy: t.job.Privacy, Rows: table.Rows(),
		Parts:  []fdskl.Part{{Owner: t.member.ID, Normaliser: prepared.Normaliser, Rows: prepared.Rows, Phase: phase}},
		Labels: prepared.Labels, Network: r.network, Vault: r.Vault, Workers: t.member.Workers,
		Report: r.progress, Opened: r.Learned,
	}
	if t.job.Shards > 0 {
		party.Sums = func(ctx context.Context, b *fdskl.Begun) ([]fdskl.Sums, error) {
			return t.sums(ctx, r, prepared.Rows, b)
		}
	}
	var scores []float64
	party.Scored = func(f []float64) { scores = f }
	m, err := fdskl.Train(ctx, party)
	if err != nil {
		return nil, err
	}
	m.Contract, m.Columns = r.Contract().Hash(), prepared.Columns
	m.Reading = vertical.ReadingOf(table, t.member.Tables.Options(t.job.Table))
	by := t.chooseEvent(m, prepared.Labels)
	if err := r.keepModel(m); err != nil {
		return nil, err
	}
	if err := saveFitted(r.Vault, TrainedRowsFile, table.IDs); err != nil {
		return nil, err
	}
	report := r.Report(table.Rows())
	report.Sigma, report.Lambda, report.Positive = m.Sigma, m.Lambda, positiveOf(m, by)
	if t.params.Active[0] == t.member.Name() {
		report.Trained = &jobs.Training{Objective: jobs.Finite(m.Objective), TrainError: jobs.Finite(m.TrainError),
			Iterations: m.Iterations}
		report.NotConverged = m.NotConverged()
	}
	if sole(t.params, t.member.Name()) {
		if err := trainingFigures(r, report, prepared, m, scores, t.member.Workers); err != nil {
			r.Warn("there are no figures of the training: " + err.Error())
		}
	}
	return report, nil
}

// factsOf states what a party says of a table.
func (j *Jobs) factsOf(t *dataset.Table, columns int, active bool) contract.Facts {
	role := "passive"
	if active {
		role = "active"
	}
	return contract.Facts{Name: j.Name(), ID: j.ID, Role: role, Rows: t.Rows(), Columns: columns,
		RowSet: j.rowSetOf(t.IDs)}
}
