package vertical

import (
	"context"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// Pooled is a training of all parties' columns in one process, in the clear: the same code as the
// federation, alone on its network.
type Pooled struct {
	params fdskl.Params
	tables []*dataset.Table
	owners []keys.ID
	models []*fdskl.Model
	phase  func(part int) fdskl.PhaseSeed
}

// pooledName is what the pooled party is called.
const pooledName = "pooled"

// NewPooled prepares a pooled training of tables, one for each owner; the first holds the label.
func NewPooled(p fdskl.Params, tables []*dataset.Table, owners []keys.ID) *Pooled {
	p.Active = []string{pooledName}
	phase := func(part int) fdskl.PhaseSeed { // nothing to hide: the same training gives the same model
		return fdskl.PhaseSeed(keys.HashOf("hanse pooled phases v1", []byte(p.Seed), []byte{byte(part)}))
	}
	return &Pooled{params: p, tables: tables, owners: owners, phase: phase}
}

// Train trains on the tables' rows, which are the same at all, and returns the model with the
// training's figures.
func (p *Pooled) Train(ctx context.Context, dir string, workers int) (*fdskl.Model, error) {
	v, err := vault.Open(dir, vault.Options{})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	party := &fdskl.Party{Names: []string{pooledName}, Params: p.params, Privacy: fdskl.Masked, Network: fdskl.Solo{},
		Vault: v, Workers: workers}
	p.models = nil
	for i, t := range p.tables {
		prepared, err := PrepareTraining(t, p.params.Goal(), i == 0)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			party.Labels, party.Rows = prepared.Labels, t.Rows()
		}
		party.Parts = append(party.Parts, fdskl.Part{Owner: p.owners[i], Normaliser: prepared.Normaliser,
			Rows: prepared.Rows, Phase: p.phase(i)})
		p.models = append(p.models, &fdskl.Model{Columns: prepared.Columns})
	}
	m, err := fdskl.Train(ctx, party)
	if err != nil {
		return nil, err
	}
	for i, part := range party.Parts {
		columns := p.models[i].Columns
		copied := *m
		p.models[i] = &copied
		p.models[i].Owner, p.models[i].Phase = part.Owner, part.Phase
		p.models[i].Normaliser, p.models[i].Columns = part.Normaliser, columns
	}
	return m, nil
}

// Score returns the trained model's scores of new rows, in the order of the first table.
func (p *Pooled) Score(ctx context.Context, tables []*dataset.Table, workers int) ([]float64, error) {
	s, err := fdskl.NewScorer(fdskl.Scoring{Models: p.models, Network: fdskl.Solo{}, Workers: workers})
	if err != nil {
		return nil, err
	}
	var scores []float64
	all := make([]*kernel.Matrix, len(tables))
	for lo := 0; lo < tables[0].Rows(); lo += joint.ScoreRows {
		for i, t := range tables {
			rows, err := PrepareScoring(t.Slice(lo, min(lo+joint.ScoreRows, t.Rows())), p.models[i].Model())
			if err != nil {
				return nil, err
			}
			all[i] = rows
		}
		f, err := s.Score(ctx, all)
		if err != nil {
			return nil, err
		}
		scores = append(scores, f...)
	}
	return scores, nil
}
