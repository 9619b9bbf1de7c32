package node

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
)

// TableSpec is one of the member's tables: its file and how it is read.
type TableSpec struct {
	Path    string
	Options dataset.Options
}

// tables keeps the member's tables by name: of each one reading, of which everything else is a view, and the last view.
type tables struct {
	specs    map[string]TableSpec
	mu       sync.Mutex
	read     map[string]*reading
	readings int // how often a file was read
}

// reading is a table as it was read, while the file is the same, and the last use that was made of it: a job asks for
// the same one several times. A use fills empty cells in a copy, so no more than one is kept.
type reading struct {
	file    *dataset.Reading
	options dataset.Options
	table   *dataset.Table
}

// newTables starts with nothing read.
func newTables(specs map[string]TableSpec) *tables {
	return &tables{specs: specs, read: make(map[string]*reading)}
}

// load returns the named table as it is on the disk now, read for a training; label is its label column, if it
// has one.
func (t *tables) load(name, label string) (*dataset.Table, error) {
	return t.loadAs(name, func(o dataset.Options) dataset.Options {
		o.Label = label
		return o
	})
}

// loadFor returns the named table as it is on the disk now, read for a part of a model.
func (t *tables) loadFor(name string, m *fdskl.Model) (*dataset.Table, error) {
	return t.loadAs(name, func(o dataset.Options) dataset.Options { return vertical.ScoringOptions(o, m) })
}

// loadAs returns the named table as it is on the disk now; as turns the owner's options into those it is read by.
func (t *tables) loadAs(name string, as func(dataset.Options) dataset.Options) (*dataset.Table, error) {
	spec, ok := t.specs[name]
	if !ok {
		return nil, fmt.Errorf("this node has no table %q; it has %s: start it with --data %s=FILE", name, t.names(), name)
	}
	options := as(spec.Options)
	t.mu.Lock()
	defer t.mu.Unlock()
	sum, err := fileSum(spec.Path)
	if err != nil {
		return nil, err
	}
	r := t.read[name]
	if r == nil || r.file.Sum != sum {
		delete(t.read, name) // its memory is free for the new one
		file, err := dataset.Load(spec.Path, spec.Options)
		if err != nil {
			return nil, err
		}
		t.readings++
		r = &reading{file: file}
		t.read[name] = r
	}
	if r.table != nil && reflect.DeepEqual(r.options, options) {
		return r.table, nil
	}
	r.table = nil
	table, err := r.file.Table(options)
	if err != nil {
		return nil, err
	}
	r.options, r.table = options, table
	return table, nil
}

// names lists the tables for people.
func (t *tables) names() string {
	if len(t.specs) == 0 {
		return "none"
	}
	var names []string
	for name := range t.specs {
		names = append(names, fmt.Sprintf("%q", name))
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

// fileSum returns the SHA-256 of a file's bytes.
func fileSum(path string) (sum keys.Hash, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, fmt.Errorf("%s: %w", path, err)
	}
	return keys.Hash(h.Sum(nil)), nil
}
