// Package textfile reads and writes the small texts that members exchange and keep: cards,
// charters, invitations. Reading is bounded; what is written is on the disk as a whole or not at
// all. The errors name the file and the reason, and leave out the system call.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hanse-project/hanse/internal/durable"
)

// Read returns the contents of a file of at most limit bytes.
func Read(path string, limit int) ([]byte, error) {
	return ReadChecked(path, limit, nil)
}

// ReadChecked is Read for a file that must pass a check, unless that is nil, once it is open.
func ReadChecked(path string, limit int, check func(fs.FileInfo) error) ([]byte, error) {
	text, err := read(path, limit, check)
	return text, named(path, err)
}

// read is ReadChecked without the name.
func read(path string, limit int, check func(fs.FileInfo) error) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, errors.New("it is a directory")
	} else if check != nil {
		if err := check(info); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fmt.Errorf("it has more than %d bytes, which no such file has", limit)
	}
	return text, nil
}

// Create writes a file that does not exist yet; one that does is left alone, with an error that
// wraps fs.ErrExist.
func Create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		err = fill(f, text, nil)
	}
	return named(path, err)
}

// Replace writes a file, in one step in place of one that exists, whose permissions it keeps.
func Replace(path string, text []byte) error {
	return named(path, replace(path, text, nil))
}

// Update replaces a file that several programs change by what change makes of its text, nil when it
// does not exist. A text that another program puts there meanwhile is not written over: change is
// called again with it. Only the moment between the last look and the renaming is left to chance.
func Update(path string, limit int, change func(text []byte) ([]byte, error)) error {
	for {
		before, err := read(path, limit, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return named(path, err)
		}
		after, err := change(before)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		err = replace(path, after, func() error {
			if now, err := read(path, limit, nil); err == nil && !bytes.Equal(now, before) {
				return errOvertaken
			}
			return nil
		})
		if err != errOvertaken {
			return named(path, err)
		}
	}
}

// errOvertaken says that a file has changed while its replacement was written.
var errOvertaken = errors.New("changed meanwhile")

// replace writes a file beside path and renames it, unless check, right before that, has an
// objection.
func replace(path string, text []byte, check func() error) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	return fill(f, text, func() error {
		if err := os.Chmod(f.Name(), mode); err != nil {
			return err
		}
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		return os.Rename(f.Name(), path)
	})
}

// fill writes text to a new file, closes it, and then settles its name. When it returns nil, text
// and name are on the disk; otherwise the file is removed.
func fill(f *os.File, text []byte, settle func() error) error {
	_, err := f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && settle != nil {
		err = settle()
	}
	if err == nil {
		return durable.SyncDir(filepath.Dir(f.Name()))
	}
	os.Remove(f.Name()) // the first error is the one to tell
	return err
}

// MakeFolder makes a folder that its owner alone may open, and those above it. One that is there stays as it is.
func MakeFolder(path string) error {
	err := os.MkdirAll(path, 0o700)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		if e.Path != path {
			return fmt.Errorf("the folder %q cannot be made: %s: %w", path, e.Path, e.Err)
		}
		return fmt.Errorf("the folder %q cannot be made: %w", path, e.Err)
	}
	return err
}

// named adds the name of the file to an error, and drops the operation and the paths that the
// operating system names.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		err = fs.ErrExist
	} else if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
