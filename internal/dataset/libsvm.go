package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// svmLabel is the name of the label column of a LIBSVM table; features are called f1, f2, …
const svmLabel = "label"

// svmFile is a LIBSVM file while it is read: rows of the form "label index:value …" with indices that increase within a
// row, and comments from # on. The table has the columns label and f1 to fd, d being the highest index, with f0 where
// the file counts from 0. Only what is not zero is kept until the width is known.
type svmFile struct {
	*parser
	labels []float64
	ends   []int     // how many entries there are up to the end of each row
	index  []int32   // of each entry
	value  []float64 // of each entry
	width  int       // highest index so far
	zero   bool      // there is an index 0
}

// readRows reads the lines until the file ends; blank ones do not count as rows.
func (f *svmFile) readRows(src *text) error {
	lines := bufio.NewScanner(src)
	lines.Buffer(make([]byte, 0, bufferSize), f.lim.record)
	at := place{row: 1, line: 1}
	for ; lines.Scan(); at.line++ {
		src.slacken()
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if f.opts.First > 0 && at.row > f.opts.First {
			break
		}
		// Takes one line apart.
		if at.row > f.lim.rows {
			return fmt.Errorf("there are more than %d rows, the limit", f.lim.rows)
		}
		word, rest := nextWord(line)
		label, c := parseNumber(word)
		if c != isNumber {
			return fmt.Errorf("%v, column %q: %s %s", at, svmLabel, quote(word), c.why())
		}
		last := -1
		for rest != "" {
			word, rest = nextWord(rest)
			index, err := f.addEntry(word, last, at)
			if err != nil {
				return err
			}
			last = index
		}
		f.width = max(f.width, last)
		if at.row*(f.width+1) > f.lim.cells {
			return fmt.Errorf("%v: the table is too large: %d columns up to here, and the limit is %d cells", at, f.width+1,
				f.lim.cells)
		}
		f.labels = append(f.labels, label)
		f.ends = append(f.ends, len(f.index))
		at.row++
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errLongRecord
		}
		return explain(err, len(f.labels))
	}
	if f.width == 0 && !f.zero {
		return errors.New("no row has a feature of the form index:value")
	}
	return nil
}

// addEntry takes one index:value pair, the index being larger than last, and returns the index.
func (f *svmFile) addEntry(word string, last int, at place) (int, error) {
	left, right, ok := strings.Cut(word, ":")
	if !ok {
		return 0, fmt.Errorf("%v: %s is not of the form index:value", at, quote(word))
	}
	if left == "qid" {
		return 0, fmt.Errorf("%v: %s is of a file for ranking, whose rows belong to queries; no algorithm here ranks", at,
			quote(word))
	}
	index, err := strconv.Atoi(left)
	if err != nil || index < 0 {
		return 0, fmt.Errorf("%v: index %s is not a whole number from 0", at, quote(left))
	}
	f.zero = f.zero || index == 0
	if most := f.lim.columns - 2; index > most { // id and label are columns too
		return 0, fmt.Errorf("%v: index %d is beyond the limit of %d features", at, index, most)
	}
	if index <= last {
		return 0, fmt.Errorf("%v: index %d comes after %d; indices must increase", at, index, last)
	}
	v, c := parseNumber(right)
	if c != isNumber {
		return 0, fmt.Errorf("%v, column \"f%d\": %s %s", at, index, quote(right), c.why())
	}
	if v != 0 {
		f.index = append(f.index, int32(index))
		f.value = append(f.value, v)
	}
	return index, nil
}

// nextWord cuts the first word off a line that does not begin with a blank.
func nextWord(line string) (word, rest string) {
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimLeft(line[end:], " \t")
}

// names returns the columns of the table, the label first.
func (f *svmFile) names() []string {
	names := []string{svmLabel}
	if f.zero {
		names = append(names, featureName(0))
	}
	for i := range f.width {
		names = append(names, featureName(i+1))
	}
	return names
}

// column returns where among names the feature of an index stands.
func (f *svmFile) column(index int32) int {
	if f.zero {
		return int(index) + 1
	}
	return int(index)
}

// digest returns the digest of the table that finish makes.
func (f *svmFile) digest() keys.Hash {
	names := f.names()
	d := newDigest(append(names, "id"), len(names), nil)
	values := make([]float64, len(names))
	from := 0
	for row, label := range f.labels {
		values[0] = label
		for e := from; e < f.ends[row]; e++ {
			values[f.column(f.index[e])] = f.value[e]
		}
		d.addNumbers(strconv.Itoa(row+1), values)
		for ; from < f.ends[row]; from++ {
			values[f.column(f.index[from])] = 0
		}
	}
	return d.sum()
}

// finish spreads the entries over dense columns with the rows sorted by id.
func (f *svmFile) finish() (*Table, error) {
	n := len(f.labels)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	order, err := sortedRows(ids, func(i int) string { return "row " + ids[i] })
	if err != nil {
		return nil, err
	}
	t := &Table{IDName: "id", IDs: gather(ids, order), Columns: f.zeros(), numbered: true}
	for to, row := range order {
		t.Columns[0].Values[to] = f.labels[row]
		from := 0
		if row > 0 {
			from = f.ends[row-1]
		}
		for e := from; e < f.ends[row]; e++ {
			t.Columns[f.column(f.index[e])].Values[to] = f.value[e]
		}
	}
	return t, nil
}

// zeros returns the label column and the features, side by side in one piece of memory.
func (f *svmFile) zeros() []Column {
	n, names := len(f.labels), f.names()
	slab := make([]float64, n*len(names))
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = Column{Name: name, Values: slab[i*n : (i+1)*n : (i+1)*n]}
	}
	return columns
}

// featureName names the column of an index.
func featureName(index int) string { return "f" + strconv.Itoa(index) }

// featureIndex undoes featureName; -1 where the name is none of a feature.
func featureIndex(name string) int {
	digits, is := strings.CutPrefix(name, "f")
	index, err := strconv.Atoi(digits)
	if !is || err != nil || featureName(index) != name || index > standardLimits().columns {
		return -1
	}
	return index
}
