package keys

import (
	"crypto/ed25519"
	"fmt"
	"strings"
)

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
