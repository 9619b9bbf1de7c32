package columns

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// training is this node's part of a training.
type training struct {
	joint.Training
	member *Jobs
	job    *contract.Job
	goal   joint.Goal
}

// goalOf reads what a training learns, and no more of it.
func (j *Jobs) goalOf(job *contract.Job) (*training, error) {
	goal, err := j.algorithms.Goal(job)
	if err != nil {
		return nil, wrongRoles(job, err)
	}
	return &training{member: j, job: job, goal: goal.At(j.Name() == job.Proposer)}, nil
}

// newTraining reads a training job's parameters, and checks that no two who hold shares are affiliated.
func (j *Jobs) newTraining(job *contract.Job) (*training, error) {
	t, err := j.goalOf(job)
	if err != nil {
		return nil, err
	}
	if t.Training, err = j.algorithms.Training(job); err != nil {
		return nil, wrongRoles(job, err)
	}
	return t, j.apart(job, &t.goal)
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

// active reports whether this node holds labels in the job.
func (t *training) active() bool { return slices.Contains(t.goal.Active, t.member.Name()) }

// sole reports whether this node alone has the labels.
func (t *training) sole() bool { return len(t.goal.Active) == 1 && t.active() }

// idle reports whether this node is the helper of a sealed job and brings no data to it.
func (t *training) idle() bool {
	return t.job.Privacy == keys.PrivacySealed && t.goal.Helper == t.member.Name() && !t.member.Tables.Has(t.job.Table)
}

// load reads the training table.
func (t *training) load() (*dataset.Table, error) {
	label := ""
	if t.active() {
		label = t.goal.Label
	}
	a, err := t.member.alignmentOf(t.job)
	if err != nil {
		return nil, err
	}
	return t.member.Tables.Load(t.job.Table, label, a)
}

// prepare normalises the training table. A proposer whose table lacks a column that the job gives edges of hears it.
func (t *training) prepare(table *dataset.Table) (*vertical.Prepared, error) {
	own, err := vertical.PrepareTraining(table, t.goal, t.active())
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.goal.Scales.Edges)) {
		if !slices.Contains(own.Columns, name) {
			return nil, fmt.Errorf("job %q: edges has %.60q, which is no column of the proposer's: another party cuts its "+
				"own columns%s", t.job.Name, name, wording.DidYouMean(name, own.Columns))
		}
	}
	return own, nil
}

// Facts implements jobs.Task.
func (t *training) Facts() (contract.Facts, error) {
	if t.idle() {
		return t.member.idleFacts(), nil
	}
	table, err := t.load()
	if err != nil {
		return contract.Facts{}, err
	}
	if t.goal.Binned() {
		if err := t.member.cuts.may(t.member.Name(), t.job, t.goal.Scales, table.Sum); err != nil {
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
		if f.Labels, err = t.member.labelsOf(table, t.goal.Label); err != nil {
			return contract.Facts{}, err
		}
		if err := t.Accepts(prepared.Labels); err != nil {
			return contract.Facts{}, fmt.Errorf("%s: %w", table.Path, err)
		}
	}
	if t.goal.Binned() {
		f.Bins = prepared.Rows.Columns()
	}
	return f, nil
}

// Disclose implements jobs.Task.
func (t *training) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	return wired.Disclose(t.job, all, t)
}

// run implements part.
func (t *training) run(ctx context.Context, r *session) (*jobs.Report, error) {
	// The rows as they were consented to; a helper may have none.
	var prepared *vertical.Prepared
	var own *joint.Table
	if t.idle() {
		if err := r.compareRows(ctx, nil); err != nil {
			return nil, err
		}
	} else {
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
		if prepared, err = t.prepare(table); err != nil {
			return nil, err
		}
		own = &joint.Table{Columns: prepared.Columns, Normaliser: prepared.Normaliser, Rows: prepared.Rows,
			Labels: prepared.Labels, Reading: vertical.ReadingOf(table, t.member.Tables.Options(t.job.Table))}
	}
	_, by := t.chooseEvent(nil)
	if own != nil {
		own.Turned, by = t.chooseEvent(own.Labels)
	}

	// The part of the model.
	made, scores, err := t.Train(ctx, r.joint(t), own)
	if err != nil {
		return nil, err
	}
	if r.kept, err = made.Encode(); err != nil {
		return nil, err
	}
	if prepared != nil {
		if err := saveFitted(r.Vault, TrainedRowsFile, prepared.Table.IDs); err != nil {
			return nil, err
		}
	}
	m, report := made.Model(), r.Report(r.Contract().Rows())
	report.Sigma, report.Lambda, report.Positive = m.Sigma, m.Lambda, positiveOf(m, by)
	if t.job.Privacy == keys.PrivacySealed || t.goal.Active[0] == t.member.Name() {
		report.NotConverged = m.NotConverged
	}
	if t.goal.Active[0] == t.member.Name() {
		report.Trained = &jobs.Training{Objective: jobs.Finite(m.Objective), TrainError: jobs.Finite(m.TrainError),
			Iterations: m.Iterations}
	}
	if t.sole() {
		if err := trainingFigures(r, report, prepared, made, scores, t.member.Workers); err != nil {
			missing := "there are no figures of the training: "
			if t.job.Privacy == keys.PrivacySealed {
				missing = "there will be nothing to hold the model against: "
			}
			r.Warn(missing + err.Error())
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
