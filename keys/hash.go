package keys

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// Hash is a SHA-256 digest that names a charter, a contract or a data set.
type Hash [sha256.Size]byte

// HashOf digests parts under a domain: every part, the domain included, is preceded by its
// length, so that no two different lists of parts give the same bytes.
func HashOf(domain string, parts ...[]byte) Hash {
	h := sha256.New()
	writePart(h.Write, []byte(domain))
	for _, p := range parts {
		writePart(h.Write, p)
	}
	return Hash(h.Sum(nil))
}

// String returns the digest in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first eight hexadecimal digits, for display only.
func (h Hash) Short() string { return h.String()[:8] }

// IsZero reports whether h is the zero value, which names nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("malformed hash %q: want %d hexadecimal digits", wording.ClipAt(string(text), 24), 2*len(h))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return fmt.Errorf("malformed hash %q: %v", wording.ClipAt(string(text), 24), err)
	}
	return nil
}

// writePart writes the length of p as 8 bytes, big endian, and then p.
func writePart(write func([]byte) (int, error), p []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(p)))
	write(n[:])
	write(p)
}
