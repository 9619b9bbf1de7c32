// Package textfile reads and writes the small texts that members exchange and keep: cards,
// charters, invitations. Reading is bounded; what is written is on the disk as a whole or not at
// all. The errors name the file and the reason, and leave out the system call.
package textfile

import (
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
	text, err := read(path, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, bare(err))
	}
	return text, nil
}

// read is Read without the name.
func read(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, errors.New("it is a directory")
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
	return write(path, text, 0o644, func(temporary string) error {
		if err := os.Link(temporary, path); err != nil {
			return err
		}
		return os.Remove(temporary)
	})
}

// Replace writes a file, in one step in place of one that exists, whose permissions it keeps.
func Replace(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return write(path, text, mode, func(temporary string) error { return os.Rename(temporary, path) })
}

// write puts text into a temporary file beside path, which settle then gives its name. When it
// returns nil, the text and the name are on the disk.
func write(path string, text []byte, mode fs.FileMode, settle func(temporary string) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("%s: %w", path, bare(err))
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = settle(f.Name())
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		os.Remove(f.Name()) // the first error is the one to tell
		return fmt.Errorf("%s: %w", path, bare(err))
	}
	return nil
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
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		if errors.Is(e, fs.ErrExist) {
			return fs.ErrExist
		}
		return e.Err
	}
	return err
}
