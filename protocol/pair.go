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
	"github.com/hanse-project/hanse/protocol/contract"
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
	ephemeral, message, err := s.newKey(0)
	if err != nil {
		return err
	}
	all, err := s.Exchange(ctx, contract.KindSessionKey, message, len(message))
	if err != nil {
		return err
	}
	for i, m := range all {
		if i == s.self {
			continue
		}
		if s.pairs[i], err = s.derivePair(i, 0, ephemeral, m); err != nil {
			return s.fail(i, &header{kind: contract.KindSessionKey, operation: s.operation}, err)
		}
	}
	return nil
}

// newKey draws this party's ephemeral key for the session, or for a group in it, and signs its public half for the
// others.
func (w *wire) newKey(group uint16) (ephemeral *ecdh.PrivateKey, message []byte, err error) {
	if ephemeral, err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
		return nil, nil, fmt.Errorf("session key: %w", err)
	}
	public := ephemeral.PublicKey().Bytes()
	return ephemeral, append(bytes.Clone(public),
		w.config.Key.Sign(domainSessionKey, w.signedKey(w.self, group, public))...), nil
}

// derivePair checks party i's message (public key, signature) and computes the shared secret:
// HKDF-SHA256(X25519, salt = contract and session number, info = "pair", lower id, higher id
// and their ephemeral keys, each length-prefixed); in a group its number is in the salt, too.
func (w *wire) derivePair(i int, group uint16, own *ecdh.PrivateKey, message []byte) (*PairSecret, error) {
	const size = 32
	if len(message) < size {
		return nil, deviation("session key of %d bytes", len(message))
	}
	public, sig := message[:size], message[size:]
	if !w.config.Parties[i].ID.Verify(domainSessionKey, w.signedKey(i, group, public), sig) {
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
	lower, higher := w.self, i
	lowerKey, higherKey := own.PublicKey().Bytes(), public
	if w.config.Parties[i].ID.Compare(w.config.Parties[w.self].ID) < 0 {
		lower, higher, lowerKey, higherKey = higher, lower, higherKey, lowerKey
	}
	salt := w.bound(group, "hanse pair salt v1")
	info := keys.HashOf("hanse pair v1", w.config.Parties[lower].ID[:],
		w.config.Parties[higher].ID[:], lowerKey, higherKey)
	secret, err := hkdf.Key(sha256.New, shared, salt[:], string(info[:]), 32)
	if err != nil {
		return nil, fmt.Errorf("pair secret: %w", err)
	}
	return &PairSecret{secret: secret}, nil
}

// signedKey is what party i signs: its ephemeral key bound to the contract, the session and the group.
func (w *wire) signedKey(i int, group uint16, public []byte) []byte {
	h := w.bound(group, domainSessionKey, w.config.Parties[i].ID[:], public)
	return h[:]
}

// bound is the digest of parts for one use in the contract, the session and a group in it, if there is one.
func (w *wire) bound(group uint16, domain string, parts ...[]byte) keys.Hash {
	all := [][]byte{w.config.Contract[:], number(w.config.Number)}
	if group != 0 {
		domain += " in a group"
		all = append(all, binary.BigEndian.AppendUint16(nil, group))
	}
	return keys.HashOf(domain, append(all, parts...)...)
}

// number encodes a session number for hashing.
func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
