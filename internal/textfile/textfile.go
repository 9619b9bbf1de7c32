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
	"runtime"
)

// Read returns the contents of a file of at most limit bytes.
func Read(path string, limit int) ([]byte, error) {
	return ReadChecked(path, limit, anyFile)
}

// anyFile is a check that all files pass.
func anyFile(fs.FileInfo) error { return nil }

// ReadChecked is Read for a file that must pass a check once it is open.
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
	} else if err := check(info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fmt.Errorf("more than %d bytes", limit)
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
		before, err := read(path, limit, anyFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return named(path, err)
		}
		after, err := change(before)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		err = replace(path, after, func() error {
			if now, err := read(path, limit, anyFile); err == nil && !bytes.Equal(now, before) {
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
		return syncDir(filepath.Dir(f.Name()))
	}
	os.Remove(f.Name()) // the first error is the one to tell
	return err
}

// named adds the name of the file to an error.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, bare(err))
}

// syncDir makes a new name in a folder durable. Windows cannot open a folder for that and needs
// no such step.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// bare drops the operation and the paths of an operating system error.
func bare(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
