package standin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Schema is what an owner lets others know of a table beyond what a contract states: the survey that hanse table check
// --json prints.
type Schema struct {
	Columns []dataset.ColumnSurvey `json:"columns"`
	Rows    int                    `json:"rows"`
	Label   *struct {
		Classes []struct{} `json:"classes"` // as many as there are; none: numbers
	} `json:"label"`
}

// Layout is what a contract says of its parties' tables.
type Layout struct {
	Contract    *contract.Contract
	Trained     *contract.Contract // of a prediction: what trained its model
	Sketched    bool               // the contract is a Sketch, which states no bins
	Schemas     map[string]*Schema // by party; of parties without one all columns are numbers
	Identifiers []keys.Identifier  // of an alignment: those that it goes by, none: the id column
	Algorithms  registry.List      // that are known
	Common      float64            // of an alignment: which share of the smallest table all parties have
}

// OverColumns lays out the tables of a job over columns, by party; a party without data has none. A prediction's are
// rows to be scored, with the columns of the training.
func (l *Layout) OverColumns() (map[string]*Table, error) {
	c, trained := l.Contract, l.Contract
	if l.Trained != nil {
		trained = l.Trained
	}
	goal, err := l.Algorithms.Goal(trained.Job)
	if err != nil {
		return nil, err
	}
	all, columns := make(map[string]*Table), 0
	for i := range c.Parties {
		f := &c.Parties[i]
		if f.Rows == 0 {
			continue
		}
		columns += f.Columns
		if err := checkStated(f.Name, f.Rows, columns); err != nil {
			return nil, err
		}
		t := &Table{Owner: f.Name, Rows: f.Rows, Common: f.Rows}
		if slices.Contains(goal.Active, f.Name) { // of rows to be scored, too: a label is never a feature
			t.Label = &Label{Name: goal.Label, Classes: goal.ClassCount(), Event: string(goal.Positive), High: 1}
		}
		if i >= len(trained.Parties) || trained.Parties[i].Name != f.Name || trained.Parties[i].Columns != f.Columns {
			return nil, fmt.Errorf("%s says that it has %d columns, and trained with others", f.Name, f.Columns)
		}
		if t.Columns, err = l.columns(&trained.Parties[i], goal); err != nil {
			return nil, err
		}
		all[f.Name] = t
	}
	return all, CheckSize(slices.Collect(maps.Values(all))...)
}

// checkStated refuses numbers of rows and columns that no table is made up of, before any memory is taken for them.
func checkStated(name string, rows, columns int) error {
	if rows < 0 || rows > maxRows || columns < 0 || columns > maxColumns || columns > 0 && rows > MaxCells/columns {
		return fmt.Errorf("with %s there are %d rows of %d columns: they are too many to be made up", name, rows, columns)
	}
	return nil
}

// columns lays out a party's feature columns.
func (l *Layout) columns(f *contract.Facts, goal joint.Goal) ([]Column, error) {
	schema := l.Schemas[f.Name]
	var list []Column
	if schema != nil {
		for _, s := range schema.Columns {
			if !s.Label {
				list = append(list, surveyed(s, schema.Rows))
			}
		}
		if len(list) != f.Columns {
			return nil, fmt.Errorf("the schema of %s has %d columns beside the label, and the contract says that it has %d",
				f.Name, len(list), f.Columns)
		}
	} else {
		list = make([]Column, f.Columns)
		for i := range list {
			list[i].Kind = Number
		}
	}
	taken := map[string]bool{goal.Label: true, idName: true}
	for i := range list {
		list[i].Name = free(taken, fmt.Sprintf("x%d", i+1))
	}
	if !goal.Binned() || l.Sketched {
		return list, nil
	}
	return cut(list, f, goal.At(f.Name == l.Contract.Job.Proposer).Scales)
}

// free returns a name that is not taken, and takes it.
func free(taken map[string]bool, name string) string {
	for taken[name] {
		name += "_"
	}
	taken[name] = true
	return name
}

// surveyed makes a column of the kind that a survey found.
func surveyed(s dataset.ColumnSurvey, rows int) Column {
	c := Column{Kind: Number}
	if rows > 0 {
		c.Missing = min(1, max(0, float64(s.Missing)/float64(rows)))
	}
	switch s.Kind {
	case dataset.KindCategory:
		c.Kind, c.Levels = Category, min(max(2, s.Levels), maxLevels)
	case dataset.KindConstant:
		c.Kind = Constant
	case dataset.KindEmpty:
		c.Kind = Empty
	}
	return c
}

// maxLevels is the most levels of a made-up column.
const maxLevels = 1 << 12

// cut makes columns whose bins are together as many as the party says: categories of as many levels, each with rows
// enough, columns with the job's own edges, and constants where there are fewer bins than two a column.
func cut(list []Column, f *contract.Facts, p kernel.FitOptions) ([]Column, error) {
	left, at := f.Bins, 0
	for _, name := range slices.Sorted(maps.Keys(p.Edges)) {
		if at == len(list) {
			return nil, fmt.Errorf("%s has %d columns, and the job names edges of more", f.Name, len(list))
		}
		list[at] = Column{Name: name, Kind: Number, Edges: p.Edges[name]}
		left -= len(p.Edges[name]) + 1
		at++
	}
	some := min(len(list)-at, left/2) // columns that have bins
	if left < 0 || left == 1 || left > 0 && some == 0 {
		return nil, fmt.Errorf("%s says that its %d columns have %d bins, and no such columns can be made up", f.Name,
			f.Columns, f.Bins)
	}
	for i := at; i < len(list); i++ {
		list[i] = Column{Name: list[i].Name, Kind: Constant}
		if n := i - at; n < some {
			levels := left / some
			if n < left%some {
				levels++
			}
			if levels > maxLevels || levels > f.Rows/max(p.MinCell, 1) {
				return nil, fmt.Errorf("%s says that its %d columns have %d bins in %d rows, and no such columns can be made up",
					f.Name, f.Columns, f.Bins, f.Rows)
			}
			list[i].Kind, list[i].Levels = Category, levels
		}
	}
	return list, nil
}

// OfAlignment lays out the tables of an alignment, by party.
func (l *Layout) OfAlignment() (map[string]*Table, error) {
	c := l.Contract
	smallest := 0
	for i := range c.Parties {
		if n := c.Parties[i].Rows; n > 0 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	least, _ := c.Job.Parameters["min_rows"].(int64) // fewer would not open
	common, next := max(int(float64(smallest)*l.Common), min(int(least), smallest)), 0
	all := make(map[string]*Table)
	for i := range c.Parties {
		f := &c.Parties[i]
		if f.Rows == 0 {
			continue
		}
		if err := checkStated(f.Name, f.Rows, 1); err != nil {
			return nil, err
		}
		t := &Table{Owner: f.Name, Rows: f.Rows, Common: common, First: common + next, Holes: make(map[string]int)}
		next += f.Rows
		if err := t.identify(l.Identifiers, f); err != nil {
			return nil, err
		}
		taken := map[string]bool{idName: true}
		for _, person := range t.People {
			taken[person.Name] = true
		}
		t.Columns = []Column{{Name: free(taken, "x1"), Kind: Number}}
		all[f.Name] = t
	}
	return all, CheckSize(slices.Collect(maps.Values(all))...)
}

// identify gives a table the columns that an alignment goes by, with as many ids under each key as the party says.
func (t *Table) identify(identifiers []keys.Identifier, f *contract.Facts) error {
	uses := make(map[string]int)
	for _, id := range identifiers {
		for _, c := range id.Columns {
			if uses[c.Name]++; uses[c.Name] == 1 {
				t.People = append(t.People, c)
			}
		}
	}
	for k, id := range identifiers {
		if k >= len(f.IDs) || f.IDs[k] == f.Rows {
			continue
		}
		alone := slices.IndexFunc(id.Columns, func(c keys.IDColumn) bool { return uses[c.Name] == 1 })
		if alone < 0 {
			return fmt.Errorf("%s says that %d of its rows have no id %q, all of whose columns are of other ids, too: such a "+
				"table cannot be made up", f.Name, f.Rows-f.IDs[k], id.Name)
		}
		t.Holes[id.Columns[alone].Name] = f.IDs[k]
	}
	return nil
}

// OverClients lays out the streams of a job over clients, by party; servers have none. rows is how many a client may be
// asked for.
func (l *Layout) OverClients(rows int) (map[string]*Table, error) {
	c := l.Contract
	label, _ := c.Job.Parameters["label"].(string)
	number := func(name string, otherwise float64) float64 {
		switch v := c.Job.Parameters[name].(type) {
		case float64:
			return v
		case int64:
			return float64(v)
		}
		return otherwise
	}
	named, _ := c.Job.Parameters["columns"].([]any)
	all, columns := make(map[string]*Table), 0
	for i := range c.Parties {
		f := &c.Parties[i]
		if c.Job.Serves(i) {
			continue
		}
		columns += f.Columns
		if err := checkStated(f.Name, rows, columns); err != nil {
			return nil, err
		}
		t := &Table{Owner: f.Name, Rows: rows, Common: rows, Stream: true, Scale: float64(max(1, f.Columns)),
			Label: &Label{Name: label, Low: number("label_low", 0), High: number("label_high", 1)}}
		taken := map[string]bool{label: true}
		for k := range f.Columns {
			name := fmt.Sprintf("x%d", k+1)
			if k < len(named) {
				name = fmt.Sprint(named[k])
			}
			t.Columns = append(t.Columns, Column{Name: free(taken, name), Kind: Number})
		}
		all[f.Name] = t
	}
	return all, CheckSize(slices.Collect(maps.Values(all))...)
}
