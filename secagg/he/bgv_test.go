package he

import (
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/tuneinsight/lattigo/v5/core/rlwe"
	"github.com/tuneinsight/lattigo/v5/ring"
	"github.com/tuneinsight/lattigo/v5/schemes/bgv"
)

// bgvParameters are Lattigo's for the scheme's ring and a plaintext modulus.
func bgvParameters(t *testing.T, modulus uint64) bgv.Parameters {
	t.Helper()
	p, err := bgv.NewParametersFromLiteral(bgv.ParametersLiteral{
		LogN: logDegree, Q: []uint64{prime0, prime1}, PlaintextModulus: modulus,
		Xs: ring.Ternary{P: 2.0 / 3}, Xe: ring.DiscreteGaussian{Sigma: sigma, Bound: 6 * sigma},
	})
	must(t, err)
	return p
}

// TestCiphertextsAreBGV reads this package's ciphertexts with Lattigo's BGV, whose plaintexts are in
// coefficients too. The same key serves several plaintext moduli: it does not depend on them.
func TestCiphertextsAreBGV(t *testing.T) {
	k := newKey(t, 3, 3)
	for _, bound := range []uint64{20, 1 << 30, 1 << 45} {
		p, err := k.scheme.NewSigned(bound, 3, 3)
		must(t, err)
		words := []uint64{0, 1, bound, -bound, 7, -bound + 3}
		wire, err := k.public.Encrypt(p, words)
		must(t, err)
		params := bgvParameters(t, p.plain[0].t)
		c := rlwe.NewCiphertext(params, 1)
		c.IsNTT, c.IsBatched, c.Scale = false, false, rlwe.NewScaleModT(1, p.plain[0].t)
		readPoly(c.Value[0].Coeffs, wire)
		readPoly(c.Value[1].Coeffs, wire[PolySize:])
		got := make([]int64, Degree)
		must(t, bgv.NewEncoder(params).Decode(rlwe.NewDecryptor(params, k.ideal()).DecryptNew(c), got))
		for i, w := range words {
			if got[i] != int64(w) {
				t.Errorf("bound %d: word %d is %d, Lattigo reads %d", bound, i, int64(w), got[i])
			}
		}
	}
}

// TestBGVCiphertextsOpen is the other way round: Lattigo encrypts, the holders open.
func TestBGVCiphertextsOpen(t *testing.T) {
	k := newKey(t, 3, 3)
	p, err := k.scheme.NewSigned(1<<30, 1, 3)
	must(t, err)
	params := bgvParameters(t, p.plain[0].t)
	want := []int64{5, -1 << 30, 0, 123456789, -3}
	plain := bgv.NewPlaintext(params, params.MaxLevel())
	plain.IsBatched = false
	must(t, bgv.NewEncoder(params).Encode(want, plain))
	c, err := rlwe.NewEncryptor(k.scheme.params, k.lattigoKey(t)).EncryptNew(plain)
	must(t, err)
	wire := make([]byte, CiphertextSize)
	for i := range c.Value {
		k.scheme.ring.INTT(c.Value[i], c.Value[i])
		writePoly(wire[i*PolySize:], c.Value[i].Coeffs)
	}
	c0, c1, err := Split(wire)
	must(t, err)
	got := make([]uint64, len(want))
	must(t, p.Open(got, c0, k.shares(t, 1, p, c1, upTo(3), nil)))
	if !slices.EqualFunc(got, want, func(a uint64, b int64) bool { return int64(a) == b }) {
		t.Errorf("opened %v, want %v", got, want)
	}
}

// lattigoKey makes a public key for the ideal secret by Lattigo's generator, another than the
// collective one.
func (k *key) lattigoKey(t *testing.T) *rlwe.PublicKey {
	t.Helper()
	return rlwe.NewKeyGenerator(k.scheme.params).GenPublicKeyNew(k.ideal())
}

func TestPublicSharesDependOnTheSeedAlone(t *testing.T) {
	s := newTestScheme(t)
	a, err := s.commonPolynomial(SessionSeed(keys.HashOf("a contract"), 1))
	must(t, err)
	b, err := s.commonPolynomial(SessionSeed(keys.HashOf("a contract"), 1))
	must(t, err)
	c, err := s.commonPolynomial(SessionSeed(keys.HashOf("a contract"), 2))
	must(t, err)
	if !a.Value.Q.Equal(&b.Value.Q) || a.Value.Q.Equal(&c.Value.Q) {
		t.Error("the common polynomial is not a function of contract and session")
	}
}
