// Package vault keeps what must survive a killed process: small states saved atomically and long
// logs of records appended one by one, all in one folder that only its owner can read. A Scratch is beside them for
// what must not survive.
//
// No byte that it gives back is unchecked. A state is in an envelope with a version, its owner (the
// contract of the job that the folder is for), its name, its length and a SHA-256 of all that; a record of
// a log has its length and a SHA-256 that binds owner, name and place. The names of what there should be
// stand in an index, so that a file that was deleted is not taken for one that never was. What fails is a
// DamagedError, or, for names that the owner can make anew, is set aside and counts as not there. What another version
// of the program wrote is a VersionError, also for such names, and stays where it is.
//
// What a crash leaves half is no damage: Save replaces a file as a whole (package durable), and a record cut
// short at a log's end is not there when the log is read again.
package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/keys"
)

// indexFile holds the names of what the vault has, one a line, in an envelope of its own.
const indexFile = "index"

// asideSuffix ends the name of a damaged file that was set aside.
const asideSuffix = ".damaged"

// Options are what a vault is opened with; the zero value is a vault of nobody's in which all damage is an error.
type Options struct {
	Owner keys.Hash // what the folder is for: a job's contract
	// Rebuildable tells the names that whoever uses the vault makes anew when they are gone. nil: none.
	Rebuildable func(name string) bool
	// Damaged hears of a damaged file that was set aside, in one sentence; it may be nil.
	Damaged func(text string)
	// Fault is for tests: asked before every write, its error is the write's. With stored the write takes place
	// all the same, as when a disk fails after it has done its work.
	Fault func(path string) (stored bool, err error)
	// Reserve is asked before a Scratch is made of so many bytes, and refuses one that does not fit. nil: all do.
	Reserve func(bytes int64) error
}

// Vault is a folder of states and logs. Its methods may be called concurrently for different names.
type Vault struct {
	dir     string
	options Options

	mu    sync.Mutex
	logs  map[string]*openLog
	names []string // of the index, sorted
}

// Open makes the folder if it is missing and returns the vault in it.
func Open(dir string, o Options) (*Vault, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	v := &Vault{dir: dir, options: o, logs: make(map[string]*openLog)}
	return v, v.readIndex()
}

// Adopt opens a vault that was made under another name, in a folder beside it: it is in its place as a whole or not at
// all.
func Adopt(draft, dir string, o Options) (*Vault, error) {
	v := &Vault{dir: dir, options: o}
	err := v.write(dir, func() error {
		return errors.Join(os.Rename(draft, dir), durable.SyncDir(filepath.Dir(dir)))
	})
	if err != nil {
		return nil, err
	}
	return Open(dir, o)
}

// Path returns where a name is kept.
func (v *Vault) Path(name string) string { return filepath.Join(v.dir, name) }

// Has reports whether a name was saved or appended to, and not removed since.
func (v *Vault) Has(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Contains(v.names, name)
}

// Names lists what was saved or appended to, and not removed since, sorted.
func (v *Vault) Names() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.names)
}

// Load returns a saved state, nil when there is none. One that is damaged, or gone though it was saved, is a
// *DamagedError, or nil where it is rebuildable; one of another version of the program is a *VersionError.
func (v *Vault) Load(name string) ([]byte, error) {
	data, err := ReadFile(v.Path(name), v.options.Owner)
	if errors.Is(err, fs.ErrNotExist) {
		if !v.Has(name) {
			return nil, nil
		}
		err = &DamagedError{v.Path(name), "it was saved there and is gone"}
	}
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !v.rebuildable(name) {
		return data, err
	}
	return nil, v.SetAside(name, damaged)
}

// rebuildable reports whether a damaged file counts as not there.
func (v *Vault) rebuildable(name string) bool {
	return v.options.Rebuildable != nil && v.options.Rebuildable(name)
}

// SetAside moves a damaged file out of the way, where a person can look at it, and forgets its name. why is told.
func (v *Vault) SetAside(name string, why error) error {
	aside := v.Path(name) + asideSuffix
	if err := os.Rename(v.Path(name), aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := v.list(name, false); err != nil {
		return err
	}
	if v.options.Damaged != nil {
		v.options.Damaged(fmt.Sprintf("%v; it was set aside as %s", why, filepath.Base(aside)))
	}
	return nil
}

// Save replaces a state. When it returns without error the new state is on the disk; with an
// error the old one is untouched.
func (v *Vault) Save(name string, data []byte) error {
	head := head(v.options.Owner, name, data)
	err := v.write(v.Path(name), func() error { return durable.WriteFile(v.Path(name), head, data) })
	if err == nil {
		err = v.list(name, true)
	}
	return err
}

// write is a write of a state or a record.
func (v *Vault) write(path string, do func() error) error { return writeError(v.attempt(path, do)) }

// attempt is a write that tests can make fail.
func (v *Vault) attempt(path string, do func() error) error {
	if v.options.Fault == nil {
		return do()
	}
	stored, fault := v.options.Fault(path)
	if fault == nil || stored {
		if err := do(); err != nil {
			return err
		}
	}
	return fault
}

// list puts a name into the index or takes it out.
func (v *Vault) list(name string, there bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, found := slices.BinarySearch(v.names, name)
	if found == there {
		return nil
	}
	names := slices.Clone(v.names)
	if there {
		names = slices.Insert(names, at, name)
	} else {
		names = slices.Delete(names, at, at+1)
	}
	envelope := Envelope(v.options.Owner, indexFile, []byte(strings.Join(names, "\n")))
	err := v.write(v.Path(indexFile), func() error { return durable.WriteFile(v.Path(indexFile), envelope) })
	if err == nil {
		v.names = names
	}
	return err
}

// readIndex reads the index. One that is damaged or gone is made anew from the files that are there: then a file that
// was deleted together with the index counts as one that never was, which is more than one thing gone wrong.
func (v *Vault) readIndex() error {
	data, err := ReadFile(v.Path(indexFile), v.options.Owner)
	if err == nil {
		if len(data) > 0 {
			v.names = strings.Split(string(data), "\n")
		}
		slices.Sort(v.names)
		return nil
	}
	var damaged *DamagedError
	if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged) {
		return err
	}
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && name != indexFile && !strings.HasSuffix(name, durable.Suffix) &&
			!strings.HasSuffix(name, asideSuffix) {
			if begins(v.Path(name), magic) || begins(v.Path(name), logMagic) {
				v.names = append(v.names, name)
			}
		}
	}
	if damaged != nil && v.options.Damaged != nil {
		v.options.Damaged(fmt.Sprintf("%v; it was made anew from the files that are there", damaged))
	}
	return nil
}

// Remove deletes a state or a log; one that is not there is no error.
func (v *Vault) Remove(name string) error {
	v.mu.Lock()
	if l, ok := v.logs[name]; ok {
		l.file.Close()
		delete(v.logs, name)
	}
	v.mu.Unlock()
	if err := v.list(name, false); err != nil {
		return err
	}
	if err := os.Remove(v.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close closes the logs.
func (v *Vault) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var err error
	for name, l := range v.logs {
		err = errors.Join(err, l.file.Close())
		delete(v.logs, name)
	}
	return err
}

// DamagedError says that a file is not what was written there.
type DamagedError struct {
	Path string
	Why  string // one clause
}

// Error says what a damaged file means to the person who can mend it.
func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.Why) }

// VersionError says that another version of the program wrote a file: it is whole, and this program cannot read it.
type VersionError struct {
	Path string
	By   string // the version that wrote it, empty where that is not known
	Why  string // one clause: what the file is, and what this program reads
}

// Error says what the file is, and which program reads it.
func (e *VersionError) Error() string {
	by := "another version of hanse"
	if e.By != "" {
		by = "version " + e.By
	}
	return fmt.Sprintf("%s was made by %s: that program reads it (%s)", e.Path, by, e.Why)
}

// isOther reports whether the first line of a file is that of another version of a format than the one whose files
// begin with magic.
func isOther(line []byte, magic string) bool {
	kind := magic[:strings.LastIndexByte(magic, 'v')+1]
	number, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte(kind))
	return ok && 0 < len(number) && len(number) <= 4 && len(bytes.Trim(number, "0123456789")) == 0 &&
		string(line) != magic
}

// format says what a file of another version is, and what this program reads.
func format(line []byte, magic string) string {
	return fmt.Sprintf("it is in format %q, this program reads %q", bytes.TrimSpace(line), strings.TrimSpace(magic))
}

// WriteError says that a state or record could not be written. What was there before is intact.
type WriteError struct {
	Err  error
	What string // what else could not be written; "": a state or record
}

// Error says what a failed write means to the person who can mend it.
func (e *WriteError) Error() string {
	if e.What != "" {
		return fmt.Sprintf("%s could not be written: %v; free some space, or mend the disk, and the job goes on", e.What,
			e.Err)
	}
	return fmt.Sprintf("checkpoint not written, the last one is intact: %v; free some space and the job goes on from "+
		"there", e.Err)
}

// Unwrap returns the system's error.
func (e *WriteError) Unwrap() error { return e.Err }

// writeError wraps an error as a WriteError.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{Err: err}
}
