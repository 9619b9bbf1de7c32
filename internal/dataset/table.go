package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// idDomain separates IDDigest from every other hash; it never changes.
const idDomain = "hanse/dataset/ids/v1"

// Kind is the type of a column.
type Kind int

const (
	// Numeric columns hold finite numbers of magnitude up to 1e100.
	Numeric Kind = iota
	// Categorical columns hold one of a list of texts in each row.
	Categorical
)

// String returns "numeric" or "categorical".
func (k Kind) String() string {
	if k == Categorical {
		return "categorical"
	}
	return "numeric"
}

// Column is one named column. Of Values and Codes only the one its Kind names is set.
type Column struct {
	Name   string
	Kind   Kind
	Values []float64 // numeric: one per row; NaN where the cell is missing
	Codes  []int32   // categorical: index into Levels, one per row; -1 where the cell is missing
	Levels []string  // categorical: the texts that occur in the file, sorted byte by byte
	Listed bool      // categorical because the options say so

	doubt string // what its texts seem to be, where they are hardly categories
	mend  string // the options that read it, and where they are written
}

// Table is a set of rows with unique ids. Methods that return a Table share the column data with
// the old one, so that column data is not to be changed in place.
type Table struct {
	Path    string    // the file it was read from, or another name for messages
	IDName  string    // header of the id column; "id" for LIBSVM
	IDs     []string  // one per row; Read sorts them
	Columns []Column  // in the file's order, the id column left out
	Sum     keys.Hash // digest of the content, as Reading.Sum

	Missing    string            // what becomes of missing cells, as Options.Missing
	Levels     string            // what becomes of levels that training never saw, as Options.Levels
	DateOrders map[string]string // which columns of numbers are days since 1970-01-01, by how their cells were read

	home     home // where its options are written
	numbered bool // ids are row numbers and absent columns are zeros: LIBSVM
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.IDs) }

// Names returns the names of the columns in order, without the id column.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

// Column returns the column of that name. The error lists the columns there are.
func (t *Table) Column(name string) (*Column, error) {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i], nil
		}
	}
	return nil, t.absent(name)
}

// Numbered reports whether the rows' ids are their numbers in the file, as those of a LIBSVM file are.
func (t *Table) Numbered() bool { return t.numbered }

// absent is the error for a column that is not there.
func (t *Table) absent(name string) error {
	return t.errorf("no column %s; the columns are %s", quote(name), listNames(t.Names()))
}

// Without returns the table less the named columns. Names that are not there are ignored.
func (t *Table) Without(names ...string) *Table {
	out := *t
	out.Columns = nil
	for _, c := range t.Columns {
		if !slices.Contains(names, c.Name) {
			out.Columns = append(out.Columns, c)
		}
	}
	return &out
}

// Only returns the table with just the named columns, in that order. The error names the first
// column that is not there.
func (t *Table) Only(names ...string) (*Table, error) {
	out := *t
	out.Columns = make([]Column, 0, len(names))
	at := t.positions()
	for _, name := range names {
		i, there := at[name]
		if !there {
			return nil, t.absent(name)
		}
		out.Columns = append(out.Columns, t.Columns[i])
	}
	return &out, nil
}

// positions maps the names of columns to their indices.
func (t *Table) positions() map[string]int {
	at := make(map[string]int, len(t.Columns))
	for i := range t.Columns {
		at[t.Columns[i].Name] = i
	}
	return at
}

// Select returns the given rows, counted from 0, in the order given; levels stay as they are.
// It panics on a row that is not there, as an index expression does.
func (t *Table) Select(rows []int) *Table {
	out := *t
	out.IDs = gather(t.IDs, rows)
	out.Columns = make([]Column, len(t.Columns))
	for i, c := range t.Columns {
		out.Columns[i] = c.reorder(rows)
	}
	return &out
}

// Slice returns the table of rows lo to hi-1.
func (t *Table) Slice(lo, hi int) *Table {
	rows := make([]int, hi-lo)
	for i := range rows {
		rows[i] = lo + i
	}
	return t.Select(rows)
}

// IDDigest names the ids in the order of the rows, which Read sorts: it is the same for two tables exactly when row
// by row they are of the same ids. Whoever has it can test a guess of the whole list, so it never leaves a node.
func (t *Table) IDDigest() keys.Hash {
	parts := make([][]byte, len(t.IDs))
	for i, id := range t.IDs {
		parts[i] = []byte(id)
	}
	return keys.HashOf(idDomain, parts...)
}

// Verify checks that the table is still the one a job was agreed on, by its Sum.
func (t *Table) Verify(agreed keys.Hash) error {
	if t.Sum == agreed {
		return nil
	}
	return t.errorf("the table has changed: its digest starts with %s, the agreed one's with %s", t.Sum.Short(),
		agreed.Short())
}

// errorf is fmt.Errorf with the name of the table in front.
func (t *Table) errorf(format string, args ...any) error {
	name := t.Path
	if name == "" {
		name = "table"
	}
	return fmt.Errorf("%s: "+format, append([]any{name}, args...)...)
}

// reorder returns the column with the given rows in the given order.
func (c Column) reorder(rows []int) Column {
	if c.Kind == Numeric {
		c.Values = gather(c.Values, rows)
	} else {
		c.Codes = gather(c.Codes, rows)
	}
	return c
}

// gather returns from[rows[0]], from[rows[1]], …
func gather[T any](from []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = from[r]
	}
	return out
}

// listNames quotes names for a message and cuts a long list short.
func listNames(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		quoted = append(quoted, quote(n))
	}
	list := strings.Join(quoted, ", ")
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return list
}

// quote quotes what came from a file and clips it, so that an error stays one short line.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(strings.ToValidUTF8(s[:most], "") + "…")
	}
	return strconv.Quote(s)
}
