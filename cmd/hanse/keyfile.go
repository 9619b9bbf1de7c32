package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

const (
	// passphraseEnv is the variable that holds the passphrase where nobody can type it.
	passphraseEnv = "HANSE_PASSPHRASE"
	// maxPassphrase is the longest file of a passphrase, in bytes.
	maxPassphrase = 4 << 10
)

// keyFlag names the member's key file.
func keyFlag() cli.Flag {
	return &cli.StringFlag{Name: "key", Usage: "this member's key `FILE`"}
}

// passphraseFileFlag lets a program give the passphrase of a key file.
func passphraseFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "passphrase-file", Usage: "`FILE` whose first line is the key's passphrase (default: $" + passphraseEnv + ", or ask)"}
}

// loadKey reads a member's key file.
func loadKey(c *cli.Context, path string) (*keys.KeyFile, error) {
	if path == "" {
		return nil, usagef("give the key file with --key FILE; hanse keys new makes one")
	}
	return keys.LoadKeyFile(path, func() ([]byte, error) { return passphrase(c, path) })
}

// passphrase returns the passphrase of a key file from where it is given, or asks for it.
func passphrase(c *cli.Context, path string) ([]byte, error) {
	if p, err := givenPassphrase(c); p != nil || err != nil {
		return p, err
	}
	p, err := askSecret(c, fmt.Sprintf("passphrase of %s: ", path))
	if errors.Is(err, errNobody) {
		return nil, passphraseMissing(err)
	}
	return p, err
}

// newPassphrase returns the passphrase for a new key file; a person types it twice.
func newPassphrase(c *cli.Context, path string) ([]byte, error) {
	if p, err := givenPassphrase(c); p != nil || err != nil {
		return p, err
	}
	first, err := askSecret(c, fmt.Sprintf("new passphrase for %s: ", path))
	if errors.Is(err, errNobody) {
		return nil, passphraseMissing(err)
	}
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, errors.New("the passphrase is empty: leave out --passphrase for a key file without one")
	}
	second, err := askSecret(c, "the same again: ")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, errors.New("the two passphrases differ: nothing was written, try again")
	}
	return first, nil
}

// passphraseMissing says where a passphrase can come from.
func passphraseMissing(err error) error {
	return fmt.Errorf("%w: set $%s or give --passphrase-file FILE", err, passphraseEnv)
}

// givenPassphrase returns the passphrase that a file or the environment holds, nil if neither does.
func givenPassphrase(c *cli.Context) ([]byte, error) {
	path := c.String("passphrase-file")
	if path == "" {
		if p := os.Getenv(passphraseEnv); p != "" {
			return []byte(p), nil
		}
		return nil, nil
	}
	text, err := textfile.ReadChecked(path, maxPassphrase, func(info fs.FileInfo) error {
		return keys.CheckSecret(path, info)
	})
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return nil, fmt.Errorf("%s: its first line is empty, want the passphrase", path)
	}
	return line, nil
}
