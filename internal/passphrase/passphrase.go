// Package passphrase is where the passphrase of a key file comes from: a file, the environment, or a person.
package passphrase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// Variable is the environment variable that holds the passphrase where nobody can type it.
const Variable = "HANSE_PASSPHRASE"

// maxFile is the longest file of a passphrase, in bytes.
const maxFile = 4 << 10

// Source is where to look, in this order: the file, the environment, the person.
type Source struct {
	File        string // its first line; empty: none
	Environment *Environment
	Person      terminal.Person
}

// Environment is this process's. Once it is asked for the passphrase the variable is unset, so that no program that is
// started later has it; the process goes on to know it. A process has one. Its methods may be called concurrently.
type Environment struct {
	mu    sync.Mutex
	asked bool
	value []byte
}

// passphrase returns a copy of what the variable held, nil where it was empty or not there.
func (e *Environment) passphrase() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.asked {
		if p := os.Getenv(Variable); p != "" {
			e.value = []byte(p)
		}
		if err := os.Unsetenv(Variable); err != nil {
			return nil, err
		}
		e.asked = true
	}
	return slices.Clone(e.value), nil
}

// Old returns the passphrase of a key file from where it is given, or asks for it.
func (s Source) Old(ctx context.Context, path string) ([]byte, error) {
	if p, err := s.given(); p != nil || err != nil {
		return p, err
	}
	p, err := s.Person.Secret(ctx, fmt.Sprintf("passphrase of %s: ", path))
	if errors.Is(err, terminal.ErrNobody) {
		return nil, missing(err)
	}
	return p, err
}

// New returns the passphrase for a new key file; a person types it twice.
func (s Source) New(ctx context.Context, path string) ([]byte, error) {
	if p, err := s.given(); p != nil || err != nil {
		return p, err
	}
	first, err := s.Person.Secret(ctx, fmt.Sprintf("new passphrase for %s: ", path))
	if errors.Is(err, terminal.ErrNobody) {
		return nil, fmt.Errorf("%w, or --no-passphrase for a key file without one", missing(err))
	}
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, errors.New("the passphrase is empty: give --no-passphrase for a key file without one")
	}
	second, err := s.Person.Secret(ctx, "the same again: ")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, errors.New("the two passphrases differ: nothing was written, try again")
	}
	return first, nil
}

// missing says where a passphrase can come from.
func missing(err error) error {
	return fmt.Errorf("%w: set $%s or give --passphrase-file FILE", err, Variable)
}

// given returns the passphrase that a file or the environment holds, nil if neither does.
func (s Source) given() ([]byte, error) {
	p, err := s.Environment.passphrase() // the variable goes, wherever the passphrase comes from
	if s.File == "" || err != nil {
		return p, err
	}
	clear(p)
	text, err := textfile.ReadChecked(s.File, maxFile, func(info fs.FileInfo) error {
		return keys.CheckSecret(s.File, info)
	})
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return nil, fmt.Errorf("%s: its first line is empty, want the passphrase", s.File)
	}
	return line, nil
}
