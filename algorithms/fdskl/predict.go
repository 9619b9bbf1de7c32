package fdskl

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Scorer is one party's part of a joint prediction: it holds the party's model part and the
// network of a session.
type Scorer struct {
	*opener
	model    *Model
	receiver int
}

// Scoring is what a party brings to a joint prediction.
type Scoring struct {
	Self     int
	Receiver int      // the party that the scores open to
	Models   []*Model // one part; the pooled computation has all
	Network  joint.Network
	Workers  int
	Opened   func(kind string, count int64)

	tracer *tracer // see Party
}

// NewScorer prepares a joint prediction with this party's part of the model.
func NewScorer(s Scoring) (*Scorer, error) {
	m := s.Models[0]
	p := &Party{Self: s.Self, Names: m.Names, Params: m.Params, Privacy: m.Privacy, Network: s.Network,
		Workers: s.Workers, Opened: s.Opened, tracer: s.tracer}
	t, err := newRole(p, m.Sigma)
	if err != nil {
		return nil, err
	}
	for _, part := range s.Models {
		if part.Normaliser == nil {
			continue // a dry run: nobody's part
		}
		t.Parts = append(t.Parts, Part{Owner: part.Owner, Normaliser: part.Normaliser, Phase: part.Phase})
	}
	o, err := t.newOpener()
	if err != nil {
		return nil, err
	}
	if t.rank >= 0 {
		functions := m.Functions()
		if len(functions) != m.Params.Scores() {
			return nil, fmt.Errorf("the model part of %s has %d functions, want %d", m.Names[s.Self], len(functions),
				m.Params.Scores())
		}
		features := o.shares[t.rank].count * m.Params.Features / m.Params.Angles()
		for _, f := range functions {
			if len(f.Alpha) != features {
				return nil, fmt.Errorf("the model part of %s has %d coefficients, its features are %d", m.Names[s.Self],
					len(f.Alpha), features)
			}
		}
	}
	return &Scorer{opener: o, model: m, receiver: s.Receiver}, nil
}

// Score returns the scores of the rows at the receiver, row-major [rows][Params.Scores], and nil elsewhere; see
// Model.Unit and Model.Class. rows holds this party's parts of the same rows, in the same order everywhere.
func (s *Scorer) Score(ctx context.Context, rows []*kernel.Matrix) ([]float64, error) {
	return s.score(ctx, rows[0].Rows, rows)
}

// score is Score of n rows.
func (s *Scorer) score(ctx context.Context, n int, rows []*kernel.Matrix) ([]float64, error) {
	each := s.Params.Scores()
	f := make([]float64, n*each)
	for k := range s.actives {
		if err := s.scoreShare(ctx, k, rows, n, f); err != nil {
			return nil, err
		}
	}
	if s.rank == 0 {
		for i, function := range s.model.Functions() {
			for j := range n {
				f[j*each+i] += function.Intercept
			}
		}
	}
	if len(s.actives) > 1 || s.receiver != s.leader() {
		if err := s.Network.SumReals(ctx, KindScores, s.receiver, f); err != nil {
			return nil, err
		}
	}
	if s.Self != s.receiver {
		return nil, nil
	}
	s.opened(KindScores, len(f))
	return f, nil
}

// scoreShare opens the angles of n rows for the k-th active party's features to it; that party adds its part
// of the scores to f.
func (s *Scorer) scoreShare(ctx context.Context, k int, rows []*kernel.Matrix, n int, f []float64) error {
	block, err := s.openAngles(ctx, k, rows, 0, n)
	if err != nil || s.rank != k {
		return err
	}
	s.opened(KindAngles, len(block))
	functions, count := s.model.Functions(), s.shares[k].count
	dot := s.cosine.DotPairs
	if s.Params.Schedule == DoublyStochastic {
		dot = s.cosine.Dot
	}
	for j := range n {
		for i, function := range functions {
			f[j*len(functions)+i] += dot(block[j*count:(j+1)*count], function.Alpha)
		}
	}
	return nil
}

// TestError returns the share of rows whose scores say another class than their label, or for a regression the root
// mean square error in the target's own units. scores is row-major [len(labels)][Params.Scores], labels are as Labels
// has them. Rows without a label (NaN) do not count.
func TestError(scores, labels []float64, m *Model) float64 {
	if each := m.Params.Scores(); each > 1 {
		return wrongClasses(scores, labels, each)
	}
	var n, wrong float64
	for j, y := range labels {
		switch {
		case math.IsNaN(y):
			continue
		case m.Params.Target == joint.Regression:
			miss := scores[j]*m.Scale + m.Mean - y
			wrong += miss * miss
		case (scores[j] > 0) != (y > 0):
			wrong++
		}
		n++
	}
	if m.Params.Target == joint.Regression {
		return math.Sqrt(wrong / n)
	}
	return wrong / n
}

// wrongClasses returns the share of rows whose largest score, of each class one, is not that of their label's class.
func wrongClasses(scores, labels []float64, classes int) float64 {
	var n, wrong float64
	for j, y := range labels {
		if math.IsNaN(y) {
			continue
		}
		n++
		if float64(joint.Class(scores[j*classes:(j+1)*classes])) != y {
			wrong++
		}
	}
	return wrong / n
}
