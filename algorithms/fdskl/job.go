package fdskl

import (
	"context"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Goal says what a job of the parameters learns.
func (p Params) Goal() joint.Goal {
	return joint.Goal{Active: p.Active, Label: p.Label, Target: p.Target, Classes: p.Classes, Positive: p.Positive,
		Chooses: p.ChoosesEvent(), Keeper: p.Keeper, Helper: p.Helper, Scales: p.scales()}
}

// GoalOf says what a training learns.
func GoalOf(job *contract.Job) (joint.Goal, error) {
	p, err := ParamsOf(job.Parameters, job.Parties)
	return p.Goal(), err
}

// scales says how columns become numbers.
func (p Params) scales() kernel.FitOptions {
	o := kernel.FitOptions{Numeric: kernel.Scaling(p.Scale), DropConstant: p.Constant == "drop"}
	if p.Binned() {
		o.Numeric, o.Bins, o.MinCell, o.Edges = kernel.Binned, p.Bins, p.MinCell, p.Edges
	}
	return o
}

// CheckAlgorithm refuses parameters of one algorithm under the name of the other.
func CheckAlgorithm(job *contract.Job, p Params) error {
	glm := job.Algorithm == contract.GLM
	switch {
	case p.Binned() && !glm:
		return fmt.Errorf("algorithm is %q, and bins are of jobs with algorithm %q", job.Algorithm, contract.GLM)
	case glm && job.Privacy != Sealed:
		return fmt.Errorf("privacy is %q, and jobs with algorithm %q are always %q", job.Privacy, contract.GLM, Sealed)
	case !p.Binned() && glm:
		return fmt.Errorf("algorithm is %q, and bins is missing: say about how many bins a column of numbers has",
			job.Algorithm)
	}
	return nil
}

// OutlineOf describes a session of a job: its own, or that of a shard. p are the job's parameters, in a prediction
// those of the model. facts are those of the job's parties, in its order.
func OutlineOf(job *contract.Job, p Params, facts []contract.Facts, shard *contract.Shard) (o Outline, err error) {
	o = Outline{Params: p, Privacy: job.Privacy, Parties: job.Parties, Rows: contract.RowsOf(facts)}
	for _, f := range facts {
		o.Columns = append(o.Columns, f.Columns)
	}
	if job.Task == contract.TaskPredict {
		o.Receiver, o.Requests = job.OpenTo, job.Requests
	}
	switch {
	case shard == nil:
		o.InShards = job.Shards > 0
	case shard.First < 0 || shard.Rows < 1 || shard.Rows > o.Rows-shard.First:
		return o, fmt.Errorf("a shard of %d rows from row %d on, the job has %d", shard.Rows, shard.First, o.Rows)
	default:
		span := Span(*shard)
		o.Shard = &span
	}
	return o, nil
}

// Warnings holds the step of the paper's schedule against its Theorem 4.
func Warnings(job *contract.Job) []string {
	p, err := ParamsOf(job.Parameters, job.Parties)
	if w := p.StepWarning(); err == nil && w != "" {
		return []string{w}
	}
	return nil
}

// outline makes an Outline what nodes and auditors ask; it implements joint.Outline.
type outline Outline

func (o outline) Disclose() (joint.Disclosure, error) { return Disclose(Outline(o)) }

func (o outline) Follow() *trace.Follower { return Follow(Outline(o)) }

func (o outline) Parameters() Params { return o.Params }

func (o outline) Cut(n int) ([]contract.Shard, error) {
	if o.Receiver != "" {
		return joint.Cut(o.Rows, joint.ScoreRows, n)
	}
	return Shards(o.Params, o.Rows, n)
}

// ParamsIn returns the parameters of a session, with what the parties' facts say; false: it is another algorithm's.
func ParamsIn(o joint.Outline) (Params, bool) {
	own, ok := o.(interface{ Parameters() Params })
	if !ok {
		return Params{}, false
	}
	return own.Parameters(), true
}

// training is a published or masked training; it implements joint.Training.
type training struct {
	params Params
	job    *contract.Job
}

// Read reads a training in which angles open.
func Read(job *contract.Job) (joint.Training, error) {
	p, err := ParamsOf(job.Parameters, job.Parties)
	if err == nil {
		err = CheckAlgorithm(job, p)
	}
	if err == nil && job.Shards > 0 {
		if err = CheckSharded(p, job.Privacy, job.Encrypted()); err != nil {
			err = fmt.Errorf("shards is %d: %w", job.Shards, err)
		}
	}
	return &training{p, job}, err
}

// Accepts implements joint.Training: Train looks at labels.
func (t *training) Accepts(*joint.Labels) error { return nil }

func (t *training) Outline(facts []contract.Facts, shard *contract.Shard) (joint.Outline, error) {
	o, err := OutlineOf(t.job, t.params, facts, shard)
	return outline(o), err
}

func (t *training) Train(ctx context.Context, s *joint.Session, own *joint.Table) (
	_ joint.Part, scores []float64, err error,
) {
	phase, err := PhaseOf(s.Vault)
	if err != nil {
		return nil, nil, err
	}
	p := &Party{
		Self: s.Self, Names: t.job.Parties, Params: t.params, Privacy: t.job.Privacy, Rows: own.Rows.Rows,
		Parts:  []Part{{Owner: s.Owner, Normaliser: own.Normaliser, Rows: own.Rows, Phase: phase}},
		Labels: own.Labels, Network: s.Network, Vault: s.Vault, Workers: s.Workers, Report: s.Report, Opened: s.Opened,
		Scored: func(f []float64) { scores = f },
	}
	if s.Shards != nil {
		p.Sums = func(ctx context.Context, b *Begun) ([]Sums, error) {
			lengths := LengthsOfSums(b.Model.Params, t.job.Parties[s.Self])
			return SumsOfShards(ctx, s, own.Rows, lengths, b.Model, encodeFloats(b.Labels), func(at Shard) ShardTask {
				return ShardTask{Labels: encodeFloats(b.Of(at))}
			})
		}
	}
	m, err := Train(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	m.TakeIn(s, own)
	return m, scores, nil
}

// TakeIn notes what the model's owner knows beside what training has found; own is nil where that brought nothing.
func (m *Model) TakeIn(s *joint.Session, own *joint.Table) {
	if m.Contract = s.Contract.Hash(); own != nil {
		m.Columns, m.Reading, m.Turned = own.Columns, own.Reading, own.Turned
	}
}

// Model implements joint.Part.
func (m *Model) Model() *joint.Model {
	return &joint.Model{
		Goal: m.Params.Goal(), Contract: m.Contract, Owner: m.Owner, Names: m.Names, Privacy: m.Privacy, Columns: m.Columns,
		Normaliser: m.Normaliser, Reading: m.Reading, Mean: m.Mean, Scale: m.Scale, Classes: m.Classes, Turned: m.Turned,
		Holds:    len(m.Functions()[0].Alpha) > 0,
		Probable: m.Params.Loss == kernel.Logistic.String() && m.Params.Scores() == 1,
		Features: m.Params.Features, Sigma: m.Sigma, Lambda: m.Lambda, Objective: m.Objective, TrainError: m.TrainError,
		Iterations: m.Iterations, NotConverged: m.NotConverged(), Secret: m.Phase[:],
	}
}

// Whole is for Of.
func (m *Model) Whole() *Model { return m }

// Of returns a part as one of this package's, nil where it is another algorithm's.
func Of(p joint.Part) *Model {
	if own, ok := p.(interface{ Whole() *Model }); ok {
		return own.Whole()
	}
	return nil
}

// Like returns the parameters of a training like the one that made a part: its own, of another algorithm's part
// defaults for the same goal.
func Like(p joint.Part) Params {
	if m := Of(p); m != nil {
		return m.Params
	}
	g := p.Model().Goal
	return Params{Active: g.Active, Label: g.Label, Target: g.Target, Classes: g.Classes}.WithDefaults()
}

// Predict implements joint.Part.
func (m *Model) Predict(job *contract.Job) (joint.Prediction, error) {
	if err := CheckAlgorithm(job, m.Params); err != nil {
		return nil, err
	}
	if m.Privacy == Sealed {
		return nil, errors.New("the model is sealed: package sealed scores with it")
	}
	if job.Shards > 0 {
		if err := CheckShardedScoring(m, job.Encrypted()); err != nil {
			return nil, fmt.Errorf("shards is %d: %w", job.Shards, err)
		}
	}
	return &prediction{m, job}, nil
}

// prediction is a prediction in which angles open; it implements joint.Prediction.
type prediction struct {
	model *Model
	job   *contract.Job
}

func (p *prediction) Outline(facts []contract.Facts, shard *contract.Shard) (joint.Outline, error) {
	o, err := OutlineOf(p.job, p.model.Params, facts, shard)
	return outline(o), err
}

func (p *prediction) Scorer(ctx context.Context, s *joint.Session, o joint.Scoring) (joint.Scorer, error) {
	if s.Shards != nil {
		return p.inShards(ctx, s, o)
	}
	scorer, err := NewScorer(Scoring{Self: s.Self, Receiver: o.Receiver, Models: []*Model{p.model}, Network: s.Network,
		Workers: s.Workers, Opened: s.Opened})
	return rowScorer{scorer}, err
}

// rowScorer scores rows whose angles open. What a party adds follows from its rows and its model part alone: it is the
// same whenever it is asked for.
type rowScorer struct{ of *Scorer }

func (s rowScorer) Score(ctx context.Context, _, _ int, rows *kernel.Matrix, _ []string) ([]float64, error) {
	return s.of.Score(ctx, []*kernel.Matrix{rows})
}
