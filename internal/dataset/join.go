package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// joinDomain separates the Sum of a joined table from every other hash; it never changes.
const joinDomain = "hanse/dataset/join/v1"

// Join stacks the rows of tables with the same columns, such as a training and a test file.
// LIBSVM rows are renumbered as if the files had been one, and a feature that a part lacks is
// zero there. CSV parts must have the same column names and kinds, in any order, and no id in
// common. The result is sorted by id; its Sum is derived from the parts', its Path lists theirs
// with " + " between.
func Join(parts ...*Table) (*Table, error) {
	if len(parts) == 0 {
		return nil, errors.New("join: there is no table to join")
	}
	first := parts[0]
	t := &Table{IDName: first.IDName, numbered: first.numbered, Missing: first.Missing, Levels: first.Levels,
		DateOrders: first.DateOrders, home: first.home}
	var paths []string
	var sums [][]byte
	for _, p := range parts {
		if p.numbered != t.numbered {
			return nil, p.errorf("a LIBSVM and a CSV table cannot be joined; the other is %s", first.Path)
		}
		paths = append(paths, p.Path)
		sums = append(sums, p.Sum[:])
	}
	t.Path, t.Sum = strings.Join(paths, " + "), keys.HashOf(joinDomain, sums...)
	if t.numbered {
		parts = widen(parts)
	}
	if err := t.stack(parts); err != nil {
		return nil, err
	}
	order, err := sortedRows(t.IDs, func(i int) string { return partOf(parts, i).Path })
	if err != nil {
		return nil, err
	}
	return t.Select(order), nil
}

// partOf returns the part that row i of the stack comes from.
func partOf(parts []*Table, i int) *Table {
	p := 0
	for ; i >= parts[p].Rows(); p++ {
		i -= parts[p].Rows()
	}
	return parts[p]
}

// stack appends the rows of all parts, column by column.
func (t *Table) stack(parts []*Table) error {
	first := parts[0]
	aligned := make([]*Table, len(parts))
	for i, p := range parts {
		var err error
		if aligned[i], err = p.alignedWith(first); err != nil {
			return err
		}
	}
	for i := range first.Columns {
		t.Columns = append(t.Columns, stackColumn(i, aligned))
	}
	offset := 0
	for _, p := range parts {
		ids, highest, err := p.renumbered(offset)
		if err != nil {
			return err
		}
		t.IDs = append(t.IDs, ids...)
		offset = highest
	}
	return nil
}

// alignedWith returns the table with the columns of first in the same order, and refuses to when
// there are others or their kinds differ.
func (t *Table) alignedWith(first *Table) (*Table, error) {
	out, err := t.Only(first.Names()...)
	if err != nil {
		return nil, fmt.Errorf("%w; %s has it", err, first.Path)
	}
	for i, want := range first.Columns {
		if have := out.Columns[i]; have.Kind != want.Kind {
			return nil, t.errorf("column %s is %v, but %v in %s", quote(want.Name), have.Kind, want.Kind, first.Path)
		}
	}
	if _, err := first.Only(t.Names()...); err != nil {
		return nil, fmt.Errorf("%w; %s has it", err, t.Path)
	}
	return out, nil
}

// stackColumn appends the rows of the i-th column of all parts, over the union of their levels.
func stackColumn(i int, parts []*Table) Column {
	first := parts[0].Columns[i]
	out := Column{Name: first.Name, Kind: first.Kind, Listed: first.Listed}
	for _, p := range parts {
		if out.doubt == "" {
			out.doubt, out.mend = p.Columns[i].doubt, p.Columns[i].mend
		}
		out.Levels = append(out.Levels, p.Columns[i].Levels...)
	}
	slices.Sort(out.Levels)
	out.Levels = slices.Compact(out.Levels)
	for _, p := range parts {
		c := p.Columns[i]
		out.Values = append(out.Values, c.Values...)
		c.Codes = slices.Clone(c.Codes)
		c.recode(out.Levels)
		out.Codes = append(out.Codes, c.Codes...)
	}
	out.unite()
	return out
}

// renumbered returns the table's ids, LIBSVM row numbers raised by offset, and the highest of those.
func (t *Table) renumbered(offset int) (ids []string, highest int, err error) {
	if !t.numbered {
		return t.IDs, 0, nil
	}
	ids, highest = make([]string, len(t.IDs)), offset
	for i, id := range t.IDs {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, 0, t.errorf("id %s is not a row number", quote(id))
		}
		ids[i] = strconv.Itoa(n + offset)
		highest = max(highest, n+offset)
	}
	return ids, highest, nil
}

// widen gives every LIBSVM part all features that any part has; those it lacks are zero.
func widen(parts []*Table) []*Table {
	var indices []int
	for _, p := range parts {
		for _, name := range p.Names() {
			indices = append(indices, featureIndex(name))
		}
	}
	slices.Sort(indices)
	indices = slices.Compact(indices)
	wide := make([]*Table, len(parts))
	for i, p := range parts {
		// Returns the table with a column for each index, the label not made up where it is absent.
		out := *p
		out.Columns = nil
		at := p.positions()
		for _, index := range indices {
			name := svmLabel
			if index >= 0 {
				name = featureName(index)
			}
			if i, there := at[name]; there {
				out.Columns = append(out.Columns, p.Columns[i])
			} else if index >= 0 {
				out.Columns = append(out.Columns, Column{Name: name, Values: make([]float64, p.Rows())})
			}
		}
		wide[i] = &out
	}
	return wide
}
