// Package line has an algorithm over columns that the program does not know: each party adds up its columns of every
// row, on one scale, the label holder learns the sums over all parties, and fits a line. Tests add it to the list of a
// federation's nodes, and to the list of the program. Who adds an algorithm over columns finds here all that one needs.
package line

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"
	"gonum.org/v1/gonum/stat"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The kinds of what parties send.
const (
	kindSums = "sums" // of a row's columns, to the label holder or to the receiver of scores
	kindLine = "line" // its slope and intercept, to all
)

// Algorithm is the line, as nodes and auditors know it.
func Algorithm() *joint.Algorithm {
	return &joint.Algorithm{
		Name: "line", Goal: goalOf,
		Read: func(job *contract.Job) (joint.Training, error) {
			g, err := goalOf(job)
			return &training{job, g}, err
		},
		Part: func(data []byte) (joint.Part, error) {
			p := new(part)
			return p, cbor.Unmarshal(data, p)
		},
	}
}

// goalOf reads a job's parameters.
func goalOf(job *contract.Job) (g joint.Goal, err error) {
	g.Label, _ = job.Parameters["label"].(string)
	g.Target, _ = job.Parameters["target"].(string)
	if active, _ := job.Parameters["active"].([]any); len(active) == 1 {
		g.Active = []string{fmt.Sprint(active[0])}
	}
	if g.Target == "" {
		g.Target = joint.Classification
	}
	g.Scales = kernel.FitOptions{Numeric: kernel.MinMax, DropConstant: true}
	if len(g.Active) == 0 || !slices.Contains(job.Parties, g.Active[0]) || g.Label == "" ||
		job.Privacy != keys.PrivacyMasked || job.Shards > 0 {
		return g, fmt.Errorf("active is %v, label %q, privacy %q, shards %d: want one party, a name, masked and none",
			job.Parameters["active"], g.Label, job.Privacy, job.Shards)
	}
	return g, nil
}

// sumsOf adds up a party's columns of rows; zeros of nothing.
func sumsOf(rows *kernel.Matrix, n int) []float64 {
	sums := make([]float64, n)
	for i := range sums {
		if rows != nil {
			rows.EachInRow(i, func(_ int, v float64) { sums[i] += v })
		}
	}
	return sums
}

// training implements joint.Training.
type training struct {
	job  *contract.Job
	goal joint.Goal
}

func (t *training) Accepts(*joint.Labels) error { return nil }

func (t *training) Outline(facts []contract.Facts, _ *contract.Shard) (joint.Outline, error) {
	return &outline{job: t.job, holder: t.job.Index(t.goal.Active[0]), rows: contract.RowsOf(facts)}, nil
}

// Train is what a party does; own is never nil in a job that is not sealed.
func (t *training) Train(ctx context.Context, s *joint.Session, own *joint.Table) (joint.Part, []float64, error) {
	holder := t.job.Index(t.goal.Active[0])
	sums := sumsOf(own.Rows, own.Rows.Rows)
	if err := s.Network.SumReals(ctx, kindSums, holder, sums); err != nil {
		return nil, nil, err
	}
	var said []byte
	if s.Self == holder {
		s.Opened(kindSums, int64(len(sums)))
		intercept, slope := stat.LinearRegression(sums, own.Labels.Values, nil, false)
		said = binary.LittleEndian.AppendUint64(nil, math.Float64bits(slope))
		said = binary.LittleEndian.AppendUint64(said, math.Float64bits(intercept))
	}
	said, err := s.Network.Broadcast(ctx, kindLine, holder, said, 16)
	if err != nil || len(said) != 16 {
		return nil, nil, fmt.Errorf("a line of %d bytes: %w", len(said), err)
	}
	p := &part{Of: joint.Model{Goal: t.goal, Contract: s.Contract.Hash(), Owner: s.Owner, Names: t.job.Parties,
		Privacy: t.job.Privacy, Columns: own.Columns, Normaliser: own.Normaliser, Reading: own.Reading, Scale: 1,
		Classes: []string{"", ""}, Turned: own.Turned, Iterations: 1, Features: 1, Objective: math.NaN(),
		TrainError: math.NaN()},
		Slope:     math.Float64frombits(binary.LittleEndian.Uint64(said)),
		Intercept: math.Float64frombits(binary.LittleEndian.Uint64(said[8:]))}
	if own.Labels != nil && own.Labels.Classes != nil {
		p.Of.Classes = own.Labels.Classes
	}
	if s.Self != holder {
		s.Opened(kindLine, 1)
		return p, nil, nil
	}
	for i := range sums {
		sums[i] = p.score(sums[i])
	}
	return p, sums, nil
}

// outline implements joint.Outline: what is counted is what runs.
type outline struct {
	job    *contract.Job
	holder int
	rows   int
	scores bool
}

func (o *outline) Cut(int) ([]contract.Shard, error) {
	return nil, fmt.Errorf("a line is not cut into shards")
}
func (o *outline) Follow() *trace.Follower { return nil }

func (o *outline) Disclose() (d joint.Disclosure, err error) {
	n := &counter{trace.Network{Names: o.job.Parties, Stage: func(string) int64 { return 1 },
		Answer: func(_ string, limit int) (trace.Answer, error) {
			return trace.Answer{Class: contract.ClassOpening, Data: make([]byte, limit)}, nil
		}}}
	ctx, root := context.Background(), o.job.Parties[o.holder]
	batch := o.rows
	if o.scores {
		batch = min(o.rows, joint.ScoreRows)
	}
	for lo := 0; lo < o.rows && err == nil; lo += batch {
		err = n.SumReals(ctx, kindSums, o.holder, make([]float64, min(batch, o.rows-lo)))
	}
	meaning := "the sum of each row's columns"
	if o.scores {
		meaning = "the predictions themselves"
	} else if err == nil {
		_, err = n.Broadcast(ctx, kindLine, o.holder, nil, 16)
	}
	d.Operations = n.Operations
	d.Openings = []contract.Opening{{To: root, Kind: kindSums, Count: n.Learned(root, kindSums), Meaning: meaning}}
	for _, name := range o.job.Parties {
		if k := n.Learned(name, kindLine); k > 0 {
			d.Openings = append(d.Openings, contract.Opening{To: name, Kind: kindLine, Count: k,
				Meaning: "the slope and the intercept"})
		}
	}
	return d, err
}

// counter counts sums of reals, too.
type counter struct{ trace.Network }

func (n *counter) SumReals(_ context.Context, kind string, root int, v []float64) error {
	return n.Sum(kind, root, contract.ClassMasked, contract.Fixed64, len(v), true)
}

// part implements joint.Part.
type part struct {
	Of               joint.Model
	Slope, Intercept float64
}

func (p *part) Model() *joint.Model       { return &p.Of }
func (p *part) Encode() ([]byte, error)   { return cbor.Marshal(p) }
func (p *part) score(sum float64) float64 { return p.Slope*sum + p.Intercept }
func (p *part) Predict(job *contract.Job) (joint.Prediction, error) {
	return &prediction{p, job}, nil
}

// prediction implements joint.Prediction.
type prediction struct {
	part *part
	job  *contract.Job
}

func (p *prediction) Outline(facts []contract.Facts, _ *contract.Shard) (joint.Outline, error) {
	return &outline{job: p.job, holder: p.job.Index(p.job.OpenTo), rows: contract.RowsOf(facts), scores: true}, nil
}

func (p *prediction) Scorer(_ context.Context, s *joint.Session, o joint.Scoring) (joint.Scorer, error) {
	return &scorer{p.part, s, o.Receiver}, nil
}

// scorer implements joint.Scorer.
type scorer struct {
	part     *part
	session  *joint.Session
	receiver int
}

func (s *scorer) Score(ctx context.Context, _, n int, rows *kernel.Matrix, _ []string) ([]float64, error) {
	sums := sumsOf(rows, n)
	if err := s.session.Network.SumReals(ctx, kindSums, s.receiver, sums); err != nil || s.session.Self != s.receiver {
		return nil, err
	}
	s.session.Opened(kindSums, int64(n))
	for i := range sums {
		sums[i] = s.part.score(sums[i])
	}
	return sums, nil
}
