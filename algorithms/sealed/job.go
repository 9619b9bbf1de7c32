package sealed

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Complete fills in what the proposer of a sealed training left open: the loss that opens nothing of the rows, and the
// keeper and the helper, the first parties that may hold shares beside the label holder. apart reports whether two
// parties are not affiliated.
func Complete(job *contract.Job, apart func(a, b string) bool) error {
	if job.Parameters == nil {
		job.Parameters = make(map[string]any)
	}
	if job.Parameters["loss"] == nil && job.Algorithm != contract.GLM { // a scorecard's follows from its target
		job.Parameters["loss"] = kernel.Square.String()
	}
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return err
	}
	three := []string{p.Active[0], p.Keeper, p.Helper}
	taken := func(name string) bool { // it may not hold shares beside those who do
		return slices.ContainsFunc(three, func(other string) bool {
			return other == name || other != "" && !apart(other, name)
		})
	}
	for place, role := range []string{"", "keeper", "helper"} {
		if place == 0 || three[place] != "" {
			continue
		}
		for _, name := range job.Parties {
			if three[place] == "" && !taken(name) {
				three[place] = name
				job.Parameters[role] = name
			}
		}
		if three[place] == "" {
			return fmt.Errorf("none of its parties can be the %s: it must be another than the label holder and affiliated with "+
				"nobody who holds shares; add a member of the charter to the job, it needs no data", role)
		}
	}
	return nil
}

// outline makes an Outline of a sealed job what nodes and auditors ask; it implements joint.Outline.
type outline fdskl.Outline

// outlineOf describes a session; see fdskl.OutlineOf.
func outlineOf(job *contract.Job, p fdskl.Params, facts []contract.Facts, s *contract.Shard) (joint.Outline, error) {
	o, err := fdskl.OutlineOf(job, p, facts, s)
	return outline(o), err
}

func (o outline) Disclose() (joint.Disclosure, error) { return Disclose(fdskl.Outline(o)) }

func (o outline) Follow() *trace.Follower { return Follow(fdskl.Outline(o)) }

func (o outline) Parameters() fdskl.Params { return o.Params }

func (o outline) Cut(n int) ([]contract.Shard, error) {
	if o.Receiver != "" {
		return joint.Cut(o.Rows, joint.ScoreRows, n)
	}
	return Shards(o.Params, o.Rows, n)
}

// training is a sealed training; it implements joint.Training.
type training struct {
	params fdskl.Params
	job    *contract.Job
}

// Read reads a sealed training.
func Read(job *contract.Job) (joint.Training, error) {
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err == nil {
		err = fdskl.CheckAlgorithm(job, p)
	}
	if err != nil {
		return nil, err
	}
	p = WithDefaults(p)
	return &training{p, job}, Validate(p, job.Parties)
}

func (t *training) Accepts(labels *joint.Labels) error { return CheckLabels(t.params, labels.Values) }

func (t *training) Outline(facts []contract.Facts, shard *contract.Shard) (joint.Outline, error) {
	p, err := WithFacts(t.params, facts)
	if err != nil {
		return nil, err
	}
	return outlineOf(t.job, p, facts, shard)
}

func (t *training) Train(ctx context.Context, s *joint.Session, own *joint.Table) (joint.Part, []float64, error) {
	if err := t.ofThisVersion(s.Contract); err != nil {
		return nil, nil, err
	}
	params, err := WithFacts(t.params, s.Contract.Parties)
	if err != nil {
		return nil, nil, err
	}
	p := &Party{Party: &fdskl.Party{
		Self: s.Self, Names: t.job.Parties, Params: params, Privacy: t.job.Privacy, Rows: s.Contract.Rows(),
		Vault: s.Vault, Workers: s.Workers, Report: s.Report, Opened: s.Opened,
	}, Network: s.Sealed, Session: s.Number, Owner: s.Owner, Scratch: s.Scratch}
	var rows *kernel.Matrix
	if own != nil {
		phase, err := fdskl.PhaseOf(s.Vault)
		if err != nil {
			return nil, nil, err
		}
		part := fdskl.Part{Owner: s.Owner, Normaliser: own.Normaliser, Rows: own.Rows, Phase: phase}
		if rows, p.Labels = own.Rows, own.Labels; params.Binned() {
			p.Bins = &part
		} else {
			p.Parts = []fdskl.Part{part}
		}
	}
	if s.Shards != nil {
		p.Sums = func(ctx context.Context, b *Begun) ([]Sums, error) {
			lengths, err := LengthsOfSums(params, t.job.Parties, p.Rows, t.job.Parties[s.Self])
			if err != nil {
				return nil, err
			}
			more := slices.Concat(encodeWords(b.Labels), b.Coin[:])
			return fdskl.SumsOfShards(ctx, s, rows, lengths, b.Model, more, func(at Shard) fdskl.ShardTask {
				return fdskl.ShardTask{Labels: encodeWords(b.Of(at, p.Rows)), Coin: b.Coin}
			})
		}
	}
	m, err := Train(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	m.TakeIn(s, own)
	return ownPart{m}, nil, nil
}

// ofThisVersion refuses a contract of a training that parties signed under an earlier version: one that opens scores of
// its rows, or whose steps with the logistic loss do not tell how far they are.
func (t *training) ofThisVersion(c *contract.Contract) error {
	opens := func(kind string) bool {
		return slices.ContainsFunc(c.Openings, func(o contract.Opening) bool { return o.Kind == kind })
	}
	if !opens(kindScores) && (opens(kindProgress) || t.params.Loss != kernel.Logistic.String()) {
		return nil
	}
	return fmt.Errorf("the contract of job %q is of an earlier version of this program, whose trainings with loss = %q "+
		"took other steps: propose the job anew", c.Job.Name, kernel.Logistic)
}

// ownPart is a party's part of a sealed model; it implements joint.Part.
type ownPart struct{ model *fdskl.Model }

// ReadPart reads a part of a model of any privacy.
func ReadPart(data []byte) (joint.Part, error) {
	m, err := fdskl.DecodeModel(data)
	if err != nil {
		return nil, err
	}
	if m.Privacy == fdskl.Sealed {
		return ownPart{m}, nil
	}
	return m, nil
}

func (p ownPart) Model() *joint.Model { return p.model.Model() }

func (p ownPart) Encode() ([]byte, error) { return p.model.Encode() }

func (p ownPart) Whole() *fdskl.Model { return p.model }

func (p ownPart) Predict(job *contract.Job) (joint.Prediction, error) {
	if err := fdskl.CheckAlgorithm(job, p.model.Params); err != nil {
		return nil, err
	}
	return &prediction{p.model, job}, Validate(p.model.Params, job.Parties)
}

// prediction is a sealed prediction; it implements joint.Prediction.
type prediction struct {
	model *fdskl.Model
	job   *contract.Job
}

func (p *prediction) Outline(facts []contract.Facts, shard *contract.Shard) (joint.Outline, error) {
	return outlineOf(p.job, p.model.Params, facts, shard)
}

func (p *prediction) Scorer(ctx context.Context, s *joint.Session, o joint.Scoring) (joint.Scorer, error) {
	scoring := Scoring{Self: s.Self, Receiver: o.Receiver, Model: p.model, Network: s.Sealed, Vault: s.Vault,
		Session: s.Number, Openings: o.Openings, Singly: o.Singly, Workers: s.Workers, Opened: s.Opened, Asked: o.Asked,
		Record: o.Record}
	if s.Shards != nil {
		params, names := p.model.Params, p.job.Parties
		words, err := fdskl.ScoresOfShards(ctx, s, o, p.model, o.IDs, func(rows int) int {
			return CountScoreWords(params, names, rows, names[s.Self])
		}, DecodeScoreWords)
		if err != nil {
			return nil, err
		}
		scoring.Words = func(number, n int) (ScoreWords, error) {
			return fdskl.OfOpening(words, number, params.Scores(), n)
		}
	}
	scorer, err := NewScorer(ctx, scoring)
	return rowScorer{scorer}, err
}

// rowScorer scores rows by shares; it implements joint.Scorer.
type rowScorer struct{ of *Scorer }

func (s rowScorer) Score(ctx context.Context, number, n int, rows *kernel.Matrix, ids []string) ([]float64, error) {
	return s.of.Score(ctx, number, n, joint.Work{Rows: rows}.Matrices(), ids)
}

// Work is a worker's part of a shard's session of a sealed job.
func Work(ctx context.Context, s *joint.Session, w joint.Work) ([]byte, error) {
	t, m, err := fdskl.ReadTask(w.Task)
	switch {
	case err != nil:
		return nil, err
	case s.Sealed == nil:
		return nil, fmt.Errorf("privacy is %q, want %q", s.Contract.Job.Privacy, fdskl.Sealed)
	}
	at := fdskl.Span(s.Contract.Shard.Shard)
	if s.Contract.Job.Task == contract.TaskPredict {
		words, err := ScoreShard(ctx, ShardScoring{Self: s.Self, Receiver: t.Receiver, Model: m, Rows: at.Rows(),
			Matrices: w.Matrices(), IDs: t.IDs, Network: s.Sealed, Workers: s.Workers, Report: s.Report})
		return words.Encode(), err
	}
	sums, err := SumRows(ctx, Summing{Self: s.Self, Begun: m, Rows: w.JobRows, Shard: at, Matrices: w.Matrices(),
		Labels: decodeWords(t.Labels), Coin: t.Coin, Network: s.Sealed, Workers: s.Workers, Report: s.Report})
	return sums.Encode(), err
}

// encodeWords writes words as bytes.
func encodeWords(words []uint64) []byte {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// decodeWords reads what encodeWords wrote; of nothing it is nil.
func decodeWords(b []byte) (words []uint64) {
	for ; len(b) > 0; b = b[8:] {
		words = append(words, binary.LittleEndian.Uint64(b))
	}
	return words
}
