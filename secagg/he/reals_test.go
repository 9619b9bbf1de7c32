package he

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/tuneinsight/lattigo/v5/core/rlwe"
	"github.com/tuneinsight/lattigo/v5/ring"
	"github.com/tuneinsight/lattigo/v5/schemes/ckks"
	"pgregory.net/rapid"
)

// exactSum adds without rounding.
func exactSum(vectors [][]float64, i int) *big.Float {
	sum := new(big.Float).SetPrec(3000)
	for _, v := range vectors {
		sum.Add(sum, new(big.Float).SetFloat64(v[i]))
	}
	return sum
}

// distance returns how far a float64 is from a number.
func distance(got float64, want *big.Float) float64 {
	d, _ := new(big.Float).Sub(want, new(big.Float).SetPrec(3000).SetFloat64(got)).Float64()
	return math.Abs(d)
}

func TestRealSumsAreWithinTheirError(t *testing.T) {
	l := newTestNetwork(t, 4, 0, contract.Tree, nil)
	r := rand.New(rand.NewPCG(9, 9))
	for root, bound := range []float64{1, 1e-9, 12345.678, 1e100} {
		vectors := make([][]float64, 4)
		for i := range vectors {
			vectors[i] = []float64{bound, -bound, 0, bound * 1e-12, math.SmallestNonzeroFloat64}
			for range 3000 {
				vectors[i] = append(vectors[i], (2*r.Float64()-1)*bound)
			}
		}
		want := make([]*big.Float, len(vectors[0]))
		for j := range want {
			want[j] = exactSum(vectors, j)
		}
		l.Must(t, func(i int) error { return l.sums[i].SumReals(t.Context(), "gradient", root, vectors[i], bound) })
		stated, err := l.sums[0].RealError(bound)
		must(t, err)
		if stated > bound*0x1p-48 {
			t.Errorf("bound %g: the stated error is %g, want at most 2^-48 of the bound", bound, stated)
		}
		worst := 0.0
		for j := range want {
			worst = max(worst, distance(vectors[root][j], want[j]))
		}
		if worst > stated {
			t.Errorf("bound %g: the error is %g, stated are %g", bound, worst, stated)
		}
		t.Logf("bound %g: error %.3g of the bound, stated %.3g", bound, worst/bound, stated/bound)
	}
}

func TestRealSumsRefuseWhatDoesNotFit(t *testing.T) {
	l := newTestNetwork(t, 3, 0, contract.Tree, nil)
	s, before := l.sums[0], l.sessions[0].Operations()
	for _, v := range []float64{1.5, -1.0001, math.NaN(), math.Inf(-1)} {
		var out *secagg.RangeError
		if err := s.SumReals(t.Context(), "gradient", 0, []float64{0, 0, v}, 1); !errors.As(err, &out) || out.Element != 2 {
			t.Errorf("%v: error %v, want a RangeError of element 2", v, err)
		}
	}
	for _, bound := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-200} {
		wantError(t, s.SumReals(t.Context(), "gradient", 0, nil, bound),
			"gradient: homomorphic sum: bound of real numbers is")
	}
	if l.sessions[0].Operations() != before {
		t.Error("a refused sum began an operation")
	}
	_, err := s.scheme.NewReals(1, 10000, 5)
	wantError(t, err, "leave no room to hide the noise")
	k := newKey(t, 1, 1)
	r, err := k.scheme.NewReals(1, 3, 1)
	must(t, err)
	_, err = k.public.EncryptReals(r, "gradient", []float64{2})
	wantError(t, err, "gradient: element 0 is 2, want a finite number of magnitude at most 1")
}

func TestRealSumsOfAnotherKeyAreNoticed(t *testing.T) {
	a, b := newKey(t, 2, 2), newKey(t, 2, 2)
	r, err := a.scheme.NewReals(1, 2, 2)
	must(t, err)
	wire, err := a.public.EncryptReals(r, "gradient", []float64{0.5})
	must(t, err)
	c0, c1, err := Split(wire)
	must(t, err)
	got := make([]float64, 1)
	open := func(k *key) error {
		sum := make([]byte, len(c1))
		for _, h := range k.holders {
			s, err := h.ShareReals(1, r, c1, nil)
			must(t, err)
			must(t, AddRLWE(sum, s))
		}
		return r.Open(got, c0, sum)
	}
	wantError(t, open(b), "ciphertext of numbers from 0: the shares do not open the ciphertext")
	if must(t, open(a)); math.Abs(got[0]-0.5) > r.Error() {
		t.Errorf("opened %v, want 0.5", got[0])
	}
	wantError(t, r.Open(got, c0[8:], c1), "total: 131064 bytes")
	wantError(t, r.Open(got, c0, nil), "decryption shares: 0 bytes")
}

func TestScalingRealsRoundsToTheNearestInteger(t *testing.T) {
	s := newTestScheme(t)
	rapid.Check(t, func(t *rapid.T) {
		bound := math.Ldexp(1, rapid.IntRange(-499, 499).Draw(t, "bound"))
		r, err := s.NewReals(bound, rapid.IntRange(1, 30).Draw(t, "addends"), 3)
		if err != nil {
			t.Fatal(err)
		}
		v := math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "v")*bound, -rapid.IntRange(0, 130).Draw(t, "smaller"))
		want := new(big.Float).SetMantExp(new(big.Float).SetFloat64(v), r.logScale)
		got := new(big.Float).SetInt(signedBig(r.scaled(v)))
		if d, _ := new(big.Float).Sub(got, want).Float64(); math.Abs(d) > 0.5 {
			t.Errorf("%g times 2^%d is off by %g", v, r.logScale, d)
		}
		if back := r.value(r.scaled(v)); math.Abs(back-v) > math.Ldexp(0.5, -r.logScale)+math.Abs(v)*0x1p-52 {
			t.Errorf("%g came back as %g", v, back)
		}
	})
}

// TestRealCiphertextsAreCKKS reads this package's ciphertexts with Lattigo's CKKS, coefficients not slots.
func TestRealCiphertextsAreCKKS(t *testing.T) {
	k := newKey(t, 2, 2)
	r, err := k.scheme.NewReals(1, 2, 2)
	must(t, err)
	values := []float64{0.25, -1, 1, 0, 1e-9, 0.123456789}
	wire, err := k.public.EncryptReals(r, "gradient", values)
	must(t, err)
	params, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: logDegree, Q: []uint64{prime0, prime1}, LogDefaultScale: r.logScale,
		Xs: ring.Ternary{P: 2.0 / 3}, Xe: ring.DiscreteGaussian{Sigma: sigma, Bound: 6 * sigma},
	})
	must(t, err)
	c := ckks.NewCiphertext(params, 1, params.MaxLevel())
	c.IsNTT, c.IsBatched = false, false
	readPoly(c.Value[0].Coeffs, wire)
	readPoly(c.Value[1].Coeffs, wire[PolySize:])
	got := make([]float64, Degree)
	must(t, ckks.NewEncoder(params).Decode(rlwe.NewDecryptor(params, k.ideal()).DecryptNew(c), got))
	for i, v := range values {
		if math.Abs(got[i]-v) > 1e-15 {
			t.Errorf("element %d is %v, Lattigo reads %v", i, v, got[i])
		}
	}
}
