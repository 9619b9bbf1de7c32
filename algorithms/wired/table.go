package wired

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Table is what one party brings to a training: rows in the order of their ids, columns on the job's scale and, at a
// label holder, labels.
type Table struct {
	Facts contract.Facts // what the contract has of it: numbers, and never a value

	own     *vertical.Prepared
	reading *joint.Reading
}

// ReadTable reads a party's table as its node would for the job: from a file or another location, by the options that
// the location names or that lie beside it.
func ReadTable(job *contract.Job, party contract.Party, location string) (*Table, error) {
	location, options, err := dataset.Locate(location, dataset.Options{})
	if err != nil {
		return nil, err
	}
	if _, goal, err := trainingOf(job); err == nil && slices.Contains(goal.Active, party.Name) {
		options.Label = goal.Label
	}
	rows, err := dataset.Read(location, options)
	if err != nil {
		return nil, err
	}
	t, err := newTable(job, party, rows)
	if err == nil {
		t.reading = vertical.ReadingOf(rows, options)
	}
	return t, err
}

// NewTable takes rows that the program has: ids in the order of their bytes, and columns with a value or a code for
// each row. A label is a column like others, by the name that the job gives it.
func NewTable(job *contract.Job, party contract.Party, ids []string, columns ...kernel.Column) (*Table, error) {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return nil, fmt.Errorf("id %q comes before %q: want ids in the order of their bytes, each once", ids[i-1], ids[i])
		}
	}
	rows := &dataset.Table{Path: "table of " + party.Name, IDs: ids}
	for _, c := range columns {
		if n := len(c.Values) + len(c.Codes); n != len(ids) {
			return nil, fmt.Errorf("column %q has %d cells of %d rows: want a value or a code for each", c.Name, n, len(ids))
		}
		kind := dataset.Numeric
		if c.Codes != nil {
			kind = dataset.Categorical
		}
		rows.Columns = append(rows.Columns, dataset.Column{Name: c.Name, Kind: kind, Values: c.Values, Codes: c.Codes,
			Levels: c.Levels})
	}
	return newTable(job, party, rows)
}

// newTable puts the columns on the job's scale and reads the labels at a label holder.
func newTable(job *contract.Job, party contract.Party, rows *dataset.Table) (*Table, error) {
	_, goal, err := trainingOf(job)
	if err != nil {
		return nil, err
	}
	t := &Table{Facts: contract.Facts{Name: party.Name, ID: party.ID, Role: "passive", Rows: rows.Rows()}}
	active := slices.Contains(goal.Active, party.Name)
	if active {
		t.Facts.Role = "active"
	}
	if t.own, err = vertical.PrepareTraining(rows, goal.At(party.Name == job.Proposer), active); err != nil {
		return nil, err
	}
	t.Facts.Columns = len(t.own.Columns)
	return t, nil
}
