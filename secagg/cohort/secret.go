package cohort

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// secretKind is one of the two secrets that a client has in a sum.
type secretKind string

const (
	selfMask secretKind = "self mask" // gives the mask of its own; opened if its vector is in the total
	recovery secretKind = "recovery"  // opens its list of shared masks' keys; opened if its vector never came
)

// bothKinds lists the secrets in the order of deposits.
func bothKinds() [2]secretKind { return [2]secretKind{selfMask, recovery} }

// deposit is what a client leaves with the server before anybody sends a vector, so that its
// neighbours can undo its masks whatever becomes of it.
//
//	for each secret, its own mask's first:
//	  (k+1-t) x 40  the public points of the polynomial that shares it among the k neighbours
//	            32  the secret's digest
//	k x 32 + 16     the keys of the masks shared with each neighbour, ascending, under the second secret (AES-256-GCM)
type deposit struct {
	public   [2][]shamir.Element
	digest   [2]keys.Hash
	maskKeys []byte
}

// depositSize returns the length of a deposit with k neighbours, t of whom recover a secret.
func depositSize(k, t int) int {
	return 2*((k+1-t)*shamir.Size+32) + k*secagg.MaskKeySize + gcmOverhead
}

// gcmOverhead is the length of AES-GCM's tag.
const gcmOverhead = 16

// encode returns the message.
func (d *deposit) encode() []byte {
	var out []byte
	for i, public := range d.public {
		for j := range public {
			out = public[j].Append(out)
		}
		out = append(out, d.digest[i][:]...)
	}
	return append(out, d.maskKeys...)
}

// parseDeposit reads the deposit of a client with k neighbours.
func parseDeposit(m []byte, k, t int) (*deposit, error) {
	if len(m) != depositSize(k, t) {
		return nil, fmt.Errorf("it has %d bytes, want %d for %d neighbours and threshold %d", len(m), depositSize(k, t), k, t)
	}
	d := &deposit{}
	for i := range d.public {
		for range k + 1 - t {
			e, err := shamir.Parse(m[:shamir.Size])
			if err != nil {
				return nil, err
			}
			d.public[i], m = append(d.public[i], e), m[shamir.Size:]
		}
		d.digest[i], m = keys.Hash(m[:32]), m[32:]
	}
	d.maskKeys = m
	return d, nil
}

// newDeposit draws the client's secrets for a sum and shares them among its neighbours.
func newDeposit(
	l *protocol.Links, operation uint64, scheme *shamir.Scheme, neighbours []int,
) (own shamir.Element, d *deposit, err error) {
	d = &deposit{}
	for i, kind := range bothKinds() {
		secret, err := shamir.Random(rand.Reader)
		if err != nil {
			return own, nil, fmt.Errorf("secret of sum %d: %w", operation, err)
		}
		shares := make([]shamir.Element, len(neighbours))
		for j, v := range neighbours {
			if shares[j], err = shareOf(l, operation, kind, l.Self(), v); err != nil {
				return own, nil, err
			}
		}
		d.public[i] = scheme.Publish(secret, shares)
		d.digest[i] = secretDigest(l, operation, kind, l.Self(), secret)
		if kind == selfMask {
			own = secret
			continue
		}
		var list []byte // the keys of the masks shared with the neighbours
		for _, v := range neighbours {
			key, err := pairMaskKey(l, operation, v)
			if err != nil {
				return own, nil, fmt.Errorf("mask of sum %d: %w", operation, err)
			}
			list = append(list, key...)
		}
		aead, err := oneTimeCipher(secret)
		if err != nil {
			return own, nil, err
		}
		d.maskKeys = aead.Seal(nil, make([]byte, aead.NonceSize()), list, number(operation))
	}
	return own, d, nil
}

// shareOf returns the share of owner's secret that holder has: an output of the PRF keyed by what
// the two share, so that both of them know it and nobody else does. This party is one of them.
func shareOf(l *protocol.Links, operation uint64, kind secretKind, owner, holder int) (shamir.Element, error) {
	other := owner
	if owner == l.Self() {
		other = holder
	}
	key, err := l.Pair(other).Derive(fmt.Sprintf("cohort share|%s|%d|%d", kind, operation, owner), shamir.Size)
	if err != nil {
		return shamir.Element{}, fmt.Errorf("share of sum %d: %w", operation, err)
	}
	return shamir.FromKey(key)
}

// pairMaskKey returns the key of the mask that this party and another share in a sum.
func pairMaskKey(l *protocol.Links, operation uint64, other int) ([]byte, error) {
	return l.Pair(other).Derive(fmt.Sprintf("cohort mask|%d", operation), secagg.MaskKeySize)
}

// subtracts reports whether party i subtracts the mask that it shares with j, which j then adds:
// the one with the lower id adds.
func subtracts(l *protocol.Links, i, j int) bool {
	return l.Party(i).ID.Compare(l.Party(j).ID) > 0
}

// secretDigest binds a secret to its sum and owner. It hides the secret, which has 305 random bits.
func secretDigest(l *protocol.Links, operation uint64, kind secretKind, owner int, secret shamir.Element) keys.Hash {
	return l.Digest("hanse cohort secret v1", []byte(kind), number(operation), number(uint64(owner)), secret.Append(nil))
}

// keyFrom makes an AES-256 key of a secret that was drawn for one sum.
func keyFrom(use string, secret shamir.Element) []byte {
	h := keys.HashOf("hanse cohort key v1", []byte(use), secret.Append(nil))
	return h[:]
}

// decryptKeys decrypts a deposit's keys of shared masks under its owner's recovery secret.
func decryptKeys(operation uint64, secret shamir.Element, encrypted []byte) ([]byte, error) {
	aead, err := oneTimeCipher(secret)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, make([]byte, aead.NonceSize()), encrypted, number(operation))
}

// oneTimeCipher is AES-256-GCM under a recovery secret, which is used for one message, so that the nonce may be zero.
func oneTimeCipher(secret shamir.Element) (cipher.AEAD, error) {
	block, err := aes.NewCipher(keyFrom("recovery", secret))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// number encodes a number for hashing.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
