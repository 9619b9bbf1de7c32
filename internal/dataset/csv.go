package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// csvFile is a CSV file while it is read.
type csvFile struct {
	*parser
	src     *text
	rows    *csv.Reader
	head    *header
	ids     []string
	lines   []int32    // line of text of each row
	columns []*builder // by column of the file; nil where it is the id or ignored
	kept    int        // columns that are not nil
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

// readCSV reads a file with a header, separated by commas; see RFC 4180.
func (p *parser) readCSV(src *text) (*Table, error) {
	f := newCSV(p, src)
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	if err := f.readRows(); err != nil {
		return nil, err
	}
	return f.finish()
}

// readHeader reads the first line and sets up a builder for each column that is kept.
func (f *csvFile) readHeader() error {
	cells, err := f.next()
	if err == io.EOF {
		return errEmptyFile
	}
	if err != nil {
		return err
	}
	if f.head, err = f.newHeader(cells); err != nil {
		return err
	}
	f.columns = make([]*builder, len(f.head.names))
	for i, name := range f.head.names {
		if i == f.head.id || !f.opts.wants(name) {
			continue
		}
		f.columns[i] = newBuilder(name, &f.opts, f.lim.levels)
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
		if b := f.columns[i]; b != nil {
			if err := b.add(strings.TrimSpace(c), at); err != nil {
				return err
			}
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

// finish sorts the rows by id and closes the columns.
func (f *csvFile) finish() (*Table, error) {
	order, err := sortedRows(f.ids, func(i int) string { return place{i + 1, int(f.lines[i])}.String() })
	if err != nil {
		return nil, err
	}
	t := &Table{IDName: f.head.names[f.head.id], IDs: gather(f.ids, order)}
	for i, b := range f.columns {
		if b == nil {
			continue
		}
		c, err := b.finish(order, f.missing, f.opts.Fill)
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, c)
		f.columns[i] = nil // its memory is free for the next column's sorted copy
		t.keepFill(b)
	}
	return t, nil
}

// keepFill notes what empty cells of a column are given.
func (t *Table) keepFill(b *builder) {
	if b.fill == nil {
		return
	}
	if t.Fills == nil {
		t.Fills = make(map[string]float64)
	}
	t.Fills[b.name] = *b.fill
}

// plural writes a count with its noun: "1 cell", "5 cells".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
