package protocol

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/keys"
)

// domainSessionKey separates the signature on an ephemeral key from every other signature.
const domainSessionKey = "hanse session key v1"

// PairSecret is what one session's two parties share and nobody else knows. It is fresh for
// every session: it comes from ephemeral X25519 keys that never touch a disk.
type PairSecret struct {
	_      [0]func() // not comparable
	secret []byte
}

// Derive expands n bytes for one use. Different labels give independent bytes. A caller that
// needs one-time bytes makes the label one-time.
func (p *PairSecret) Derive(label string, n int) ([]byte, error) {
	return hkdf.Expand(sha256.New, p.secret, label, n)
}

// Pair returns the secret shared with party i, nil for the party itself.
func (s *Session) Pair(i int) *PairSecret { return s.pairs[i] }

// agree exchanges signed ephemeral keys with every party and derives the pair secrets.
func (s *Session) agree(ctx context.Context) error {
	ephemeral, message, err := s.newKey()
	if err != nil {
		return err
	}
	all, err := s.Exchange(ctx, KindSessionKey, message, len(message))
	if err != nil {
		return err
	}
	for i, m := range all {
		if i == s.self {
			continue
		}
		if s.pairs[i], err = s.derivePair(i, ephemeral, m); err != nil {
			return s.fail(i, &header{kind: KindSessionKey, operation: s.operation}, err)
		}
	}
	return nil
}

// newKey draws this party's ephemeral key for the session, and signs its public half for the others.
func (s *Session) newKey() (ephemeral *ecdh.PrivateKey, message []byte, err error) {
	if ephemeral, err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
		return nil, nil, fmt.Errorf("session key: %w", err)
	}
	public := ephemeral.PublicKey().Bytes()
	return ephemeral, append(bytes.Clone(public), s.config.Key.Sign(domainSessionKey, s.signedKey(s.self, public))...), nil
}

// derivePair checks party i's message (public key, signature) and computes the shared secret:
// HKDF-SHA256(X25519, salt = contract and session number, info = "pair", lower id, higher id
// and their ephemeral keys, each length-prefixed).
func (s *Session) derivePair(i int, own *ecdh.PrivateKey, message []byte) (*PairSecret, error) {
	const size = 32
	if len(message) < size {
		return nil, deviation("session key of %d bytes", len(message))
	}
	public, sig := message[:size], message[size:]
	if !s.config.Parties[i].ID.Verify(domainSessionKey, s.signedKey(i, public), sig) {
		return nil, deviation("the signature on its session key is wrong")
	}
	theirs, err := ecdh.X25519().NewPublicKey(public)
	if err != nil {
		return nil, deviation("session key refused: %v", err)
	}
	shared, err := own.ECDH(theirs)
	if err != nil {
		return nil, deviation("session key refused: %v", err)
	}
	lower, higher := s.self, i
	lowerKey, higherKey := own.PublicKey().Bytes(), public
	if s.config.Parties[i].ID.Compare(s.config.Parties[s.self].ID) < 0 {
		lower, higher, lowerKey, higherKey = higher, lower, higherKey, lowerKey
	}
	salt := keys.HashOf("hanse pair salt v1", s.config.Contract[:], number(s.config.Number))
	info := keys.HashOf("hanse pair v1", s.config.Parties[lower].ID[:], s.config.Parties[higher].ID[:], lowerKey, higherKey)
	secret, err := hkdf.Key(sha256.New, shared, salt[:], string(info[:]), 32)
	if err != nil {
		return nil, fmt.Errorf("pair secret: %w", err)
	}
	return &PairSecret{secret: secret}, nil
}

// signedKey is what party i signs: its ephemeral key bound to the contract and the session.
func (s *Session) signedKey(i int, public []byte) []byte {
	h := keys.HashOf(domainSessionKey, s.config.Contract[:], number(s.config.Number), s.config.Parties[i].ID[:], public)
	return h[:]
}

// number encodes a session number for hashing.
func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
