package fdskl

import (
	"context"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Beginning is what a sealed training or prediction shares with the other modes: the target, the kernel's
// width and this party's part of the angles.
type Beginning struct {
	trainer *trainer
	opener  *opener
}

// Begin agrees on the target and, when the job gives none, on the kernel's width: for a sealed job the
// root of the mean squared distance of sampled pairs of rows, one number that opens to the active
// party. The target's description and the width go to all.
func Begin(ctx context.Context, p *Party) (*Beginning, error) {
	t, err := begin(ctx, p)
	if err != nil {
		return nil, err
	}
	o, err := t.newOpener()
	return &Beginning{t, o}, err
}

// begin checks a party's inputs and agrees on the target and the kernel's width.
func begin(ctx context.Context, p *Party) (*trainer, error) {
	t, err := newTrainer(p)
	if err != nil {
		return nil, err
	}
	if err := t.agreeOnTarget(ctx); err != nil {
		return nil, err
	}
	return t, t.width(ctx)
}

// BeginScoring prepares this party's part of the angles of new rows. parts are the models whose columns this
// party has: its own, none where it has no data, in the pooled computation all.
func BeginScoring(m *Model, self int, parts []*Model, workers int) (*Beginning, error) {
	t, err := newRole(&Party{Self: self, Names: m.Names, Params: m.Params, Privacy: m.Privacy, Workers: workers}, m.Sigma)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		t.Parts = append(t.Parts, Part{Owner: part.Owner, Normaliser: part.Normaliser, Phase: part.Phase})
	}
	o, err := t.newOpener()
	return &Beginning{t, o}, err
}

// Targets returns the active party's labels as the solver of the k-th function sees them, nil elsewhere. They are there
// until it is called again.
func (b *Beginning) Targets(k int) []float64 {
	b.trainer.target.against(k)
	return b.trainer.target.values
}

// Matrices returns the rows of this party's parts.
func (b *Beginning) Matrices() []*kernel.Matrix { return b.trainer.matrices() }

// Turns returns this party's addends of the angles of rows [lo, hi) of the matrices, row-major
// [hi-lo][angles], its phases included.
func (b *Beginning) Turns(rows []*kernel.Matrix, lo, hi int) ([]uint16, error) {
	return b.opener.turns(&b.opener.shares[0], rows, lo, hi)
}

// Model starts a model part with what every party knows.
func (b *Beginning) Model() *Model { return b.trainer.model() }
