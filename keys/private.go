package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
)

// PrivateKey is a member's secret identity. It has no exported fields, prints as its ID only
// and is not comparable, so that it does not end up in a log or a map by accident.
type PrivateKey struct {
	_   [0]func()
	key ed25519.PrivateKey
}

// GenerateKey makes a new identity from the operating system's randomness.
func GenerateKey() (*PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate identity: %w", err)
	}
	return &PrivateKey{key: key}, nil
}

// ID returns the public identity.
func (k *PrivateKey) ID() ID { return ID(k.key.Public().(ed25519.PublicKey)) }

// String returns the public identity: a secret is never printed.
func (k *PrivateKey) String() string { return "private key of " + k.ID().Short() }

// Ed25519 returns the key for the transport's TLS handshake. The caller must not keep or log it.
func (k *PrivateKey) Ed25519() ed25519.PrivateKey { return bytes.Clone(k.key) }

// Secret is what only this key gives: the same for the same domain and data.
func (k *PrivateKey) Secret(domain string, data []byte) Hash {
	return HashOf(domain, k.Sign(domain, data))
}

// Derive makes another key that follows from this one alone (HKDF-SHA256 of its seed): the same for the same domain and
// data. Whoever has it learns nothing of this key, nor of another that is derived.
func (k *PrivateKey) Derive(domain string, data []byte) (*PrivateKey, error) {
	info := signedBytes(domain, data)
	seed, err := hkdf.Key(sha256.New, k.key.Seed(), nil, string(info), ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	defer clear(seed)
	return &PrivateKey{key: ed25519.NewKeyFromSeed(seed)}, nil
}

// Sign signs message under domain. Two domains never sign the same bytes: both are length-prefixed.
func (k *PrivateKey) Sign(domain string, message []byte) []byte {
	return ed25519.Sign(k.key, signedBytes(domain, message))
}

// signedBytes is the unambiguous encoding that Sign signs.
func signedBytes(domain string, message []byte) []byte {
	var b bytes.Buffer
	writePart(b.Write, []byte(domain))
	writePart(b.Write, message)
	return b.Bytes()
}

// secretPrefix starts the text form of every secret key; it never changes. Secrets are in upper
// case and public ids in lower case, so that one is not sent for the other.
const secretPrefix = "HANSE-SECRET-KEY-1"

// secretText returns the line that a key file keeps: the prefix and the 32-byte Ed25519 seed
// with a checksum in upper-case base32.
func (k *PrivateKey) secretText() string {
	return secretPrefix + strings.ToUpper(text32.EncodeToString(withCheck(secretPrefix, k.key.Seed())))
}

// parseSecret undoes secretText. The error quotes nothing of s.
func parseSecret(s string) (*PrivateKey, error) {
	body, ok := strings.CutPrefix(s, secretPrefix)
	if ok && body != strings.ToUpper(body) {
		return nil, fmt.Errorf("malformed secret key: it must be in upper case")
	}
	if ok {
		s = secretPrefix + strings.ToLower(body)
	}
	seed, fault := decodeChecked(secretPrefix, s, ed25519.SeedSize)
	if fault != "" {
		return nil, fmt.Errorf("malformed secret key: %s", fault)
	}
	defer clear(seed)
	return &PrivateKey{key: ed25519.NewKeyFromSeed(seed)}, nil
}
