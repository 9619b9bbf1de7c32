package he

import (
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/tuneinsight/lattigo/v5/core/rlwe"
	"github.com/tuneinsight/lattigo/v5/mhe"
	"github.com/tuneinsight/lattigo/v5/ring"
)

// Holder is one party's share of a collective secret key. The share never leaves it, but for what it
// deals to the other holders of a threshold key. It is not safe for concurrent use.
type Holder struct {
	scheme  *Scheme
	index   int // from 0; its Shamir point is index + 1
	holders int
	secret  *rlwe.SecretKey
	random  *secretStream
	group   *threshold // nil when all holders must take part

	published bool
	next      uint64          // the smallest id that was not decrypted yet
	addend    *rlwe.SecretKey // the share of the secret key among an active set
	product   ring.Poly
}

// NewHolder draws holder index's share of the key of `holders`, of which `needed` together decrypt: all of
// them, or fewer once everybody has dealt to everybody (see Deal).
func (s *Scheme) NewHolder(index, holders, needed int) (*Holder, error) {
	if err := checkCounts(1, holders); err != nil {
		return nil, err
	}
	if index < 0 || index >= holders || needed < 1 || needed > holders {
		return nil, fmt.Errorf("key of %d holders of which %d decrypt: there is no such holder %d", holders, needed, index)
	}
	random, err := newSecretStream()
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	h := &Holder{
		scheme: s, index: index, holders: holders, random: random,
		secret: rlwe.NewKeyGenerator(s.params).GenSecretKeyNew(),
		addend: rlwe.NewSecretKey(s.params), product: s.ring.NewPoly(),
	}
	if needed < holders {
		h.group, err = newThreshold(h, needed)
	}
	return h, err
}

// PublicShare returns this holder's share of the public key: PolySize bytes to be added to the others' (see
// AddRLWE). It is made once: two for one seed would differ by their noise alone.
func (h *Holder) PublicShare(seed keys.Hash) ([]byte, error) {
	if h.published {
		return nil, fmt.Errorf("public share of holder %d was made before: a new one needs a new key", h.index)
	}
	common, err := h.scheme.commonPolynomial(seed)
	if err != nil {
		return nil, err
	}
	h.published = true
	protocol := mhe.NewPublicKeyGenProtocol(h.scheme.params)
	share := protocol.AllocateShare()
	protocol.GenShare(h.secret, common, &share)
	out := make([]byte, PolySize)
	writePoly(out, share.Value.Q.Coeffs)
	return out, nil
}

// Share returns this holder's decryption shares of the ciphertexts whose polynomials c1 are given, one
// of PolySize bytes for each. id numbers what is decrypted: ids rise, and whoever asks for the same
// one again, or an older one, gets an error, also for another active set, since two shares of one
// ciphertext tell of the key. A sum that failed is repeated under a new key. active names the holders
// that decrypt, exactly as many as are needed; it is nil for a key that needs all.
func (h *Holder) Share(id uint64, p *Packing, c1 []byte, active []int) ([]byte, error) {
	return h.share(id, &p.margin, c1, active)
}

// share is Share for any plaintexts.
func (h *Holder) share(id uint64, m *margin, c1 []byte, active []int) ([]byte, error) {
	if m.holders != h.holders {
		return nil, fmt.Errorf("share of decryption %d: noise is for %d holders of the key, there are %d",
			id, m.holders, h.holders)
	}
	flood, err := newFlooder(h.random, m.flood, h.scheme.primes)
	if err != nil {
		return nil, err
	}
	if err := CheckPolys(fmt.Sprintf("decryption %d", id), c1, len(c1)/PolySize); err != nil {
		return nil, err
	}
	key := h.secret // what this holder adds to the secret key among the active
	switch {
	case h.group != nil:
		key = h.addend
		if err := h.group.addend(active, key); err != nil {
			return nil, err
		}
	case active != nil:
		return nil, fmt.Errorf("decryption by %d holders: this key needs all %d", len(active), h.holders)
	}
	if id < h.next {
		return nil, fmt.Errorf("share of decryption %d: decryption %d was done before, and a share is made once",
			id, h.next-1)
	}
	h.next = id + 1
	out := make([]byte, len(c1))
	for at := 0; at < len(c1); at += PolySize {
		// c1 s plus the flooder's noise: Lattigo's KeySwitchProtocol to the key zero, with other noise. Keys are kept
		// transformed, ciphertexts are not.
		r, product := h.scheme.ring, h.product
		readPoly(product.Coeffs, c1[at:at+PolySize])
		r.NTT(product, product)
		r.MulCoeffsMontgomery(product, key.Value.Q, product)
		r.INTT(product, product)
		flood.add(product.Coeffs)
		writePoly(out[at:at+PolySize], product.Coeffs)
	}
	return out, nil
}
