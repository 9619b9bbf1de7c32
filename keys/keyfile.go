package keys

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
)

// maxKeyFile is the largest key file, in bytes.
const maxKeyFile = 16 << 10

// KeyFile is what LoadKeyFile found.
type KeyFile struct {
	Key  *PrivateKey
	Name string // the name in the file's comments, or ""
}

// PassphraseFunc asks for the passphrase of a key file. It is called only if there is one.
type PassphraseFunc func() ([]byte, error)

// CreateKeyFile writes k into a new file at path that only its owner can read, and returns when
// it is safely on the disk. A file that exists is never overwritten. With a passphrase that is
// not empty the key is encrypted; see the format in keyText.
func CreateKeyFile(path, name string, k *PrivateKey, passphrase []byte) error {
	return createKeyFile(path, name, k, passphrase, scryptWork)
}

// createKeyFile is CreateKeyFile with the logarithm of scrypt's work factor.
func createKeyFile(path, name string, k *PrivateKey, passphrase []byte, work int) error {
	if err := CheckName(name); err != nil {
		return fmt.Errorf("key file %q: %w", path, err)
	}
	t := keyText{Created: stamp(time.Now()), Name: name, ID: k.ID().String(), Secret: []byte(k.secretText() + "\n")}
	if len(passphrase) > 0 {
		sealed, err := encrypt(t.Secret, passphrase, work)
		if err != nil {
			return fmt.Errorf("key file %q: %w", path, err)
		}
		clear(t.Secret)
		t.Secret = sealed
	}
	text := t.render()
	defer clear(text)
	defer clear(t.Secret)
	err := writeNew(path, text)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("key file %q: %w, and a key file is never overwritten: choose another name or move it away", path,
			fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("key file %q: %w", path, bare(err))
	}
	return nil
}

// writeNew writes a file that did not exist. When it returns nil, the file and its name are on
// the disk; otherwise there is no file, unless removing a half-written one failed too.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = cmp.Or(err, f.Sync(), f.Close())
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(path) // the first error is the one to tell
	}
	return err
}

// LoadKeyFile reads a key file. ask may be nil for files without a passphrase. A passphrase that
// does not fit gives an error that wraps ErrPassphrase. No error quotes the secret.
func LoadKeyFile(path string, ask PassphraseFunc) (*KeyFile, error) {
	text, err := readKeyFile(path)
	if err != nil {
		return nil, fmt.Errorf("key file %q: %w", path, err)
	}
	defer clear(text)
	t, err := parseKeyText(text)
	if err != nil {
		return nil, fmt.Errorf("key file %q: %w", path, err)
	}
	defer clear(t.Secret)
	key, err := t.open(ask)
	if err != nil {
		return nil, fmt.Errorf("key file %q: %w", path, err)
	}
	return &KeyFile{Key: key, Name: t.Name}, nil
}

// readKeyFile returns the text, which is not longer than maxKeyFile, of a file that others cannot open.
func readKeyFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	open := CheckSecret(path, info)
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, bare(err)
	}
	for _, other := range []string{"card", "charter"} {
		if bytes.Contains(text, []byte("\nformat = \"hanse-"+other+"-v")) {
			return nil, fmt.Errorf("this is a %s, which is public: give the key file, which \"hanse keys new\" made", other)
		}
	}
	if open != nil {
		if _, err := parseKeyText(text); err != nil {
			open = err // no key that somebody could have read
		}
		clear(text)
		return nil, open
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("more than %d bytes: this is no key file", maxKeyFile)
	}
	return text, nil
}

// CheckSecret refuses a file of a secret that others on this machine can open. info must be that of the open file.
// Pipes pass, and everything on Windows, which keeps no such bits.
func CheckSecret(path string, info fs.FileInfo) error {
	if runtime.GOOS == "windows" || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return fmt.Errorf("it is open to other users of this machine (mode %04o), so it is not used: run \"chmod 600 %s\"",
		info.Mode().Perm(), path)
}

// bare drops the operation and the path of an operating system error: the caller names the file.
func bare(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
