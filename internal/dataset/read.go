package dataset

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// Read reads a CSV or LIBSVM file, plain or gzipped, and returns its rows sorted by id.
// A name that ends in .csv, .libsvm or .svm (and .gz) settles the format; else the first line does.
// The error names the path as given and, where there is one, the row, line, column and cell.
func Read(path string, o Options) (*Table, error) {
	t, err := readFile(path, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// readFile is Read with errors that do not name the path.
func readFile(path string, o Options) (*Table, error) {
	r, err := load(path, o)
	if err != nil {
		return nil, err
	}
	return r.table(o)
}

// Header returns the names in the first line of a CSV file, the id's among them; none of a LIBSVM file.
func Header(path string) (names []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	f, err := openRegular(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	lim := standardLimits()
	src, err := newText(f, &lim)
	if err != nil {
		return nil, explain(err, 0)
	}
	if as := formatOf(path); as == asLIBSVM || as == byContent && src.sniff() == asLIBSVM {
		return nil, nil
	}
	cells, err := newCSV(&parser{lim: lim}, src).next()
	if err == io.EOF {
		return nil, errEmptyFile
	}
	for _, c := range cells {
		names = append(names, strings.Clone(strings.TrimSpace(c)))
	}
	return names, err
}

// withoutPath returns what an error says of a file, less the file's name.
func withoutPath(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// openRegular opens a file that can be read again later: no folder, no pipe.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("this is a folder; name a file")
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("this is not a regular file; a job must be able to read it again")
	}
	return os.Open(path)
}

// format is how a file is laid out.
type format int

const (
	byContent format = iota
	asCSV
	asLIBSVM
)

// formatOf guesses the format from a file's name.
func formatOf(path string) format {
	switch filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz")) {
	case ".csv":
		return asCSV
	case ".libsvm", ".svm":
		return asLIBSVM
	}
	return byContent
}

// parser carries what the reading of one file needs.
type parser struct {
	opts Options
	lim  limits
}

// parse reads one whole file from r as the options say.
func parse(r io.Reader, as format, o Options, lim limits) (*Table, error) {
	if _, err := o.validate(&lim); err != nil {
		return nil, err
	}
	reading, err := parseReading(r, as, o, lim)
	if err != nil {
		return nil, err
	}
	return reading.table(o)
}

// parseReading reads one whole file from r. Of the options it looks at those that say what is read at all.
func parseReading(r io.Reader, as format, o Options, lim limits) (*Reading, error) {
	if _, err := o.validate(&lim); err != nil {
		return nil, err
	}
	digest := sha256.New()
	src, err := newText(io.TeeReader(r, digest), &lim)
	if err != nil {
		return nil, explain(err, 0)
	}
	p := &parser{opts: o, lim: lim}
	if as == byContent {
		as = src.sniff()
	}
	reading := &Reading{lim: lim}
	if as == asLIBSVM {
		reading.svm = &svmFile{parser: p}
		reading.broken = reading.svm.readRows(src)
	} else {
		reading.csv = newCSV(p, src)
		if err := reading.csv.readHeader(); err != nil {
			return nil, err
		}
		reading.broken = reading.csv.readRows()
		reading.csv.sort()
	}
	reading.Sum = keys.Hash(digest.Sum(nil))
	return reading, nil
}

// place is where a row stands in its file.
type place struct {
	row  int // data row, counted from 1
	line int // line of text, counted from 1
}

// String returns "row 17 (line 18)".
func (at place) String() string { return fmt.Sprintf("row %d (line %d)", at.row, at.line) }

// sortedRows returns the rows' order by id. An id that occurs twice is refused; at says where row i is.
func sortedRows(ids []string, at func(i int) string) ([]int, error) {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; ids[a] == ids[b] {
			return nil, fmt.Errorf("%s and %s have the same id %s; a table has one row for each id", at(a), at(b), quote(ids[a]))
		}
	}
	return order, nil
}
