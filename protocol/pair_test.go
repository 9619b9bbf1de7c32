package protocol

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// pairSide is one party of a pair at the moment when it gets the other's session key.
type pairSide struct {
	*Session
	ephemeral *ecdh.PrivateKey
}

// newPair makes the two sides of a pair with known ephemeral keys; the identities are random.
func newPair(t *testing.T) (a, b pairSide) {
	t.Helper()
	config := SessionConfig{Contract: keys.HashOf("a contract"), Number: 2}
	sides := make([]pairSide, 2)
	for i := range sides {
		identity, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		ephemeral, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{byte(i + 1)}, 32))
		if err != nil {
			t.Fatal(err)
		}
		config.Parties = append(config.Parties, contract.Party{Name: []string{"bank", "shop"}[i], ID: identity.ID()})
		sides[i] = pairSide{&Session{wire: wire{self: i}}, ephemeral}
		sides[i].config.Key = identity
	}
	for _, s := range sides {
		s.config.Contract, s.config.Number, s.config.Parties = config.Contract, config.Number, config.Parties
	}
	return sides[0], sides[1]
}

// message is the session key a side sends.
func (p pairSide) message() []byte { return p.signed(p.ephemeral.PublicKey().Bytes()) }

// signed is a message with any public key, rightly signed.
func (p pairSide) signed(public []byte) []byte {
	return append(bytes.Clone(public), p.config.Key.Sign(domainSessionKey, p.signedKey(p.self, 0, public))...)
}

// TestPairSecretByHand computes the secret a second time from the description of derivePair.
func TestPairSecretByHand(t *testing.T) {
	a, b := newPair(t)
	atA, errA := a.derivePair(1, 0, a.ephemeral, b.message())
	atB, errB := b.derivePair(0, 0, b.ephemeral, a.message())
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	low, high := a, b
	if b.config.Key.ID().Compare(a.config.Key.ID()) < 0 {
		low, high = b, a
	}
	lowID, highID := low.config.Key.ID(), high.config.Key.ID()
	shared, err := low.ephemeral.ECDH(high.ephemeral.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	salt := keys.HashOf("hanse pair salt v1", a.config.Contract[:], []byte{0, 0, 0, 2})
	info := keys.HashOf("hanse pair v1", lowID[:], highID[:], low.ephemeral.PublicKey().Bytes(),
		high.ephemeral.PublicKey().Bytes())
	want, err := hkdf.Key(sha256.New, shared, salt[:], string(info[:]), 32)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(atA.secret, want) || !bytes.Equal(atB.secret, want) {
		t.Errorf("the sides have %x and %x, want %x", atA.secret, atB.secret, want)
	}
}

// TestDeriveGolden pins how uses are derived from a pair secret.
func TestDeriveGolden(t *testing.T) {
	p := &PairSecret{secret: bytes.Repeat([]byte{7}, 32)}
	for label, want := range map[string]string{
		"mask|turns16|1": "ded28207ffb10e037512c26afc9ce6f0ad853c454f11e5419c7a53ad602d70cd",
		"mask|turns16|2": "25dc4830ad28449512a4e0b55e4af9f2c1c5a93ac9abb1d3af626041436c5851",
	} {
		got, err := p.Derive(label, 32)
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s gives %x, error %v, want %s", label, got, err, want)
		}
	}
}

func TestSessionKeysRefused(t *testing.T) {
	a, b := newPair(t)
	forged := b.message()
	forged[95] ^= 1
	otherKey := append(a.ephemeral.PublicKey().Bytes(), b.message()[32:]...)
	later := &Session{wire: wire{config: b.config, self: b.self}}
	later.config.Number++
	for _, c := range []struct {
		message []byte
		want    string
	}{
		{nil, "session key of 0 bytes"},
		{b.message()[:31], "session key of 31 bytes"},
		{b.message()[:32], "the signature on its session key is wrong"},
		{b.message()[:95], "the signature on its session key is wrong"},
		{forged, "the signature on its session key is wrong"},
		{otherKey, "the signature on its session key is wrong"},
		{a.message(), "the signature on its session key is wrong"}, // sent back to where it came from
		{pairSide{later, b.ephemeral}.message(), "the signature on its session key is wrong"},
		{b.signed(make([]byte, 32)), "session key refused: crypto/ecdh: bad X25519 remote ECDH input: low order point"},
		{b.signed(append([]byte{1}, make([]byte, 31)...)), "session key refused: crypto/ecdh: bad X25519 remote ECDH input: low order point"},
	} {
		secret, err := a.derivePair(1, 0, a.ephemeral, c.message)
		if secret != nil || err == nil || err.Error() != c.want {
			t.Errorf("a message of %d bytes: error is %v, want %s", len(c.message), err, c.want)
		}
		if !errors.Is(err, contract.ErrDeviation) {
			t.Errorf("%v is no deviation", err)
		}
	}
}

// TestGroupsHaveKeysOfTheirOwn: the same ephemeral keys give other secrets in every group, and a key that was signed
// for one is refused in another.
func TestGroupsHaveKeysOfTheirOwn(t *testing.T) {
	a, b := newPair(t)
	public := b.ephemeral.PublicKey().Bytes()
	seen := make(map[string]uint16)
	for _, group := range []uint16{0, 1, 2, 256} {
		signed := append(bytes.Clone(public), b.config.Key.Sign(domainSessionKey, b.signedKey(1, group, public))...)
		secret, err := a.derivePair(1, group, a.ephemeral, signed)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[string(secret.secret)]; ok {
			t.Errorf("groups %d and %d have the same secret", other, group)
		}
		seen[string(secret.secret)] = group
		if _, err := a.derivePair(1, group+1, a.ephemeral, signed); !errors.Is(err, contract.ErrDeviation) {
			t.Errorf("a key of group %d in group %d gives error %v, want a deviation", group, group+1, err)
		}
	}
}
