package node

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// TableSpec is one of the member's tables: its file and how it is read.
type TableSpec struct {
	Path    string
	Options dataset.Options
}

// tables keeps the member's tables by name and the last one read of each.
type tables struct {
	specs map[string]TableSpec
	mu    sync.Mutex
	read  map[string]*dataset.Table // by name and label
}

// newTables starts with nothing read.
func newTables(specs map[string]TableSpec) *tables {
	return &tables{specs: specs, read: make(map[string]*dataset.Table)}
}

// load returns the named table as it is on the disk now; label is its label column, if it has one.
func (t *tables) load(name, label string, fills map[string]float64) (*dataset.Table, error) {
	spec, ok := t.specs[name]
	if !ok {
		return nil, fmt.Errorf("this node has no table %q; it has %s: start it with --data %s=FILE", name, t.names(), name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := name + "|" + label
	sum, err := fileSum(spec.Path)
	if err != nil {
		return nil, err
	}
	if old := t.read[key]; old != nil && old.Sum == sum && fills == nil {
		return old, nil
	}
	options := spec.Options
	options.Label, options.Fill = label, fills
	table, err := dataset.Read(spec.Path, options)
	if err != nil {
		return nil, err
	}
	t.read[key] = table
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
