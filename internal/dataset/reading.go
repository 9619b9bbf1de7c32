package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/keys"
)

// Reading is a file that was read once. What Table returns shares its memory, but for columns with empty cells that are
// filled: whatever is asked for, a Reading keeps no more than each column once as numbers and once as categories. Its
// methods may not be called concurrently.
type Reading struct {
	Path string    // the file it was read from, or what messages call another source
	Sum  keys.Hash // digest of its content, the same from every source; zero where the table is broken

	lim    limits
	broken error // the file's shape is wrong from some row on
	svm    *svmFile
	csv    *csvFile
	all    *Table // of a LIBSVM file
}

// Load reads a table for all readings that are as ForLoading; the other options are not looked at. The Sum
// depends on none but ID.
func Load(ctx context.Context, location string, o Options) (*Reading, error) {
	r, err := load(ctx, location, o.ForLoading())
	if err != nil {
		return nil, named(location, err)
	}
	return r, nil
}

// Supposed are options with some that the owner has not said, without which the table could not be read.
type Supposed struct {
	Options
	why   []string // the errors without them
	lines []string // they
}

// LoadSupposing is Load for looking at a table: where one option more has it read at all, such as what separates its
// columns, it is read with that.
func LoadSupposing(ctx context.Context, location string, o Options) (*Reading, Supposed, error) {
	s := Supposed{Options: o}
	var first error
	for {
		r, err := load(ctx, location, s.ForLoading())
		if err == nil {
			return r, s, nil
		}
		lacks := new(optionError)
		if !errors.As(err, &lacks) || len(s.why) == mostSupposed {
			if first != nil {
				err = fmt.Errorf("%w; then %w", first, err)
			}
			return nil, s, named(location, err)
		}
		first = cmp.Or(first, err)
		s.why = append(s.why, lacks.short)
		s.Ignore = union(s.Ignore, lacks.with.Ignore)
		s.Delimiter = cmp.Or(s.Delimiter, lacks.with.Delimiter)
		if d := lacks.with.Delimiter; d != "" {
			s.lines = append(s.lines, optionLine("delimiter", d))
		}
	}
}

// mostSupposed is how many options are supposed of one table.
const mostSupposed = 8

// load opens and parses a table, with errors that do not name it.
func load(ctx context.Context, location string, o Options) (r *Reading, err error) {
	l, err := source.Parse(location)
	if err != nil {
		return nil, err
	}
	s, err := source.Open(ctx, l, source.StandardLimits())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err = parseReading(s, formatOf(l.Name()), o, standardLimits())
	if err != nil {
		return nil, err
	}
	r.Path = l.String()
	return r, nil
}

// Has reports whether the file has a column of that name, its id column left out.
func (r *Reading) Has(name string) bool {
	if r.csv == nil {
		return name == svmLabel
	}
	at := slices.Index(r.csv.head.names, name)
	return at >= 0 && at != r.csv.head.id
}

// Table returns what Read returns for the file and these options.
func (r *Reading) Table(o Options) (*Table, error) {
	t, err := r.table(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	return t, nil
}

// Texts returns the cells of columns that were read as Identify, or of the id column, as they stand in the file less
// blanks around them: by column and then by row, in the order of a Table's rows. lines are those of the file. It
// changes nothing: it may be called while other methods are.
func (r *Reading) Texts(names ...string) (columns [][]string, lines []int, err error) {
	if r.csv == nil {
		return nil, nil, fmt.Errorf("%s: a LIBSVM file has no texts; its rows are called by their numbers", r.Path)
	}
	f := r.csv
	switch {
	case r.broken != nil:
		return nil, nil, fmt.Errorf("%s: %w", r.Path, r.broken)
	case f.twice != nil:
		return nil, nil, fmt.Errorf("%s: %w", r.Path, f.twice)
	}
	for _, name := range names {
		at := slices.Index(f.head.names, name)
		switch {
		case at < 0:
			return nil, nil, fmt.Errorf("%s: no column %s; the columns are %s", r.Path, quote(name), listNames(f.head.names))
		case at == f.head.id:
			columns = append(columns, f.ids)
		case f.marks[at] == nil:
			return nil, nil, fmt.Errorf("%s: column %s was not read as one that identifies rows", r.Path, quote(name))
		default:
			columns = append(columns, f.marks[at])
		}
	}
	for _, line := range f.lines {
		lines = append(lines, int(line))
	}
	return columns, lines, nil
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
	switch {
	case o.ID != "":
		return nil, fmt.Errorf("a LIBSVM file has no id column %s; its ids are the row numbers", quote(o.ID))
	case o.Label != "" && o.Label != svmLabel:
		return nil, fmt.Errorf("a LIBSVM file has no label column %s; its label column is called %q", quote(o.Label),
			svmLabel)
	case !o.Inherited && (o.Delimiter != "" || o.notation() != nil):
		return nil, errors.New("a LIBSVM file is written in one way: leave delimiter, decimal, thousands and units out")
	case len(o.Categorical) > 0:
		return nil, fmt.Errorf("a LIBSVM file has numbers only; column %s cannot be categorical", quote(o.Categorical[0]))
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
	for _, name := range slices.Concat(o.Ignore, o.Only, o.Columns) {
		if name != svmLabel && featureIndex(name) < 0 {
			return nil, fmt.Errorf("no column %s; a LIBSVM file has label, f1, f2 and so on", quote(name))
		}
	}
	t := *r.all
	t.Missing, t.Levels = o.Missing, o.Levels
	t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return !o.wants(c.Name) || c.Name == svmLabel && o.Label == "" // which is never a feature
	})
	// A feature that no row of this file has is zero: those of the training may be more. They share one column of zeros.
	at, zeros := t.positions(), make([]float64, t.Rows())
	for _, name := range o.Only {
		if _, there := at[name]; !there && featureIndex(name) >= 0 && o.wants(name) {
			t.Columns = append(t.Columns, Column{Name: name, Values: zeros})
		}
	}
	return &t, nil
}
