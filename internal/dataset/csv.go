package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvFile is a CSV file while it is read.
type csvFile struct {
	*parser
	src     *text
	rows    *csv.Reader
	head    *header
	ids     []string
	lines   []int32  // line of text of each row
	columns []*cells // by column of the file; nil where it is the id or not read
	kept    int      // columns that are not nil
	twice   error    // an id that occurs twice
}

// errEmptyFile is the error for a file without even a header.
var errEmptyFile = errors.New("the file is empty")

// newCSV starts the reading of a CSV file.
func newCSV(p *parser, src *text) *csvFile {
	f := &csvFile{parser: p, src: src, rows: csv.NewReader(src)}
	f.rows.FieldsPerRecord = -1
	f.rows.ReuseRecord = true
	return f
}

// readHeader reads the first line and begins each column that is kept.
func (f *csvFile) readHeader() error {
	line, err := f.next()
	if err == io.EOF {
		return errEmptyFile
	}
	if err != nil {
		return err
	}
	if f.head, err = f.newHeader(line); err != nil {
		return err
	}
	f.columns = make([]*cells, len(f.head.names))
	for i, name := range f.head.names {
		if i == f.head.id || !f.opts.wants(name) {
			continue
		}
		f.columns[i] = newCells(name, f.lim.levels)
		f.kept++
	}
	return nil
}

// readRows reads the rows until the file ends.
func (f *csvFile) readRows() error {
	for {
		cells, err := f.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := f.addRow(cells); err != nil {
			return err
		}
	}
	if len(f.ids) == 0 {
		return errNoRows
	}
	return nil
}

// next returns the cells of the next line that is not blank; they are valid until the next call.
func (f *csvFile) next() ([]string, error) {
	f.src.slacken()
	cells, err := f.rows.Read()
	if err == nil || err == io.EOF {
		return cells, err
	}
	if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
		switch bad.Err {
		case csv.ErrBareQuote:
			return nil, fmt.Errorf("line %d: a quote stands inside a cell that does not begin with one", bad.Line)
		case csv.ErrQuote:
			return nil, fmt.Errorf("line %d: a quoted cell does not end as it should", bad.StartLine)
		}
	}
	return nil, explain(err, len(f.ids))
}

// addRow takes one row apart.
func (f *csvFile) addRow(cells []string) error {
	line, _ := f.rows.FieldPos(0)
	at := place{row: len(f.ids) + 1, line: line}
	if err := f.checkRow(cells, at); err != nil {
		return err
	}
	for i, c := range cells {
		if column := f.columns[i]; column != nil {
			column.add(strings.TrimSpace(c), at)
		}
	}
	return f.addID(strings.TrimSpace(cells[f.head.id]), at)
}

// checkRow checks a row's shape and the limits.
func (f *csvFile) checkRow(cells []string, at place) error {
	if at.row > f.lim.rows {
		return fmt.Errorf("there are more than %d rows, the limit", f.lim.rows)
	}
	if at.row*f.kept > f.lim.cells {
		return fmt.Errorf("%v: the table is too large: the limit is %d cells", at, f.lim.cells)
	}
	if len(cells) != len(f.head.names) {
		return fmt.Errorf("%v has %s; the header has %d", at, plural(len(cells), "cell"), len(f.head.names))
	}
	for i, c := range cells {
		if len(c) > f.lim.cell {
			return fmt.Errorf("%v, column %s: the cell has %d bytes; the limit is %d", at, quote(f.head.names[i]), len(c), f.lim.cell)
		}
	}
	return nil
}

// addID keeps a row's id and line.
func (f *csvFile) addID(id string, at place) error {
	if id == "" {
		return fmt.Errorf("%v, column %s: the id is empty", at, quote(f.head.names[f.head.id]))
	}
	if why := checkText(id); why != "" {
		return fmt.Errorf("%v, column %s: the id %s %s", at, quote(f.head.names[f.head.id]), quote(id), why)
	}
	f.ids = append(f.ids, strings.Clone(id))
	f.lines = append(f.lines, int32(at.line))
	return nil
}

// sort brings the rows into the order of their ids.
func (f *csvFile) sort() {
	order, err := sortedRows(f.ids, func(i int) string { return place{i + 1, int(f.lines[i])}.String() })
	if f.twice, f.lines = err, nil; err != nil {
		return
	}
	f.ids = gather(f.ids, order)
	for _, c := range f.columns {
		if c != nil {
			c.sort(order)
		}
	}
}

// table makes the table that the options describe. Of several errors the one that stands first in the file counts;
// broken is that from which on it could not be read.
func (f *csvFile) table(o *Options, m missing, broken error) (*Table, error) {
	if err := f.head.checkOptions(o); err != nil {
		return nil, err
	}
	uses := make([]use, len(f.columns))
	var worst *cellError
	for i, c := range f.columns {
		if c == nil || !o.wants(c.name) {
			continue
		}
		uses[i] = use{listed: slices.Contains(o.Categorical, c.name), label: c.name == o.Label, missing: m, fills: o.Fill}
		if _, err := c.kind(uses[i].listed); err != nil && (worst == nil || err.at.row < worst.at.row) {
			worst = err
		}
	}
	switch {
	case worst != nil:
		return nil, worst.err
	case broken != nil:
		return nil, broken
	case f.twice != nil:
		return nil, f.twice
	}
	t := &Table{IDName: f.head.names[f.head.id], IDs: f.ids}
	for i, c := range f.columns {
		if c == nil || !o.wants(c.name) {
			continue
		}
		column, fill, err := c.column(uses[i], len(f.ids))
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, column)
		t.keepFill(c.name, fill)
	}
	return t, nil
}

// keepFill notes what empty cells of a column are given.
func (t *Table) keepFill(name string, fill *float64) {
	if fill == nil {
		return
	}
	if t.Fills == nil {
		t.Fills = make(map[string]float64)
	}
	t.Fills[name] = *fill
}

// plural writes a count with its noun: "1 cell", "5 cells".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
