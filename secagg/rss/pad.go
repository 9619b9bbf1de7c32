package rss

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/internal/raced"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/ring"
)

// Use says what a pad is for. Pads of one step with different uses are independent.
type Use uint8

// The uses of Truncate, Input and Reshare; callers take numbers from FirstFree on.
const (
	useRho Use = iota + 1
	useV
	useT
	useM
	useN
	useM0
	useInput
	useReshare

	FirstFree Use = 32
)

// Place says which step of a session's arithmetic a pad belongs to: its number, and what the step does, with its kind,
// order and counts. Parties that take a step for another have unrelated pads.
type Place struct {
	Number uint64
	About  string
}

// Source gives the pads that a party shares with one of the other two.
type Source interface {
	// Pad returns the pad of a step and use that everybody has but the party named. Asking twice is an
	// error: a pad is used once.
	Pad(unknown Role, at Place, use Use) (Pad, error)
}

// Pad is a stream of uniform words.
type Pad interface {
	// Words writes words [at, at+len(dst)) of the pad.
	Words(dst []uint64, at int)
}

// Narrow writes numbers [at, at+len(dst)) of 32 bits of a pad, of which each of its words has two, the lower one first.
// Whoever draws numbers of 32 bits from a pad draws all of them so.
func Narrow(p Pad, dst []uint64, at int) {
	if at%2 == 1 && len(dst) > 0 {
		p.Words(dst[:1], at/2)
		dst[0] >>= 32
		dst, at = dst[1:], at+1
	}
	if k, ok := p.(*keyStream); ok {
		k.numbers(dst, at)
		return
	}
	words := make([]uint64, (len(dst)+1)/2)
	p.Words(words, at/2)
	for i := range dst {
		dst[i] = words[i/2] >> (32 * (i % 2)) & (1<<32 - 1)
	}
}

// Pads is the Source of a session: AES-128-CTR under a key of two parties for each step. The key is derived from the
// step's Place and from all that was told to everybody before it, so that parties which disagree about any of it have
// unrelated pads: no party can lead two others to one pad for two messages. What a pad is for is in the upper half of
// its first counter. Neither Pads nor what it gives is safe for concurrent use.
type Pads struct {
	secrets [Roles]Derive
	given   [Roles]given
	told    func() keys.Hash
	space   [streamBlock]byte // of all pads, for the key stream under way
}

// given remembers the key of the latest step, and which of its pads were handed out.
type given struct {
	step  uint64
	block cipher.Block
	uses  [4]uint64
}

// Derive makes n bytes for one use of a secret of two parties; see protocol.PairSecret.Derive.
type Derive func(label string, n int) ([]byte, error)

// padKeySize is the length of a pad's key, in bytes.
const padKeySize = 16

// NewPads returns the pads of one session for a party of the given role; with has what derives keys from the secret
// shared with each of the other two, and told returns the digest of all that was told to everybody in the session so
// far.
func NewPads(r Role, with [Roles]Derive, told func() keys.Hash) *Pads {
	p := &Pads{told: told}
	for peer, secret := range with {
		if Role(peer) != r {
			p.secrets[third(r, Role(peer))] = secret
		}
	}
	return p
}

// KeyedPads returns the pads that follow from keys which a party outside the three has given, one for each component:
// nil where this party has no key.
func KeyedPads(with [Roles]Derive, told func() keys.Hash) *Pads {
	return &Pads{secrets: with, told: told}
}

// domainPads separates the labels of pads' keys from all other hashes.
const domainPads = "hanse share pads v1"

// Pad implements Source.
func (p *Pads) Pad(unknown Role, at Place, use Use) (Pad, error) {
	g, secret := &p.given[unknown], p.secrets[unknown]
	switch {
	case secret == nil:
		return nil, fmt.Errorf("step %d: this party is the %s and has no pad that the %s lacks", at.Number, unknown, unknown)
	case at.Number < g.step || at.Number == g.step && g.uses[use/64]>>(use%64)&1 == 1:
		return nil, fmt.Errorf("step %d: pad %d was drawn before, and a pad is used once", at.Number, use)
	case at.Number > g.step:
		told := p.told()
		label := keys.HashOf(domainPads, told[:], binary.BigEndian.AppendUint64(nil, at.Number), []byte(at.About))
		key, err := secret("share pads|"+label.String(), padKeySize)
		if err != nil {
			return nil, fmt.Errorf("pads that the %s lacks: %w", unknown, err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		*g = given{step: at.Number, block: block}
	}
	g.uses[use/64] |= 1 << (use % 64)
	return &keyStream{block: g.block, nonce: uint64(use), space: p.space[:]}, nil
}

// keyStream is a Pad: the counter's upper half is the nonce, its lower half counts blocks.
type keyStream struct {
	block cipher.Block
	nonce uint64
	space []byte
}

// streamBlock is how many bytes of key stream are made at a time.
const streamBlock = 8 << 10

// Words implements Pad.
func (k *keyStream) Words(dst []uint64, at int) {
	stream := k.from(at)
	for len(dst) > 0 {
		n := min(len(dst), streamBlock/8)
		ring.GetBytes(dst[:n], k.next(stream, 8*n))
		dst = dst[n:]
	}
}

// numbers is Narrow from a whole word on.
func (k *keyStream) numbers(dst []uint64, at int) {
	stream := k.from(at / 2)
	for len(dst) > 0 {
		n := min(len(dst), streamBlock/4)
		ring.GetShort(dst[:n], k.next(stream, 4*n))
		dst = dst[n:]
	}
}

// from returns the key stream from a word on.
func (k *keyStream) from(word int) cipher.Stream {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[:], k.nonce)
	binary.BigEndian.PutUint64(iv[8:], uint64(word/2))
	stream := cipher.NewCTR(k.block, iv[:])
	if word%2 == 1 {
		k.next(stream, 8)
	}
	return stream
}

// next returns the next bytes of a key stream, at most streamBlock; they stay until the next call.
func (k *keyStream) next(stream cipher.Stream, n int) []byte {
	key := k.space[:n]
	raced.Write(key)
	clear(key)
	stream.XORKeyStream(key, key)
	return key
}
