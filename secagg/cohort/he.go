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
	"github.com/hanse-project/hanse/secagg/he"
)

// The kinds of messages of homomorphic sums, beside those of all sums.
const (
	KindHolders = "he-holders"  // the server names the holders of a new key
	KindDeal    = "he-deal"     // a holder's share of the public key, and what it deals to the others
	KindDealt   = "he-dealt"    // all shares of the public key, and what was dealt to this holder
	KindConfirm = "he-confirm"  // a holder's signature on the public key
	KindHEKey   = "he-key"      // the public key with all holders' signatures
	KindSwitch  = "sum-switch"  // the total's second half, for decryption
	KindOpening = "sum-opening" // a holder's decryption share
)

// maxKeyHolders bounds the holders of a key: each deals 128 KiB to every other.
const maxKeyHolders = 64

// Domains of a holder's signatures.
const (
	domainShare = "hanse he share v1"
	domainKey   = "hanse he key v1"
)

// signatureSize is the length of an Ed25519 signature, in bytes.
const signatureSize = 64

// keyPlan is what everybody knows of a collective key.
type keyPlan struct {
	operation uint64 // the sum before which it is made
	holders   []int  // clients, ascending
	needed    int    // so many of them decrypt
	seed      keys.Hash
}

// newKeyPlan lays out the key of a set of holders.
func newKeyPlan(l *protocol.Links, spec Spec, operation uint64, holders set) *keyPlan {
	p := &keyPlan{operation: operation, holders: holders.members()}
	p.needed = 2*len(p.holders)/3 + 1
	if spec.Threshold > 0 {
		p.needed = holdersOf(spec.Threshold, len(p.holders))
	}
	p.needed = min(p.needed, len(p.holders))
	p.seed = l.Digest("hanse he seed v1", number(operation), holders)
	return p
}

// deals returns how many messages a holder deals: none when the key needs all holders.
func (p *keyPlan) deals() int {
	if p.needed == len(p.holders) {
		return 0
	}
	return len(p.holders) - 1
}

// dealSize and dealtSize are the lengths of KindDeal and KindDealt.
func (p *keyPlan) dealSize() int { return he.PolySize + signatureSize + p.deals()*encryptedDealSize }

// encryptedDealSize is the length of a deal under the two holders' key.
const encryptedDealSize = he.PolySize + gcmOverhead

// shareDigest is what a holder signs of its share of the public key.
func (p *keyPlan) shareDigest(l *protocol.Links, holder int, share []byte) keys.Hash {
	return l.Digest(domainShare, p.seed[:], number(uint64(holder)), share)
}

// keyDigest is what holders sign of the public key.
func (p *keyPlan) keyDigest(l *protocol.Links, key []byte) keys.Hash {
	return l.Digest(domainKey, p.seed[:], key)
}

// dealCipher encrypts what one holder deals to another, once.
func (p *keyPlan) dealCipher(l *protocol.Links, from, to int) (cipher.AEAD, error) {
	other := from
	if from == l.Self() {
		other = to
	}
	key, err := l.Pair(other).Derive(fmt.Sprintf("cohort deal|%d|%d", p.operation, from), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// encrypted is the codec of ciphertexts: vectors look in memory as they do on the wire.
type encrypted struct {
	packing *he.Packing
	words   int
}

func (e encrypted) size() int                { return e.packing.Ciphertexts(e.words) * he.CiphertextSize }
func (e encrypted) write(dst, vector []byte) { copy(dst, vector) }
func (e encrypted) add(vector, wire []byte) error {
	if err := he.CheckPolys("its vector", wire, len(wire)/he.PolySize); err != nil { // before anything is added
		return err
	}
	return he.AddRLWE(vector, wire)
}

// encryptedBy returns the codec of a sum under a key.
func encryptedBy(s *he.Scheme, p *keyPlan, v Vector, addends int) (encrypted, error) {
	packing, err := s.NewPacking(ringFor(v.Bits), addends, len(p.holders))
	return encrypted{packing, v.Words}, err
}

// ringFor returns the smallest ring that words of so many bits fit into.
func ringFor(bits int) secagg.Ring {
	switch {
	case bits <= 16:
		return secagg.Turns16
	case bits <= 32:
		return secagg.Turns32
	}
	return secagg.Fixed64
}

// lift fills the bits between a sum's words and its ring with random ones, so that the total in
// the ring says nothing but the total of the words.
func lift(words []uint64, bits int) ([]uint64, error) {
	width := 8 * ringFor(bits).WordSize()
	if bits == width {
		return words, nil
	}
	random := make([]byte, 8*len(words))
	key := make([]byte, secagg.MaskKeySize)
	rand.Read(key)
	masks := secagg.NewMasks(secagg.Fixed64)
	if err := masks.Include(key, false); err != nil {
		return nil, err
	}
	masks.Apply(random)
	lifted := make([]uint64, len(words))
	for i, w := range words {
		high := binary.LittleEndian.Uint64(random[8*i:]) << bits
		lifted[i] = (w | high) & (^uint64(0) >> (64 - width))
	}
	return lifted, nil
}
