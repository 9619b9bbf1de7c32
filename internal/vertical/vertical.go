// Package vertical turns a party's table into what algorithms over columns work on: normalised columns and labels. It
// is where data files and algorithms meet.
package vertical

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/wording"
)

// Prepared is one party's table, ready for training.
type Prepared struct {
	Table      *dataset.Table
	Normaliser *kernel.Normaliser
	Rows       *kernel.Matrix
	Columns    []string      // feature columns
	Labels     *joint.Labels // nil without the label
}

// PrepareTraining puts a table's feature columns on the job's scales and, for an active party, reads the labels. The
// errors name the file and the column.
func PrepareTraining(t *dataset.Table, goal joint.Goal, active bool) (*Prepared, error) {
	features := t
	if active {
		features = t.Without(goal.Label)
	}
	prepared := &Prepared{Table: t, Columns: features.Names()}
	var err error
	if active {
		if prepared.Labels, err = LabelsOf(t, goal); err != nil {
			return nil, err
		}
	}
	if err := features.CheckLevels(); err != nil {
		return nil, err
	}
	columns := KernelColumns(features)
	if active && len(columns) == 0 { // labels are all that it brings
		prepared.Normaliser, prepared.Rows = new(kernel.Normaliser), kernel.NoColumns(t.Rows())
		return prepared, nil
	}
	scales := goal.Scales
	fillBy(&scales, t.Missing)
	scales.Strict = t.Levels == dataset.StrictLevel
	if prepared.Normaliser, err = kernel.Fit(columns, nil, scales); err != nil {
		return nil, cellError(t, err)
	}
	if prepared.Rows, err = prepared.Normaliser.Apply(columns); err != nil {
		return nil, cellError(t, err)
	}
	return prepared, nil
}

// fillBy says what becomes of missing cells as a table's owner chose; see dataset.Options.Missing.
func fillBy(o *kernel.FitOptions, way string) {
	switch way {
	case "", dataset.Level:
		o.Fill, o.Indicate, o.Level = kernel.Median, true, true
	case dataset.Refuse:
	default:
		numbers, _, both := strings.Cut(way, ",")
		o.Fill, o.Level = kernel.Fill(numbers), both
	}
}

// ReadingOf returns how a table was read that a part of a model was trained on, nil where its owner chose nothing.
func ReadingOf(t *dataset.Table, o dataset.Options) *joint.Reading {
	r := &joint.Reading{ID: o.ID, Categorical: o.Categorical, Missing: o.Missing, NA: o.NA, NAChosen: o.NA != nil,
		Columns: o.Columns, Ignore: o.Ignore, Levels: o.Levels, Dates: o.Dates, DateOrders: t.DateOrders,
		Delimiter: o.Delimiter, Decimal: o.Decimal, Thousands: o.Thousands, Units: o.Units}
	if reflect.DeepEqual(*r, joint.Reading{}) {
		return nil
	}
	return r
}

// TrainingOptions returns how the table was read that a part of a model was trained on.
func TrainingOptions(r *joint.Reading) dataset.Options {
	if r == nil {
		return dataset.Options{}
	}
	o := dataset.Options{ID: r.ID, Categorical: r.Categorical, Missing: r.Missing, NA: r.NA, Columns: r.Columns,
		Ignore: r.Ignore, Levels: r.Levels, Dates: r.Dates, Delimiter: r.Delimiter, Decimal: r.Decimal,
		Thousands: r.Thousands, Units: r.Units}
	if r.NAChosen && o.NA == nil {
		o.NA = []string{}
	}
	return o
}

// ScoringOptions says how a table of new rows is read for a part of a model: its columns alone, dates as the training
// read them, and categories as such even where all of a few rows look like numbers or are missing. What its owner says
// of the table's ids, of missing cells' texts and of how the file is written holds; else the latter two are as in the
// training.
func ScoringOptions(o dataset.Options, m *joint.Model) dataset.Options {
	trained := TrainingOptions(m.Reading)
	o.Label, o.Only, o.Columns, o.Categorical = "", scoredColumns(m), nil, nil
	if o.NA == nil {
		o.NA = trained.NA
	}
	o = Written(o, m)
	o.Missing, o.Levels, o.DateOrders = trained.Missing, trained.Levels, map[string]string{}
	if m.Reading != nil && m.Reading.DateOrders != nil {
		o.DateOrders = m.Reading.DateOrders
	}
	if m.Normaliser == nil {
		return o
	}
	for _, s := range m.Normaliser.Columns {
		if s.Scaling == kernel.OneHot || s.Scaling == kernel.Binned && len(s.Bins.Levels) > 0 {
			o.Categorical = append(o.Categorical, s.Column)
		}
	}
	return o
}

// Written returns the options of a table of new rows with how the training's text was written, where they say nothing
// of their own.
func Written(o dataset.Options, m *joint.Model) dataset.Options {
	if r := m.Reading; r != nil && o.Delimiter == "" && o.Decimal == "" && o.Thousands == "" && o.Units == nil {
		o.Delimiter, o.Decimal, o.Thousands, o.Units = r.Delimiter, r.Decimal, r.Thousands, r.Units
		o.Inherited = o.Delimiter != "" || o.Decimal != "" || o.Thousands != "" || o.Units != nil
	}
	return o
}

// PrepareScoring normalises new rows as a model part was trained.
func PrepareScoring(t *dataset.Table, m *joint.Model) (*kernel.Matrix, error) {
	only, err := t.Only(scoredColumns(m)...)
	if err != nil {
		return nil, err
	}
	if len(m.Normaliser.Columns) == 0 {
		return kernel.NoColumns(t.Rows()), nil
	}
	rows, err := m.Normaliser.Apply(known(KernelColumns(only), m.Normaliser))
	if err != nil {
		return nil, cellError(t, err)
	}
	return rows, nil
}

// scoredColumns lists the columns that a part of a model scores rows by: those that its training left out need not be
// there.
func scoredColumns(m *joint.Model) []string {
	if m.Normaliser == nil {
		return m.Columns
	}
	if len(m.Normaliser.Columns) == 0 { // of a label holder with labels alone
		return []string{}
	}
	var names []string
	for _, s := range m.Normaliser.Columns {
		if s.Scaling != kernel.Dropped || s.Indicator {
			names = append(names, s.Column)
		}
	}
	if len(names) == 0 {
		return m.Columns
	}
	return names
}

// Unseen counts, by column, the rows of a table with what the training of a part of a model did not meet.
func Unseen(t *dataset.Table, m *joint.Model) []kernel.Unseen {
	all := m.Normaliser.Unseen(known(KernelColumns(t), m.Normaliser))
	for _, u := range all {
		if _, days := t.DateOrders[u.Column]; days && u.Range != nil {
			u.Range.Days = true
		}
	}
	return all
}

// known calls the levels of columns as the training called the same ones: a code that came as 1 then and comes as 1.0
// now is one. The columns are changed.
func known(columns []kernel.Column, n *kernel.Normaliser) []kernel.Column {
	for i := range columns {
		c := &columns[i]
		at := slices.IndexFunc(n.Columns, func(s kernel.Scale) bool { return s.Column == c.Name })
		if at < 0 || len(c.Levels) == 0 {
			continue
		}
		levels := n.Columns[at].Levels
		if bins := n.Columns[at].Bins; bins != nil {
			levels = slices.Concat(bins.Levels...)
		}
		find := dataset.NewKnown(levels)
		c.Levels = slices.Clone(c.Levels)
		for k, level := range c.Levels {
			if name, ok := find.Find(level); ok {
				c.Levels[k] = name
			}
		}
	}
	return columns
}

// KernelColumns views a table's columns as the kernel package wants them.
func KernelColumns(t *dataset.Table) []kernel.Column {
	columns := make([]kernel.Column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = kernel.Column{Name: c.Name, Values: c.Values, Codes: c.Codes, Levels: c.Levels}
	}
	return columns
}

// TargetOf says what a label holder's table makes of a job that leaves it open: whether the label is classes or
// numbers, unless target says it, and how many classes there are, 0 for numbers.
func TargetOf(t *dataset.Table, label, target string) (string, int, error) {
	switch target {
	case joint.Regression:
		return target, 0, nil
	case "":
		kind, classes, err := t.TargetOf(label)
		if kind == dataset.Regression {
			return joint.Regression, 0, err
		}
		return joint.Classification, classes, err
	}
	l, err := t.Labels(label, dataset.Classification)
	if err != nil {
		return "", 0, err
	}
	return target, len(l.Classes), nil
}

// LabelsOf reads the label column by the job's target, and the event by what the job says of it.
func LabelsOf(t *dataset.Table, g joint.Goal) (*joint.Labels, error) {
	kind := dataset.Classification
	if g.Target == joint.Regression {
		kind = dataset.Regression
	}
	l, err := t.Labels(g.Label, kind)
	if err != nil {
		return nil, err
	}
	if want := g.ClassCount(); len(l.Classes) != want {
		return nil, fmt.Errorf("%s: label column %q has %d different labels (%s), the job says %d classes: want classes = "+
			"%d in its parameters, or target = %q for numbers", t.Path, g.Label, len(l.Classes),
			wording.Line(strings.Join(l.Classes, ", "), wording.MaxWord), want, len(l.Classes), joint.Regression)
	}
	if err := putEvent(l, g); err != nil {
		return nil, fmt.Errorf("%s: label column %q %w", t.Path, g.Label, err)
	}
	missing := 0
	for j, present := range l.Present {
		if !present {
			l.Values[j] = math.NaN()
			missing++
		}
	}
	if missing > 0 && len(g.Active) == 1 {
		return nil, fmt.Errorf("%s: label column %q is empty in %d of %d rows, the first with id %q, and no other party has "+
			"labels: fill these cells or leave their rows out", t.Path, g.Label, missing, t.Rows(),
			t.IDs[slices.Index(l.Present, false)])
	}
	return &joint.Labels{Values: l.Values, Classes: l.Classes}, nil
}

// putEvent has the class be +1 that the job calls the event.
func putEvent(l *dataset.Labels, g joint.Goal) error {
	if g.Positive == "" {
		return nil
	}
	switch g.Positive.In(l.Classes) {
	case -1:
		return fmt.Errorf("has no class %.60q, which the job says is the event: want positive = %s in its parameters",
			g.Positive, wording.Line(wording.List([]string{fmt.Sprintf("%q", l.Classes[0]), fmt.Sprintf("%q", l.Classes[1])},
				"or"), wording.MaxWord))
	case 0:
		slices.Reverse(l.Classes)
		for i := range l.Values {
			l.Values[i] = 0 - l.Values[i]
		}
	}
	return nil
}

// RarerFirst reports whether fewer rows are of the first of two classes, -1, than of the second.
func RarerFirst(l *joint.Labels) bool {
	sum := 0.0
	for _, y := range l.Values {
		if !math.IsNaN(y) {
			sum += y
		}
	}
	return sum > 0
}

// cellError names the file of an error, and the row's id where it is about a cell.
func cellError(t *dataset.Table, err error) error {
	var cell *kernel.CellError
	if errors.As(err, &cell) && cell.Row >= 0 && cell.Row < t.Rows() {
		return fmt.Errorf("%s: row with id %q, column %q: %s", t.Path, t.IDs[cell.Row], cell.Column, cell.Reason)
	}
	return fmt.Errorf("%s: %w", t.Path, err)
}
