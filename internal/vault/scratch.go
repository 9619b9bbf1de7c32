package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/hanse-project/hanse/internal/durable"
)

// Scratch is a file for blocks that the memory has no room for. They are written once, one after the other, and read
// back in any order, until Close removes the file: it ends with the work that it is for, and is in no index.
//
// A block is encrypted, by AES-256 in GCM with its number in the nonce, under a key that is drawn for the file and
// never leaves the memory. So a copy of the file, also one that a crash leaves behind, tells how long it is and nothing
// else; and a block that was changed, or moved to another's place, is found out. The file's name ends in
// durable.Suffix, so that durable.Sweep removes what a killed process has left.
//
// A Scratch is not safe for concurrent use.
type Scratch struct {
	vault  *Vault
	path   string
	file   scratchFile
	aead   cipher.AEAD
	salt   [saltSize]byte
	ends   []int64 // of the blocks that are written
	space  []byte
	failed error // of the Append after which there are no more: a nonce is used once
}

// scratchFile is an *os.File, but for tests.
type scratchFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Scratch makes a file of about so many bytes, once there is room for all of them. One of the same name that a session
// before has left is removed.
func (v *Vault) Scratch(name string, size int64) (*Scratch, error) {
	s := &Scratch{vault: v, path: v.Path(name) + durable.Suffix}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if v.options.Reserve != nil {
		if err := v.options.Reserve(size); err != nil {
			return nil, err
		}
	}
	var secret [keySize + saltSize]byte
	rand.Read(secret[:])
	s.salt = [saltSize]byte(secret[keySize:])
	block, err := aes.NewCipher(secret[:keySize])
	if err != nil {
		return nil, err
	}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	err = v.attempt(s.path, func() error {
		f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		s.file = f
		return f.Truncate(size) // it counts as what it will be from now on, whenever the folder is measured
	})
	if err != nil {
		err = scratchError(err)
		if s.file != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	return s, nil
}

// scratchError is what a failed write means.
func scratchError(err error) error {
	return &WriteError{Err: err, What: "a file that a running job needs"}
}

// A key, and what stands before a block's number in a nonce: what TLS does.
const (
	keySize  = 32
	saltSize = 4
)

// nonce is that of block i.
func (s *Scratch) nonce(i int) []byte { return binary.BigEndian.AppendUint64(s.salt[:], uint64(i)) }

// end is where the blocks before block i end.
func (s *Scratch) end(i int) int64 {
	if i == 0 {
		return 0
	}
	return s.ends[i-1]
}

// Append writes the next block. After one that failed, all fail.
func (s *Scratch) Append(block []byte) error {
	if s.failed != nil {
		return s.failed
	}
	i := len(s.ends)
	s.space = s.aead.Seal(s.space[:0], s.nonce(i), block, nil)
	err := s.vault.attempt(s.path, func() error {
		_, err := s.file.Write(s.space)
		return err
	})
	if err != nil {
		s.failed = scratchError(err)
		return s.failed
	}
	s.ends = append(s.ends, s.end(i)+int64(len(s.space)))
	return nil
}

// errAltered says that a file does not hold what was written there.
var errAltered = errors.New("it is not what was written there: the disk fails, or somebody has changed the file; the " +
	"job goes on with a new one")

// Read returns block i, from 0 on, which is valid until the next call.
func (s *Scratch) Read(i int) ([]byte, error) {
	n := int(s.ends[i] - s.end(i))
	s.space = slices.Grow(s.space[:0], n)[:n]
	if got, err := s.file.ReadAt(s.space, s.end(i)); got < n {
		if errors.Is(err, io.EOF) {
			err = s.readError(i, errAltered)
		}
		return nil, err
	}
	block, err := s.aead.Open(s.space[:0], s.nonce(i), s.space, nil)
	if err != nil {
		return nil, s.readError(i, errAltered)
	}
	return block, nil
}

// readError says which block is wrong.
func (s *Scratch) readError(i int, err error) error {
	return &fs.PathError{Op: fmt.Sprintf("read block %d of", i+1), Path: s.path, Err: err}
}

// Close removes the file.
func (s *Scratch) Close() error {
	err := errors.Join(s.file.Close(), os.Remove(s.path))
	if errors.Is(err, fs.ErrNotExist) { // its folder was removed
		return nil
	}
	return err
}
