package he

import (
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/tuneinsight/lattigo/v5/mhe"
	"github.com/tuneinsight/lattigo/v5/ring"
	"github.com/tuneinsight/lattigo/v5/utils/sampling"
)

// SessionSeed is the public seed of a session's collective key: the same at all parties, another in
// every session.
func SessionSeed(contract keys.Hash, session uint32) keys.Hash {
	return keys.HashOf("hanse he key v1", contract[:], fmt.Append(nil, session))
}

// commonPolynomial expands a public seed to the uniform polynomial that all holders' keys share.
func (s *Scheme) commonPolynomial(seed keys.Hash) (mhe.PublicKeyGenCRP, error) {
	prng, err := sampling.NewKeyedPRNG(seed[:])
	if err != nil {
		return mhe.PublicKeyGenCRP{}, fmt.Errorf("collective key: %w", err)
	}
	return mhe.NewPublicKeyGenProtocol(s.params).SampleCRP(prng), nil
}

// PublicKey is a collective public key. It is not safe for concurrent use: a copy for each party.
type PublicKey struct {
	scheme *Scheme
	key    [2]ring.Poly // transformed, as Lattigo keeps it
	random *secretStream
	small  ring.Sampler // of secrets
	errors ring.Sampler
	secret ring.Poly
	zero   [2]ring.Poly // the ciphertext under construction
}

// NewPublicKey makes the collective key of the sum of all holders' public shares (see AddRLWE),
// PolySize bytes.
func (s *Scheme) NewPublicKey(seed keys.Hash, sum []byte) (*PublicKey, error) {
	if err := CheckPolys("collective key", sum, 1); err != nil {
		return nil, err
	}
	common, err := s.commonPolynomial(seed)
	if err != nil {
		return nil, err
	}
	random, err := newSecretStream()
	if err != nil {
		return nil, fmt.Errorf("collective key: %w", err)
	}
	k := &PublicKey{scheme: s, random: random, secret: s.ring.NewPoly()}
	k.key = [2]ring.Poly{s.ring.NewPoly(), common.Value.Q}
	readPoly(k.key[0].Coeffs, sum)
	k.zero = [2]ring.Poly{s.ring.NewPoly(), s.ring.NewPoly()}
	if k.small, err = ring.NewSampler(random, s.ring, s.params.Xs(), false); err != nil {
		return nil, fmt.Errorf("collective key: %w", err)
	}
	if k.errors, err = ring.NewSampler(random, s.ring, s.params.Xe(), false); err != nil {
		return nil, fmt.Errorf("collective key: %w", err)
	}
	return k, nil
}

// Encrypt encrypts words of the packing's ring; see Packing.Ciphertexts for how many ciphertexts there
// are. A word beyond the ring or the bound is an error.
func (k *PublicKey) Encrypt(p *Packing, words []uint64) ([]byte, error) {
	unit := p.Residues() * CiphertextSize
	out := make([]byte, p.Ciphertexts(len(words))*CiphertextSize)
	for first := 0; first < len(words); first += Degree {
		if err := k.encryptGroup(p, out[first/Degree*unit:][:unit], first,
			words[first:min(first+Degree, len(words))]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encryptGroup encrypts up to Degree words, the first of which has the given index in its vector.
func (k *PublicKey) encryptGroup(p *Packing, dst []byte, first int, words []uint64) error {
	if err := p.encode(first, words, k.random); err != nil {
		return err
	}
	for j := range p.plain {
		m := &p.plain[j]
		k.encryptZero()
		for q, coefficients := range k.zero[0].Coeffs { // the residues times a constant are added
			up := m.up[q]
			for i, r := range m.residue {
				coefficients[i] = lower(coefficients[i]+up.mul(r), up.q)
			}
		}
		k.write(dst[j*CiphertextSize:])
	}
	return nil
}

// encryptZero makes a fresh encryption of zero: the public key times a small secret plus errors. It is what
// Lattigo's Encryptor does, with this package's randomness.
func (k *PublicKey) encryptZero() {
	r := k.scheme.ring
	k.small.Read(k.secret)
	r.NTT(k.secret, k.secret)
	for i, c := range k.zero {
		r.MulCoeffsMontgomery(k.secret, k.key[i], c)
		r.INTT(c, c)
		k.errors.ReadAndAdd(c)
	}
}

// write puts the ciphertext on the wire.
func (k *PublicKey) write(dst []byte) {
	writePoly(dst, k.zero[0].Coeffs)
	writePoly(dst[PolySize:], k.zero[1].Coeffs)
}
