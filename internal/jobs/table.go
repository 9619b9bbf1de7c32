package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TableSpec is one of the member's tables: where it comes from and how it is read.
type TableSpec struct {
	Path    string // a location of package source, or of a stream
	Options dataset.Options
}

// Tables keeps the member's tables by name: of each one reading, of which everything else is a view, and the last view.
type Tables struct {
	Specs    map[string]TableSpec
	mu       sync.Mutex
	Read     map[string]*reading
	Readings int            // how often a table was read and kept
	Input    *stream.Stream // standard input, once a job has asked for it
	// Identify lists the columns by which the charter identifies rows: they are never features.
	Identify func() []string
	// AtUse has a source read when a table is used that is not kept as it is wanted: for a command of the owner's, which
	// looks at a table once and answers nobody.
	AtUse bool
	// Life ends what is being asked for; nil where nothing does.
	Life context.Context
	// Clock tells the time by which sources are run again; nil: time.Now.
	Clock func() time.Time
	Log   *slog.Logger // where it is said who has a source run; nil: nowhere

	sources map[string]*sourced // of tables that are no files
	tended  []string            // those that are run by the clock, too
}

// reading is a table as it was read, while its source gives the same, and the last use that was made of it: a job asks
// for the same one several times. A use fills empty cells in a copy, so no more than one is kept.
type reading struct {
	file    *dataset.Reading
	path    string          // where it was read
	loaded  dataset.Options // what the reading depends on
	bytes   keys.Hash       // SHA-256 of the file; zero of a table that is no file
	options dataset.Options
	table   *dataset.Table

	aligned keys.Hash // the alignment that rows are of
	rows    []int

	said   map[string]*Remarks          // by label
	looked map[string][]*dataset.IDLook // by identifiers
}

// Remarks is what a table's owner is told of it before a training, and nobody else.
type Remarks struct {
	Columns []string // by name, without the label; what a training makes of one where it is not itself
	Notes   []string // what a person should know of the table, a sentence each
}

// NewTables starts with nothing read.
func NewTables(specs map[string]TableSpec) *Tables {
	t := &Tables{Specs: specs, Read: make(map[string]*reading), sources: make(map[string]*sourced)}
	for name, spec := range specs {
		if t.FromSource(name) && spec.Options.Refresh != dataset.Manual {
			t.tended = append(t.tended, name)
		}
	}
	sort.Strings(t.tended)
	return t
}

// Load returns the named table as it is now or, of one that is no file, as it was read last, for a training; label is
// its label column, if it has one. With an alignment it has the common rows, in their order.
func (t *Tables) Load(name, label string, a *alignment.Alignment) (*dataset.Table, error) {
	return t.loadRows(name, a, func(o dataset.Options) dataset.Options {
		o.Label = label
		return o
	})
}

// LoadFor returns what Load does for a part of a model.
func (t *Tables) LoadFor(name string, m *joint.Model, a *alignment.Alignment) (*dataset.Table, error) {
	return t.loadRows(name, a, func(o dataset.Options) dataset.Options { return vertical.ScoringOptions(o, m) })
}

// loadRows returns the named table, or the rows of it that an alignment has; as turns the owner's options into those it
// is read by.
func (t *Tables) loadRows(name string, a *alignment.Alignment,
	as func(dataset.Options) dataset.Options) (*dataset.Table, error) {
	r, options, unlock, err := t.reading(name, as)
	defer unlock()
	if err != nil {
		return nil, err
	}
	if r.table == nil || !reflect.DeepEqual(r.options, options) {
		r.table = nil
		table, err := r.file.Table(options)
		if err != nil {
			return nil, r.nearest(err, options)
		}
		r.options, r.table = options, table
	}
	if a == nil {
		return r.table, nil
	}
	rows, err := r.common(a)
	if err != nil {
		return nil, err
	}
	return r.table.Select(rows), nil
}

// nearest adds to an error of a table that is to be read by options which column was probably meant as its label.
func (r *reading) nearest(err error, o dataset.Options) error {
	if o.Label == "" || r.file.Has(o.Label) {
		return err
	}
	label := o.Label
	o.Label = ""
	var names []string
	if s, e := r.file.Survey(o); e == nil {
		for _, c := range s.Columns {
			names = append(names, c.Name)
		}
	}
	return fmt.Errorf("%w%s", err, wording.DidYouMean(label, names))
}

// Now returns the digest of the named table as it is now or, of one that is no file, as it was read last, and what
// messages call the table.
func (t *Tables) Now(name string) (sum keys.Hash, path string, err error) {
	r, _, unlock, err := t.reading(name, asOwned)
	defer unlock()
	if err != nil {
		return sum, "", err
	}
	return r.now()
}

// now returns the digest of a reading, and what messages call the table.
func (r *reading) now() (sum keys.Hash, path string, err error) {
	if _, err := r.ids(); err != nil { // a broken table has no digest
		return sum, "", err
	}
	return r.file.Sum, r.file.Path, nil
}

// Options returns how its owner says that a table is read.
func (t *Tables) Options(name string) dataset.Options { return t.Specs[name].Options }

// asOwned leaves the owner's options as they are.
func asOwned(o dataset.Options) dataset.Options { return o }

// reading returns the named table, and the options that as makes of the owner's. A file is read once while its bytes
// are the same. Whatever else a table comes from is as it was read last, but AtUse: see Refresh. The reading is the
// caller's until unlock is called, which is never nil.
func (t *Tables) reading(name string, as func(dataset.Options) dataset.Options) (r *reading, o dataset.Options,
	unlock func(), err error) {
	spec, ok := t.Specs[name]
	if !ok {
		return nil, o, func() {}, t.none(name, fmt.Sprintf(": start it with --data %s=FILE", name))
	}
	owned := t.owned(spec)
	o = as(owned)
	ctx, stop := t.alive(context.Background())
	t.mu.Lock()
	if t.FromSource(name) && !t.AtUse {
		r, err = t.kept(name, spec, o, owned)
	} else {
		r, err = t.looked(ctx, name, spec.Path, o)
	}
	return r, o, func() { t.mu.Unlock(); stop() }, err
}

// looked is reading of a file, or AtUse, while no other goroutine reads.
func (t *Tables) looked(ctx context.Context, name, path string, o dataset.Options) (*reading, error) {
	l, err := source.Parse(path)
	if err != nil {
		return nil, err
	}
	bytes, err := l.Sum()
	if err != nil {
		return nil, err
	}
	r := t.Read[name]
	if r != nil && bytes == r.bytes && reflect.DeepEqual(r.loaded, o.ForLoading()) {
		return r, nil
	}
	delete(t.Read, name) // its memory is free for the new one
	file, err := dataset.Load(ctx, path, o)
	if err != nil {
		return nil, err
	}
	t.Readings++
	r = &reading{file: file, path: path, bytes: bytes, loaded: o.ForLoading()}
	t.Read[name] = r
	return r, nil
}

// Remarks says what a person should know of the named table before a training with that label, of what was read of it
// last; nil while it has not been read.
func (t *Tables) Remarks(name, label string) *Remarks {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.Read[name]
	if r == nil {
		return nil
	}
	remarks, known := r.said[label]
	if known {
		return remarks
	}
	remarks = new(Remarks)
	o := t.Specs[name].Options
	o.Label, o.Identify = label, r.loaded.Identify
	if s, err := r.file.Survey(o); err == nil {
		remarks.Notes = s.Notes()
		for _, c := range s.Columns {
			text := wording.Line(c.Name, wording.MaxWord)
			switch {
			case c.Label:
				continue
			case c.Features == 0:
				text += " (left out)"
			case c.Features > 1:
				text += fmt.Sprintf(" (as %d)", c.Features)
			}
			remarks.Columns = append(remarks.Columns, text)
		}
	}
	if r.said == nil {
		r.said = make(map[string]*Remarks)
	}
	r.said[label] = remarks
	return remarks
}

// Called returns the column of the named table, as it was read last, that jobs may use and that is called as a label,
// whatever its letters' case; empty where there is none. The label of a LIBSVM file is no such column.
func (t *Tables) Called(name, label string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.Read[name]
	if r == nil {
		return ""
	}
	o := t.Specs[name].Options
	o.Identify = r.loaded.Identify
	s, err := r.file.Survey(o)
	if err != nil {
		return ""
	}
	for _, c := range s.Columns {
		if strings.EqualFold(c.Name, label) && c.Kind != dataset.KindLabel {
			return c.Name
		}
	}
	return ""
}

// ids returns the row ids, in the order of the table's rows.
func (r *reading) ids() ([]string, error) {
	table, err := r.file.Table(dataset.Options{Only: []string{}}) // no column is looked at
	if err != nil {
		return nil, err
	}
	return table.IDs, nil
}

// common returns where the table has the rows of an alignment, in their order; the last answer is kept.
func (r *reading) common(a *alignment.Alignment) ([]int, error) {
	if r.aligned == a.Contract {
		return r.rows, nil
	}
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	rows, err := a.Find(&Source{file: r.file, ids: ids})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.file.Path, err)
	}
	r.aligned, r.rows = a.Contract, rows
	return rows, nil
}

// Rest returns the ids of the rows of a table that an alignment does not have.
func (t *Tables) Rest(name string, a *alignment.Alignment) ([]string, error) {
	r, _, unlock, err := t.reading(name, asOwned)
	defer unlock()
	if err != nil {
		return nil, err
	}
	rows, err := r.common(a)
	if err != nil {
		return nil, err
	}
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	common := make(map[int]bool, len(rows))
	for _, row := range rows {
		common[row] = true
	}
	var rest []string
	for row, id := range ids {
		if !common[row] {
			rest = append(rest, id)
		}
	}
	return rest, nil
}

// Source is a table as its ids are made of it. It implements alignment.Source.
type Source struct {
	file *dataset.Reading
	ids  []string
}

// Source returns the named table as Load does, to make ids of its rows.
func (t *Tables) Source(name string) (*Source, error) {
	r, _, unlock, err := t.reading(name, asOwned)
	defer unlock()
	if err != nil {
		return nil, err
	}
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	return &Source{r.file, ids}, nil
}

// Path is the table's file, or what messages call another source.
func (s *Source) Path() string { return s.file.Path }

// Sum is the digest of the table's content.
func (s *Source) Sum() keys.Hash { return s.file.Sum }

// RowIDs implements alignment.Source.
func (s *Source) RowIDs() []string { return s.ids }

// Texts implements alignment.Source.
func (s *Source) Texts(names ...string) (columns [][]string, lines []int, err error) {
	return s.file.Texts(names...)
}

// OpenStream opens a table as a stream of rows, label and columns apart. Standard input is opened once in a node's
// life.
func (t *Tables) OpenStream(name, label string, columns []string) (*stream.Stream, error) {
	spec, ok := t.Specs[name]
	if !ok {
		return nil, faults.Errorf(fault.CodeTable, "%w",
			t.none(name, fmt.Sprintf(": start it with --data %s=FILE, or %[1]s=- for standard input", name)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if spec.Path == stream.Stdin && t.Input != nil {
		return t.Input, nil
	}
	if l, err := source.Parse(spec.Path); err != nil || !l.IsFile() {
		return nil, faults.Errorf(fault.CodeTable, "table %q is no file, and a job over clients reads its rows one by one: "+
			"start the node with --data %s=FILE.csv, or a program | hanse node --data %s=-", name, name, name)
	}
	s, err := stream.Open(spec.Path, label, columns)
	if faults.IsDiskFault(err) {
		err = faults.OfTable(err)
	}
	err = faults.OrElse(fault.CodeTable, err)
	if err == nil && spec.Path == stream.Stdin {
		t.Input = s
	}
	return s, err
}

// CloseStream closes a stream that is not the node's standard input.
func (t *Tables) CloseStream(s *stream.Stream) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == t.Input {
		return nil
	}
	return s.Close()
}

// Has reports whether the member has a table.
func (t *Tables) Has(name string) bool {
	_, ok := t.Specs[name]
	return ok
}

// PathOf returns the location of a table, for a command on this machine that reads it.
func (t *Tables) PathOf(name string) (string, error) {
	spec, ok := t.Specs[name]
	switch {
	case !ok:
		return "", t.none(name, ": name one of these with --table, or a file with --data")
	case spec.Path == stream.Stdin:
		return "", fmt.Errorf("table %q is the node's standard input, whose rows do not come again: name a file with --data",
			name)
	}
	l, err := source.Parse(spec.Path)
	if err != nil {
		return "", err
	}
	return l.Absolute()
}

// none is the error of a table that the node does not have; then says what to do.
func (t *Tables) none(name, then string) error {
	return fmt.Errorf("this node has no table %q; it has %s%s%s", name, t.Names(), then,
		wording.DidYouMean(name, slices.Sorted(maps.Keys(t.Specs))))
}

// Names lists the tables for people.
func (t *Tables) Names() string {
	if len(t.Specs) == 0 {
		return "none"
	}
	var names []string
	for name := range t.Specs {
		names = append(names, fmt.Sprintf("%q", name))
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}
