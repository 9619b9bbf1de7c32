package he

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
)

// secretStream is secret randomness: the key stream of AES-256-CTR under a key of its own, drawn from the
// system. It is a type apart from public randomness, such as a key's seed, so that neither stands in for
// the other.
type secretStream struct {
	stream cipher.Stream
	unread []byte
	block  [8 << 10]byte
	zero   [8 << 10]byte
}

// newSecretStream draws a key.
func newSecretStream() (*secretStream, error) {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	defer clear(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return &secretStream{stream: cipher.NewCTR(block, make([]byte, aes.BlockSize))}, nil
}

// bits returns a uniform number of n bits, 0 to 64.
func (s *secretStream) bits(n int) uint64 {
	if len(s.unread) == 0 {
		s.stream.XORKeyStream(s.block[:], s.zero[:])
		s.unread = s.block[:]
	}
	w := binary.LittleEndian.Uint64(s.unread)
	clear(s.unread[:8]) // a number is drawn once, and not kept
	s.unread = s.unread[8:]
	return w >> (64 - n)
}

// Read fills p, as Lattigo's samplers want it. It never fails.
func (s *secretStream) Read(p []byte) (int, error) {
	clear(p)
	s.stream.XORKeyStream(p, p)
	return len(p), nil
}
