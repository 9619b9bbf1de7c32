package rss

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

// Use says what a pad is for. Pads of one step with different uses are independent.
type Use uint8

// The uses of Truncate and Input; callers take numbers from FirstFree on.
const (
	useRho Use = iota + 1
	useV
	useT
	useM
	useN
	useM0
	useInput

	FirstFree Use = 32
)

// Source gives the pads that a party shares with one of the other two.
type Source interface {
	// Pad returns the pad of a step and use that everybody has but the party named. Asking twice is an
	// error: a pad is used once.
	Pad(unknown Role, step uint64, use Use) (Pad, error)
}

// Pad is a stream of uniform words.
type Pad interface {
	// Words writes words [at, at+len(dst)) of the pad.
	Words(dst []uint64, at int)
}

// Pads is the Source of a session: AES-128-CTR under keys of pairs of parties. What a pad is for is in
// the upper half of its first counter, so that two pads never meet.
type Pads struct {
	blocks [Roles]cipher.Block
	given  [Roles]given
}

// given remembers which pads of the latest step were handed out.
type given struct {
	step uint64
	uses [4]uint64
}

// Deriver derives keys from a secret of two parties; see protocol.PairSecret.
type Deriver interface {
	Derive(label string, n int) ([]byte, error)
}

// padKeySize is the length of a pad's key, in bytes.
const padKeySize = 16

// NewPads returns the pads of one session for a party of the given role; with has the secret
// shared with each of the other two.
func NewPads(r Role, with [Roles]Deriver) (*Pads, error) {
	p := new(Pads)
	for peer, secret := range with {
		if Role(peer) == r {
			continue
		}
		key, err := secret.Derive("sealed pads", padKeySize)
		if err != nil {
			return nil, fmt.Errorf("pads with the %s: %w", Role(peer), err)
		}
		if p.blocks[third(r, Role(peer))], err = aes.NewCipher(key); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxStep bounds the steps of a session: the upper half of a counter block holds a step and a use.
const maxStep = 1 << 56

// Pad implements Source.
func (p *Pads) Pad(unknown Role, step uint64, use Use) (Pad, error) {
	g := &p.given[unknown]
	switch {
	case p.blocks[unknown] == nil:
		return nil, fmt.Errorf("step %d: this party is the %s and has no pad that the %s lacks", step, unknown, unknown)
	case step >= maxStep:
		return nil, fmt.Errorf("step %d: a session has at most %d", step, uint64(maxStep))
	case step < g.step || step == g.step && g.uses[use/64]>>(use%64)&1 == 1:
		return nil, fmt.Errorf("step %d: pad %d was drawn before, and a pad is used once", step, use)
	case step > g.step:
		*g = given{step: step}
	}
	g.uses[use/64] |= 1 << (use % 64)
	return &keyStream{block: p.blocks[unknown], nonce: step<<8 | uint64(use)}, nil
}

// keyStream is a Pad: the counter's upper half is the nonce, its lower half counts blocks.
type keyStream struct {
	block cipher.Block
	nonce uint64
}

// streamBlock is how many bytes of key stream are made at a time.
const streamBlock = 8 << 10

// Words implements Pad.
func (k *keyStream) Words(dst []uint64, at int) {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[:], k.nonce)
	binary.BigEndian.PutUint64(iv[8:], uint64(at/2))
	stream := cipher.NewCTR(k.block, iv[:])
	var zero, key [streamBlock]byte
	if at%2 == 1 {
		stream.XORKeyStream(key[:8], zero[:8])
	}
	for len(dst) > 0 {
		n := min(len(dst), streamBlock/8)
		stream.XORKeyStream(key[:8*n], zero[:8*n])
		for i := range dst[:n] {
			dst[i] = binary.LittleEndian.Uint64(key[8*i:])
		}
		dst = dst[n:]
	}
}
