package vault

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hanse-project/hanse/keys"
)

// magic begins every envelope; its number is the format's version.
//
// Evolution: a change to anything below takes the next number. A program refuses numbers that it does not
// know by name.
const magic = "hanse-envelope-v1\n"

// The sizes of an envelope's parts, in bytes.
const (
	lengthSize = 8
	headSize   = len(magic) + len(keys.Hash{}) + 1 // and the name, the length, the checksum
	// MaxState is the largest state that is read back.
	MaxState = 4 << 30
)

// Envelope puts data in an envelope:
//
//	magic | owner (32) | length of name (1) | name | length of data (8, big endian) | SHA-256 (32) | data
//
// The checksum is over domain, owner, name and data, each behind its length.
func Envelope(owner keys.Hash, name string, data []byte) []byte {
	return append(head(owner, name, data), data...)
}

// head is what stands before the data.
func head(owner keys.Hash, name string, data []byte) []byte {
	b := make([]byte, 0, headSize+len(name)+lengthSize+len(keys.Hash{}))
	b = append(b, magic...)
	b = append(b, owner[:]...)
	b = append(b, byte(len(name)))
	b = append(b, name...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(data)))
	sum := checksum(owner, name, data)
	return append(b, sum[:]...)
}

// checksum is what an envelope's checksum must be.
func checksum(owner keys.Hash, name string, data []byte) keys.Hash {
	return keys.HashOf("hanse envelope v1", owner[:], []byte(name), data)
}

// open checks an envelope and returns its data, which shares memory with it. name says what should be in it. why says
// what is wrong, and other that nothing is: another version of the program wrote it. An envelope that is whole but for
// its number is damaged, so that one flipped bit makes no version.
func open(owner keys.Hash, name string, b []byte) (data []byte, why string, other bool) {
	if len(b) == 0 {
		return nil, "it is empty", false
	}
	end := bytes.IndexByte(b, '\n') + 1
	first := b[:end]
	data, why = inside(owner, name, b[end:])
	switch other = isOther(first, magic); {
	case other && why != "":
		return nil, format(first, magic), true
	case string(first) != magic:
		return nil, "it does not begin as what this program writes", false
	}
	return data, why, false
}

// inside checks what follows an envelope's first line.
func inside(owner keys.Hash, name string, rest []byte) (data []byte, why string) {
	if len(rest) < len(owner)+1 || len(rest) < len(owner)+1+int(rest[len(owner)])+lengthSize+len(keys.Hash{}) {
		return nil, fmt.Sprintf("it is cut short after %d bytes", len(magic)+len(rest))
	}
	was := keys.Hash(rest[:len(owner)])
	kind := string(rest[len(owner)+1:][:rest[len(owner)]])
	rest = rest[len(owner)+1+len(kind):]
	length, sum, data := binary.BigEndian.Uint64(rest), keys.Hash(rest[lengthSize:][:len(keys.Hash{})]),
		rest[lengthSize+len(keys.Hash{}):]
	want := checksum(was, kind, data)
	switch {
	case length != uint64(len(data)):
		return nil, fmt.Sprintf("it has %d bytes of state, its head says %d", len(data), length)
	case subtle.ConstantTimeCompare(sum[:], want[:]) != 1:
		return nil, "its bytes are not those that its SHA-256 was made of"
	case kind != name:
		return nil, fmt.Sprintf("it is a %q, want a %q", kind, name)
	case was != owner:
		return nil, fmt.Sprintf("it belongs to contract %s, want %s", was.Short(), owner.Short())
	}
	return data, ""
}

// ReadFile returns the state in the envelope at path, whose owner and name, the file's, must be right. A damaged one is
// a *DamagedError, and one of another version of the program a *VersionError.
func ReadFile(path string, owner keys.Hash) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would wait for somebody to write
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &DamagedError{path, "it is no file"}
	}
	if info.Size() > MaxState {
		return nil, &DamagedError{path, fmt.Sprintf("it has more than %d bytes", MaxState)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, info.Size())
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { // a file that shrank is damaged
		return nil, err
	}
	b = b[:n]
	data, why, other := open(owner, filepath.Base(path), b)
	switch {
	case other:
		return nil, &VersionError{Path: path, Why: why}
	case why != "":
		return nil, &DamagedError{path, why}
	}
	return data, nil
}

// begins reports whether a file begins with a text.
func begins(path, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(text))
	_, err = io.ReadFull(f, b)
	return err == nil && string(b) == text
}
