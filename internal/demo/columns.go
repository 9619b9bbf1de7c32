package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/jobs"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// columns is a demo over columns of the same people.
type columns struct {
	*demo
	held   *trial.Data // what the parties have
	data   *trial.Data // the rows of it that all of them have
	params fdskl.Params
	far    string // what labels far out made of the parameters
	result columnsResult
}

// prepare makes data, key files and the charter.
func (d *columns) prepare(_ context.Context, dir string) (err error) {
	if len(d.Data) > 0 {
		o := dataset.Options{ID: d.ID, Label: d.Label, Categorical: d.Categorical, Missing: d.Missing}
		if d.data, err = trial.Files(d.Data, o, d.Parties, d.Seed); err != nil {
			return err
		}
	} else {
		d.data = trial.Credit(d.People, d.Seed)
	}
	whole := d.data
	d.held, d.data = d.data.Apart(d.Overlap, d.Seed)
	if d.params, err = d.makeParams(); err != nil {
		return err
	}
	if d.result.MajorityError, err = d.data.Guess(d.params); err != nil {
		return err
	}
	// Tells who holds what, and, where it matters, why the mode is not the strongest or what its loss opens.
	rows := "the same ids at every party, different columns"
	if d.Overlap < 1 {
		rows = "each party lacks some, others than the next"
	}
	d.steps.step("data", fmt.Sprintf("%d rows to train on, %d held out; %s", whole.Train[0].Rows(),
		whole.Test[0].Rows(), rows))
	t := d.held
	w := wording.NewTable(d.Err, "    ")
	for i, name := range t.Names {
		names, label := t.Train[i].Without(t.Label).Names(), ""
		if i == 0 {
			label = fmt.Sprintf("the label %q and ", t.Label)
		}
		fmt.Fprintf(w, "%s\t%d rows\t%s%s: %s\n", name, t.Train[i].Rows()+t.Test[i].Rows(), label,
			wording.Count(len(names), "column"), few(names, 3))
	}
	w.Flush()
	if d.Target == "" && len(d.Data) > 0 {
		other := joint.Regression + " takes it for a number"
		if d.params.Target == joint.Regression {
			other = joint.Classification + " takes its values for classes"
		}
		goal := d.params.Goal()
		d.steps.note(fmt.Sprintf("target: %s of column %s (inferred; --target %s)", goal.Kind(),
			d.params.Label, other))
	}
	if text := d.params.FewFeatures(d.data.Train[0].Rows()); text != "" && d.byKernels() && !d.Given("features") {
		d.steps.note(text)
	}
	if d.far != "" {
		d.steps.note(d.far)
	}
	switch why := d.wantsMasks(); {
	case why != "" && !d.Given("privacy"):
		d.steps.note(fmt.Sprintf("privacy masked, under which every angle opens to %s: sealed jobs have no %s",
			t.Names[0], why))
	}
	if err := d.held.Write(dir); err != nil {
		return err
	}
	if d.network, err = localnet.Found(dir, d.data.Names, d.privacy()); err != nil {
		return err
	}
	d.steps.members(d.network, false)
	return nil
}

// start starts a process for each party, which reads its tables as the files beside them say.
func (d *columns) start(ctx context.Context) (string, error) {
	how := func(string) localnet.Node { return localnet.Columns(d.Workers) }
	return "one process each", d.network.Start(ctx, how)
}

// Names of the demo's alignments, by which its jobs take their rows.
const (
	trainRows = "customers"
	testRows  = "applicants"
)

// align finds which rows of two tables all parties have, and makes jobs take those. Where all have the same rows there
// is nothing to find.
func (d *columns) align(ctx context.Context) error {
	if d.Overlap >= 1 {
		return nil
	}
	for _, a := range []struct {
		name, table  string
		held, common []*dataset.Table
	}{{trainRows, "train", d.held.Train, d.data.Train}, {testRows, "test", d.held.Test, d.data.Test}} {
		job := contract.Job{
			Format: "hanse-job-v1", Name: a.name, Algorithm: contract.PSI, Task: contract.TaskAlign, Parties: d.data.Names,
			Privacy: keys.PrivacySealed, Table: a.table, Record: contract.RecordDigests,
		}
		report, err := d.run(ctx, "align", &job)
		if err != nil {
			return err
		}
		if got, want := report.Aligned.Common, a.common[0].Rows(); got != want {
			return fmt.Errorf("the alignment %q of table %q found %d common rows, and the tables that were written have %d: "+
				"this is a fault of the program, please report it", a.name, a.table, got, want)
		}
		found := alignedRows{Name: a.name, Table: a.table, Common: report.Aligned.Common, Seconds: report.Seconds,
			Rows: make(map[string]int), BytesOut: report.BytesOut}
		var each []string
		for i, name := range d.data.Names {
			found.Rows[name] = a.held[i].Rows()
			each = append(each, fmt.Sprintf("%s %d", name, a.held[i].Rows()))
		}
		d.steps.note(fmt.Sprintf("rows: %s; common to all: %d", strings.Join(each, ", "), found.Common))
		d.result.Alignments = append(d.result.Alignments, found)
	}
	return nil
}

// learn aligns the tables, trains, and scores the test rows for the first party.
func (d *columns) learn(ctx context.Context) error {
	if err := d.align(ctx); err != nil {
		return err
	}
	job := d.job(d.data.Names)
	if d.Overlap < 1 {
		job.Rows = trainRows
	}
	if err := job.SetParameters(d.params); err != nil {
		return err
	}
	maps.DeleteFunc(job.Parameters, func(name string, _ any) bool {
		return d.params.Binned() && slices.Contains(fdskl.OfKernels(), name) ||
			!d.byKernels() && !slices.Contains([]string{"active", "label", "target", "classes"}, name)
	})
	report, err := d.run(ctx, "training", &job)
	if err != nil {
		return err
	}
	r := &d.result
	r.TrainSeconds, r.Rounds, r.Sigma = report.Seconds, report.Rounds, report.Sigma
	r.Lambda = cmp.Or(report.Lambda, r.Lambda)
	if report.Trained != nil {
		r.TrainError, r.Iterations = report.Trained.TrainError, report.Trained.Iterations
	}
	r.NotConverged = report.NotConverged
	all, err := d.network.Reports(ctx, d.contract)
	if err != nil {
		return err
	}
	r.BytesOut = make(map[string]int64)
	for _, name := range d.data.Names {
		r.BytesOut[name] = all[name].BytesOut
		r.Openings = append(r.Openings, all[name].Openings...)
	}
	job.Name, job.Task, job.Table, job.Model, job.OpenTo = "demo-scores", contract.TaskPredict, "test", d.contract,
		d.data.Names[0]
	job.Parameters = nil
	if d.Overlap < 1 {
		job.Rows = testRows
	}
	if report, err = d.run(ctx, "prediction", &job); err != nil {
		return err
	}
	r.PredictSeconds, r.Figures = report.Seconds, report.Figures
	r.TestError, err = d.data.ScoresError(report.Scores, d.params.Target)
	return err
}

// run has all agree on a job and run it.
func (d *columns) run(ctx context.Context, what string, job *contract.Job) (*jobs.Report, error) {
	screen := terminal.NewScreen(d.Err)
	report, err := d.propose(ctx, what, screen, job, func(e jobs.Event) jobs.Event { return e })
	if err != nil {
		return nil, err
	}
	d.steps.done(what, report, screen.Curve)
	return report, nil
}

// evidence gives the audit all parties' tables. The audit is of the training alone: one of the alignments goes here.
func (d *columns) evidence(in *audit.Input) error {
	how := func(party int, _ string, _ dataset.Options, _ *joint.Model) (dataset.Options, error) {
		return d.data.Options(party), nil
	}
	return auditing.ReadColumns(in, d.tables(d.data.Names), how)
}

// makeParams turns flags into a job's parameters.
func (d *columns) makeParams() (fdskl.Params, error) {
	target, classes, err := d.data.Target(d.Target)
	if err != nil {
		return fdskl.Params{}, err
	}
	d.classes = classes
	if classes == 2 { // which jobs need not say
		d.classes = 0
	}
	if !d.byKernels() { // what it is held against is a kernel all the same
		p := fdskl.Params{Active: d.data.Names[:1], Label: d.data.Label, Target: target, Classes: d.classes,
			Seed: fmt.Sprint(d.Seed), Features: fdskl.FeaturesFor(d.data.Train[0].Rows())}.WithDefaults()
		return p, p.Validate(d.data.Names)
	}
	p := fdskl.Params{
		Active: []string{d.data.Names[0]}, Label: d.data.Label, Target: target, Classes: d.classes, Schedule: d.Schedule,
		Loss: d.Loss, Kernel: d.Kernel, Sigma: d.Sigma, Features: d.Features,
		Lambda: fdskl.Lambda(d.Lambda), Seed: fmt.Sprint(d.Seed), Scale: d.Scale, Constant: "drop",
		Iterations: d.Iterations,
	}
	if d.Algorithm == contract.GLM {
		p.Schedule, p.Kernel, p.Scale, p.Seed = "", "", "", ""
		p.BinParams = fdskl.BinParams{Bins: cmp.Or(d.Bins, fdskl.DefaultBins), MinCell: d.MinCell, Points: d.Points,
			ZScores: d.ZScores}
	}
	isSealed := d.privacy() == fdskl.Sealed
	if isSealed { // the first three hold the shares
		if !p.Binned() || p.Target == joint.Regression { // a scorecard is of the logistic loss
			p.Loss = cmp.Or(p.Loss, kernel.Square.String())
		}
		p.Keeper, p.Helper = d.data.Names[1], d.data.Names[2]
	}
	rows := d.data.Train[0].Rows()
	if p.Schedule != fdskl.DoublyStochastic && !p.Binned() {
		p.Features = cmp.Or(p.Features, fdskl.FeaturesFor(rows))
	}
	p = p.WithDefaults()
	err = p.Validate(d.data.Names)
	if isSealed {
		p, d.far = d.withRange(p)
		err = cmp.Or(p.Validate(d.data.Names), sealed.Validate(p, d.data.Names))
	}
	if err != nil {
		return p, &usage.Error{Err: err}
	}
	return p, nil
}

// withRange fills in what a sealed job leaves open, with scores as wide as the labels ask for, and says so where that
// is wider than usual. A node in its place refuses such labels: their owner should look at them first.
func (d *columns) withRange(p fdskl.Params) (fdskl.Params, string) {
	usual := sealed.WithDefaults(p)
	if p.Target != joint.Regression {
		return usual, ""
	}
	labels, err := d.data.Train[0].Column(p.Label)
	if err != nil { // the training says so
		return usual, ""
	}
	least := sealed.RangeOf(labels.Values)
	if least <= usual.ScoreRange {
		return usual, ""
	}
	p.ScoreRange = least
	return sealed.WithDefaults(p), fmt.Sprintf("score_range %d in place of %d: the label has a value more than %d "+
		"deviations from its mean; hanse table check --label %s shows where", least, usual.ScoreRange, least/2, p.Label)
}

// compare learns by one party, and by all in the clear.
func (d *columns) compare(ctx context.Context) (err error) {
	d.result.describe(d)
	what := "the same algorithm"
	if !d.byKernels() {
		what = "a kernel of all columns"
	}
	d.steps.step("comparison", what+" in one process, in the clear")
	owners := d.network.IDs()
	clear, err := d.data.Pooled(ctx, d.params, owners, d.Workers)
	if err != nil {
		return err
	}
	d.result.ClearError, d.result.ClearAUC, d.result.ClearSeconds = clear.Error, clear.AUC, clear.Seconds
	d.result.ClearNotConverged = clear.NotConverged
	if d.Quick {
		return nil
	}
	for i := range d.data.Names {
		b, err := d.data.Alone(ctx, d.params, i, owners[i], d.Workers)
		if err != nil {
			return err
		}
		d.result.Baselines = append(d.result.Baselines, b)
	}
	linear, err := d.data.Linear(d.params)
	if err != nil {
		return err
	}
	d.result.Baselines = append(d.result.Baselines, linear, clear)
	return nil
}
