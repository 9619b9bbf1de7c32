package dataset

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// Reading is a file that was read once. What Table returns shares its memory, but for columns with empty cells that are
// filled: whatever is asked for, a Reading keeps no more than each column once as numbers and once as categories. Its
// methods may not be called concurrently.
type Reading struct {
	Path string    // the file it was read from
	Sum  keys.Hash // SHA-256 of the file's bytes as they were read

	lim    limits
	broken error // the file's shape is wrong from some row on
	svm    *svmFile
	csv    *csvFile
	all    *Table // of a LIBSVM file
}

// Load reads a file for all readings that name the same ID, Ignore and MaxRows; the other options are not looked at.
func Load(path string, o Options) (*Reading, error) {
	r, err := load(path, Options{ID: o.ID, Ignore: o.Ignore, MaxRows: o.MaxRows})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// load opens and parses a file, with errors that do not name it.
func load(path string, o Options) (*Reading, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	r, err := parseReading(f, formatOf(path), o, standardLimits())
	if err != nil {
		return nil, err
	}
	r.Path = path
	return r, nil
}

// Table returns what Read returns for the file and these options.
func (r *Reading) Table(o Options) (*Table, error) {
	t, err := r.table(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	return t, nil
}

// table is Table with errors that do not name the file.
func (r *Reading) table(o Options) (*Table, error) {
	lim := r.lim
	m, err := o.validate(&lim)
	if err != nil {
		return nil, err
	}
	var t *Table
	if r.svm != nil {
		t, err = r.svmTable(&o)
	} else {
		t, err = r.csv.table(&o, m, r.broken)
	}
	if err != nil {
		return nil, err
	}
	t.Path, t.Sum = r.Path, r.Sum
	return t, nil
}

// svmTable is table for a LIBSVM file.
func (r *Reading) svmTable(o *Options) (*Table, error) {
	if err := checkSVMOptions(o); err != nil {
		return nil, err
	}
	if r.broken != nil {
		return nil, r.broken
	}
	if r.all == nil {
		all, err := r.svm.finish()
		if err != nil {
			return nil, err
		}
		r.all = all
		r.svm = &svmFile{width: r.svm.width} // its entries are in the columns now
	}
	at := r.all.positions()
	for _, name := range o.Ignore {
		if _, there := at[name]; !there {
			return nil, fmt.Errorf("no column %s to ignore; a LIBSVM file has label and f1 to f%d", quote(name), r.svm.width)
		}
	}
	for _, name := range o.Only {
		if _, there := at[name]; !there {
			return nil, fmt.Errorf("no column %s; a LIBSVM file has label and f1 to f%d", quote(name), r.svm.width)
		}
	}
	t := *r.all
	t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !o.wants(c.Name) })
	return &t, nil
}
