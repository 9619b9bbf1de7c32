package secagg

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// maskBlock is how many bytes of key stream are made at a time: the key stream, the zeros it is made
// of and the vector it is added to stay in the first-level cache.
const maskBlock = 8 << 10

// masker owns a session's pairwise masks. The mask of a sum between two parties is the AES-256-CTR
// key stream under a key derived from their pair secret, the ring and the sum's number; the party
// with the lower id adds it, the other subtracts it (Bonawitz et al. 2017, section 4.1, without
// self-masks). The number is that of the session's operation, so that two sums of one session
// never have the same. The key is also derived from all that was broadcast in the session: of parties that were told
// different things the masks do not cancel, and the total is noise.
type masker struct {
	pairs []maskPair
	next  uint64 // the smallest number whose masks were not drawn yet
}

// maskPair is what a pair secret gives, and the sign of its masks at this party.
type maskPair struct {
	derive   func(label string, n int) ([]byte, error)
	subtract bool
}

// newMasker collects the pairs of a session for this party: everybody else, the root included.
func newMasker(self int, parties []keys.ID, pair func(i int) *protocol.PairSecret) *masker {
	m := &masker{next: 1}
	for i, id := range parties {
		if i != self {
			m.pairs = append(m.pairs, maskPair{derive: pair(i).Derive, subtract: parties[self].Compare(id) > 0})
		}
	}
	return m
}

// draw returns the masks of one sum; told is the digest of all that was broadcast before it. Asking twice for the same
// sum, or for an older one, is an error: a mask used on two vectors would show their difference.
func (m *masker) draw(sum uint64, told keys.Hash, ring Ring) (*Masks, error) {
	if sum < m.next {
		return nil, fmt.Errorf("masks of sum %d were drawn before: a mask is used once", sum)
	}
	m.next = sum + 1
	s, label := NewMasks(ring), fmt.Sprintf("mask|%s|%d|%x", ring, sum, told[:])
	for _, p := range m.pairs {
		key, err := p.derive(label, MaskKeySize)
		if err == nil {
			err = s.Include(key, p.subtract)
		}
		if err != nil {
			return nil, fmt.Errorf("mask of sum %d: %w", sum, err)
		}
	}
	return s, nil
}

// MaskKeySize is the length of a mask's key, in bytes.
const MaskKeySize = 32

// Masks yields the masks of one vector in order, each byte once: AES-256-CTR key streams, added or
// subtracted word by word.
type Masks struct {
	ring     Ring
	streams  []cipher.Stream
	subtract []bool
	zero     [maskBlock]byte
	key      [maskBlock]byte
}

// NewMasks starts without any mask.
func NewMasks(ring Ring) *Masks { return &Masks{ring: ring} }

// Include adds, or subtracts, the key stream under a key that no other vector is masked with.
func (s *Masks) Include(key []byte, subtract bool) error {
	if len(key) != MaskKeySize {
		return fmt.Errorf("mask key of %d bytes, want %d", len(key), MaskKeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	s.streams = append(s.streams, cipher.NewCTR(block, make([]byte, aes.BlockSize)))
	s.subtract = append(s.subtract, subtract)
	return nil
}

// Apply adds the next masks to vector. Of a vector in parts each but the last is whole words, and in a packed ring
// whole groups of eight.
func (s *Masks) Apply(vector []byte) {
	for len(vector) > 0 {
		n := min(contract.Encoding(s.ring).Chunk(maskBlock), len(vector))
		for i, stream := range s.streams {
			stream.XORKeyStream(s.key[:n], s.zero[:n])
			if s.subtract[i] {
				s.ring.Sub(vector[:n], s.key[:n])
			} else {
				s.ring.Add(vector[:n], s.key[:n])
			}
		}
		vector = vector[n:]
	}
}
