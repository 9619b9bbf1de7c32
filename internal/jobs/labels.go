package jobs

import (
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
)

// LoadLabels returns the label column alone of the named table, of the rows and in the order that LoadFor returns them
// for the same part of a model, and read as LoadFor reads it, so that one reading serves both; nil where the table has
// no such column: rows to be scored need have no label.
func (t *Tables) LoadLabels(name string, m *joint.Model, a *alignment.Alignment) (*dataset.Table, error) {
	label := m.Goal.Label
	r, o, unlock, err := t.reading(name, func(o dataset.Options) dataset.Options { return vertical.ScoringOptions(o, m) })
	defer unlock()
	if err != nil || !r.file.Has(label) {
		return nil, err
	}
	o.Label, o.Only, o.Categorical = label, []string{}, nil
	table, err := r.file.Table(o)
	if err != nil || a == nil {
		return table, err
	}
	rows, err := r.common(a)
	if err != nil {
		return nil, err
	}
	return table.Select(rows), nil
}

// LabelsIn returns the label column of a file of labels beside the named table, which has the same id column. The
// location can have options, and a file of them lie beside it, as with every table.
func (t *Tables) LabelsIn(path, name, label string) (*dataset.Table, error) {
	spec, ok := t.Specs[name]
	if !ok {
		return nil, t.none(name, "")
	}
	path, o, err := dataset.Locate(path, dataset.Options{ID: spec.Options.ID})
	if err != nil {
		return nil, err
	}
	o.Label, o.Only = label, []string{}
	return dataset.Read(path, o)
}
