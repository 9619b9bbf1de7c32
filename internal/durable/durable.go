// Package durable writes files that a crash leaves old or new, never half.
//
// A file is written under another name, synced, and renamed over the old one; then the folder is synced
// (Pillai et al., OSDI 2014: all four are needed). What a killed process leaves of that ends in Suffix, and
// Sweep removes it.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Suffix is how the names of files end that are not yet in their place.
const Suffix = ".tmp"

// WriteFile replaces a file, which only its owner may read, with parts one behind the other. When it returns without
// error the new bytes are on the disk; with an error the old ones are untouched.
func WriteFile(path string, parts ...[]byte) error {
	return Write(path, func(w io.Writer) error {
		for _, data := range parts {
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
		return nil
	})
}

// Write is WriteFile of what write writes, which need not be in memory at once.
func Write(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*"+Suffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes what was created, renamed or removed in a folder safe against a power cut. Windows
// cannot open a folder for that and needs no such step.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sweep removes from a folder what killed processes left half written: files and folders whose names end in
// Suffix. No other process may be writing there. It returns the names.
func Sweep(dir string) (swept []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), Suffix) {
			continue
		}
		if failed := os.RemoveAll(filepath.Join(dir, e.Name())); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		swept = append(swept, e.Name())
	}
	return swept, err
}
