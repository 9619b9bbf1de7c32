// Package vertical turns a party's table into what vertical kernel learning works on: normalised
// columns and labels. It is where data files and algorithms meet.
package vertical

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
)

// Prepared is one party's table, ready for training.
type Prepared struct {
	Table      *dataset.Table
	Normaliser *kernel.Normaliser
	Rows       *kernel.Matrix
	Columns    []string      // feature columns
	Labels     *fdskl.Labels // nil without the label
}

// PrepareTraining normalises a table's feature columns by the job's parameters and, for an active
// party, reads the labels. The errors name the file and the column.
func PrepareTraining(t *dataset.Table, p fdskl.Params, active bool) (*Prepared, error) {
	features := t
	if active {
		features = t.Without(p.Label)
	}
	prepared := &Prepared{Table: t, Columns: features.Names()}
	var err error
	if active {
		if prepared.Labels, err = labels(t, p); err != nil {
			return nil, err
		}
	}
	columns := KernelColumns(features)
	options := kernel.FitOptions{Numeric: kernel.Scaling(p.Scale), DropConstant: p.Constant == "drop"}
	if prepared.Normaliser, err = kernel.Fit(columns, nil, options); err != nil {
		return nil, cellError(t, err)
	}
	if prepared.Rows, err = prepared.Normaliser.Apply(columns); err != nil {
		return nil, cellError(t, err)
	}
	return prepared, nil
}

// ScoringOptions says how a table of new rows is read for a part of a model: its columns alone, empty cells of
// numbers as the training filled them, and categories as such even where all of a few rows look like numbers or
// are empty. Empty cells of categories are a level if they were one in the training.
func ScoringOptions(o dataset.Options, m *fdskl.Model) dataset.Options {
	o.Label, o.Fill, o.Only, o.Categorical = "", m.Fills, m.Columns, nil
	if m.Normaliser == nil {
		return o
	}
	for _, s := range m.Normaliser.Columns {
		if s.Scaling == kernel.OneHot {
			o.Categorical = append(o.Categorical, s.Column)
		}
		if slices.Contains(s.Levels, "") {
			o.Missing = dataset.WithLevels(o.Missing)
		}
	}
	return o
}

// PrepareScoring normalises new rows as a model part was trained.
func PrepareScoring(t *dataset.Table, m *fdskl.Model) (*kernel.Matrix, error) {
	only, err := t.Only(m.Columns...)
	if err != nil {
		return nil, err
	}
	rows, err := m.Normaliser.Apply(KernelColumns(only))
	if err != nil {
		return nil, cellError(t, err)
	}
	return rows, nil
}

// KernelColumns views a table's columns as the kernel package wants them.
func KernelColumns(t *dataset.Table) []kernel.Column {
	columns := make([]kernel.Column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = kernel.Column{Name: c.Name, Values: c.Values, Codes: c.Codes, Levels: c.Levels}
	}
	return columns
}

// labels reads the label column by the job's target.
func labels(t *dataset.Table, p fdskl.Params) (*fdskl.Labels, error) {
	kind := dataset.Classification
	if p.Target == fdskl.Regression {
		kind = dataset.Regression
	}
	l, err := t.Labels(p.Label, kind)
	if err != nil {
		return nil, err
	}
	values := append([]float64(nil), l.Values...)
	missing := 0
	for j, present := range l.Present {
		if !present {
			values[j] = math.NaN()
			missing++
		}
	}
	if missing > 0 && len(p.Active) == 1 {
		return nil, fmt.Errorf("%s: label column %q is empty in %d of %d rows, and no other party has labels", t.Path, p.Label, missing, t.Rows())
	}
	return &fdskl.Labels{Values: values, Classes: l.Classes}, nil
}

// cellError names the file of an error, and the row's id where it is about a cell.
func cellError(t *dataset.Table, err error) error {
	var cell *kernel.CellError
	if errors.As(err, &cell) && cell.Row >= 0 && cell.Row < t.Rows() {
		return fmt.Errorf("%s: row with id %q, column %q: %s", t.Path, t.IDs[cell.Row], cell.Column, cell.Reason)
	}
	return fmt.Errorf("%s: %w", t.Path, err)
}
