package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/source"
)

// Read reads a table from a file or another location of package source and returns its rows sorted by id.
// Of text, a name that ends in .csv, .tsv, .libsvm or .svm (and .gz) settles the format; else the first line does.
// The error names the location and, where there is one, the row, line, column and cell.
func Read(location string, o Options) (*Table, error) {
	r, err := load(context.Background(), location, o)
	if err != nil {
		return nil, named(location, err)
	}
	return r.Table(o)
}

// Header returns the names of a table's columns, the id's among them; none of a LIBSVM file. Of the options it looks at
// what separates columns.
func Header(location string, o Options) (names []string, err error) {
	defer func() {
		if err != nil {
			names, err = nil, named(location, err)
		}
	}()
	l, err := source.Parse(location)
	if err != nil {
		return nil, err
	}
	s, err := source.Open(context.Background(), l, source.StandardLimits())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	cells := s.Columns
	if s.Text != nil {
		lim := standardLimits()
		src, err := newText(s.Text, &lim)
		if err != nil {
			return nil, explain(err, 0)
		}
		as := formatOf(l.Name())
		if as == asLIBSVM || as == byContent && src.sniff() == asLIBSVM {
			return nil, nil
		}
		f := newCSV(&parser{opts: Options{Delimiter: o.Delimiter, Inherited: o.Inherited}, lim: lim}, src, as)
		if err := f.separatedBy(); err != nil {
			return nil, err
		}
		if cells, err = f.next(); err == io.EOF {
			return nil, errEmptyFile
		} else if err != nil {
			return nil, err
		}
	}
	for i, c := range cells {
		switch c = strings.TrimSpace(c); {
		case c != "":
			names = append(names, strings.Clone(c))
		case i == 0:
			names = append(names, IndexName)
		}
	}
	return names, nil
}

// named puts the location in front of an error: as messages show it, without what may be secret in it.
func named(location string, err error) error {
	l, bad := source.Parse(location)
	if bad != nil {
		return bad
	}
	return fmt.Errorf("%v: %w", l, err)
}

// format is how a file is laid out.
type format int

const (
	byContent format = iota
	asCSV
	asTSV
	asLIBSVM
)

// formatOf guesses the format from a file's name.
func formatOf(path string) format {
	switch filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz")) {
	case ".csv":
		return asCSV
	case ".tsv", ".tab":
		return asTSV
	case ".libsvm", ".svm":
		return asLIBSVM
	}
	return byContent
}

// parser carries what the reading of one file needs.
type parser struct {
	opts   Options
	na     map[string]bool // what stands for a missing cell, beside the empty one
	missed map[string]bool // what of it the table has
	lim    limits

	numbered *notation // how the file writes its numbers
}

// parse reads one whole file from r as the options say.
func parse(r io.Reader, as format, o Options, lim limits) (*Table, error) {
	if _, err := o.validate(&lim); err != nil {
		return nil, err
	}
	reading, err := parseReading(&source.Source{Text: r}, as, o, lim)
	if err != nil {
		return nil, err
	}
	return reading.table(o)
}

// parseReading reads one whole table. Of the options it looks at those that say what is read at all.
func parseReading(s *source.Source, as format, o Options, lim limits) (*Reading, error) {
	if _, err := o.validate(&lim); err != nil {
		return nil, err
	}
	p := &parser{opts: o, na: o.missingWords(), missed: make(map[string]bool), lim: lim, numbered: o.notation()}
	if o.First > 0 { // rows that are not read may have any of them
		p.missed = p.na
	}
	reading := &Reading{lim: lim}
	if s.Text == nil {
		if o.Inherited {
			p.numbered = nil
		} else if o.Delimiter != "" || p.numbered != nil {
			return nil, errors.New("delimiter, decimal, thousands and units say how a text is written, and this is none: " +
				"leave them out")
		}
		reading.csv = &csvFile{parser: p, typed: s}
	} else {
		src, err := newText(s.Text, &lim)
		if err != nil {
			return nil, explain(err, 0)
		}
		if as == byContent {
			as = src.sniff()
		}
		if as == asLIBSVM {
			reading.svm = &svmFile{parser: p}
			if reading.broken = reading.svm.readRows(src); reading.broken == nil {
				reading.Sum = reading.svm.digest()
			}
			return reading, nil
		}
		reading.csv = newCSV(p, src, as)
	}
	if err := reading.csv.readHeader(); err != nil {
		return nil, err
	}
	reading.broken = reading.csv.readRows()
	if lacks := new(optionError); errors.As(reading.broken, &lacks) {
		return nil, reading.broken
	}
	if reading.broken == nil && len(reading.csv.flaws) > 0 {
		reading.broken = reading.csv.flaws[0].err
	}
	reading.csv.sort()
	if reading.broken == nil {
		reading.Sum = reading.csv.content.sum()
	}
	reading.csv.content = nil
	return reading, nil
}

// place is where a row stands in its file.
type place struct {
	row  int // data row, counted from 1
	line int // line of text, counted from 1; 0 where the table is no text
}

// String returns "row 17 (line 18)".
func (at place) String() string {
	if at.line == 0 {
		return fmt.Sprintf("row %d", at.row)
	}
	return fmt.Sprintf("row %d (line %d)", at.row, at.line)
}

// sortedRows returns the rows' order by id. An id that occurs twice is refused; at says where row i is.
func sortedRows(ids []string, at func(i int) string) ([]int, error) {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; ids[a] == ids[b] {
			return nil, &IDError{fmt.Errorf("%s and %s have the same id %s; a table has one row for each id: make one of "+
				"theirs, with sums, means or the latest", at(a), at(b), quote(ids[a]))}
		}
	}
	return order, nil
}
