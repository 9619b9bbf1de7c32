package fdskl

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// ScoreRows is how many rows are scored at a time in a prediction of a whole table.
const ScoreRows = 1024

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
	Network  Network
	Workers  int
	Opened   func(kind string, count int64)
}

// NewScorer prepares a joint prediction with this party's part of the model.
func NewScorer(s Scoring) (*Scorer, error) {
	m := s.Models[0]
	p := &Party{Self: s.Self, Names: m.Names, Params: m.Params, Privacy: m.Privacy, Network: s.Network, Workers: s.Workers, Opened: s.Opened}
	t, err := newRole(p, m.Sigma)
	if err != nil {
		return nil, err
	}
	for _, part := range s.Models {
		t.Parts = append(t.Parts, Part{Owner: part.Owner, Normaliser: part.Normaliser, Phase: part.Phase})
	}
	o, err := t.newOpener()
	if err != nil {
		return nil, err
	}
	if t.rank >= 0 && len(m.Alpha) != o.shares[t.rank].count {
		return nil, fmt.Errorf("the model part of %s has %d coefficients, its features are %d", m.Names[s.Self], len(m.Alpha), o.shares[t.rank].count)
	}
	return &Scorer{opener: o, model: m, receiver: s.Receiver}, nil
}

// Score returns f of the rows at the receiver, and nil elsewhere; see Model.Unit. rows holds this
// party's parts of the same rows, in the same order everywhere.
func (s *Scorer) Score(ctx context.Context, rows []*kernel.Matrix) ([]float64, error) {
	n := rows[0].Rows
	f := make([]float64, n)
	for k := range s.actives {
		if err := s.scoreShare(ctx, k, rows, f); err != nil {
			return nil, err
		}
	}
	if s.rank == 0 {
		for j := range f {
			f[j] += s.model.Intercept
		}
	}
	if len(s.actives) > 1 || s.receiver != s.leader() {
		if err := s.Network.SumReals(ctx, "scores", s.receiver, f); err != nil {
			return nil, err
		}
	}
	if s.Self != s.receiver {
		return nil, nil
	}
	s.opened("scores", n)
	return f, nil
}

// scoreShare opens the angles of the k-th active party's features to it; that party adds its part
// of the score to f.
func (s *Scorer) scoreShare(ctx context.Context, k int, rows []*kernel.Matrix, f []float64) error {
	block, err := s.open(ctx, k, rows, 0, len(f))
	if err != nil || s.rank != k {
		return err
	}
	s.opened("angles", len(block))
	n := len(s.model.Alpha)
	for j := range f {
		f[j] += s.cosine.Dot(block[j*n:(j+1)*n], s.model.Alpha)
	}
	return nil
}

// Calibrated returns the probability of the second class for a score of a logistic model.
func Calibrated(score float64) float64 { return kernel.Sigmoid(score) }

// Unit returns a score in the target's own units.
func (m *Model) Unit(score float64) float64 { return score*m.Scale + m.Mean }

// TestError returns the share of scores on the wrong side of zero, or for a regression the root
// mean square error in the target's own units. Rows without a label (NaN) do not count.
func TestError(scores, labels []float64, m *Model) float64 {
	var n, wrong float64
	for j, y := range labels {
		switch {
		case math.IsNaN(y):
			continue
		case m.Params.Target == Regression:
			wrong += (m.Unit(scores[j]) - y) * (m.Unit(scores[j]) - y)
		case (scores[j] > 0) != (y > 0):
			wrong++
		}
		n++
	}
	if m.Params.Target == Regression {
		return math.Sqrt(wrong / n)
	}
	return wrong / n
}
