package he

import (
	"encoding/binary"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg"
)

func TestHoldersMakeAShareOnce(t *testing.T) {
	k := newKey(t, 3, 2)
	p, err := k.scheme.NewPacking(secagg.Turns16, 3, 3)
	must(t, err)
	_, c1 := k.total(t, p, [][]uint64{{1}, {2}, {3}})
	h := k.holders[0]
	if _, err := h.Share(7, p, c1, []int{0, 1}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Share(7, p, c1, []int{0, 1})
	wantError(t, err, "share of decryption 7: decryption 7 was done before, and a share is made once")
	_, err = h.Share(7, p, c1, []int{0, 2})
	wantError(t, err, "share of decryption 7: decryption 7 was done before")
	_, err = h.Share(3, p, c1, []int{0, 2})
	wantError(t, err, "share of decryption 3: decryption 7 was done before")
	_, err = h.Share(8, p, c1, []int{0, 2})
	must(t, err)
}

func TestHoldersRefuseWhatTheyMust(t *testing.T) {
	k := newKey(t, 3, 3)
	p, err := k.scheme.NewPacking(secagg.Turns16, 3, 3)
	must(t, err)
	other, err := k.scheme.NewPacking(secagg.Turns16, 3, 4)
	must(t, err)
	h, c1 := k.holders[0], make([]byte, 2*PolySize)
	for _, c := range []struct {
		p      *Packing
		c1     []byte
		active []int
		want   string
	}{
		{other, c1, nil, "share of decryption 1: noise is for 4 holders of the key, there are 3"},
		{p, c1[1:], nil, "decryption 1: 262143 bytes, want 131072"},
		{p, c1, []int{0, 1, 2}, "decryption by 3 holders: this key needs all 3"},
	} {
		_, err := h.Share(1, c.p, c.c1, c.active)
		wantError(t, err, c.want)
	}
	binary.LittleEndian.PutUint64(c1[8*3:], prime0)
	_, err = h.Share(1, p, c1, nil)
	wantError(t, err, "decryption 1: word 3 is 1152921504606830593, want less than the prime")
	clear(c1)
	_, err = h.Share(1, p, c1, nil) // what was refused did not use up the number
	must(t, err)
	_, err = h.PublicShare(keys.Hash{})
	wantError(t, err, "public share of holder 0 was made before: a new one needs a new key")
	_, err = h.Deal(1)
	wantError(t, err, "deal to holder 1: this key needs all holders, nothing is dealt")
	wantError(t, h.Accept(1, nil), "deal of holder 1: this key needs all holders")
	for _, c := range [][3]int{{3, 3, 3}, {-1, 3, 3}, {0, 3, 0}, {0, 3, 4}, {0, 0, 0}} {
		if _, err := k.scheme.NewHolder(c[0], c[1], c[2]); err == nil {
			t.Errorf("holder %d of %d, %d needed: no error", c[0], c[1], c[2])
		}
	}
}

func TestThresholdHoldersRefuseWhatTheyMust(t *testing.T) {
	s := newTestScheme(t)
	a, err := s.NewHolder(0, 3, 2)
	must(t, err)
	b, err := s.NewHolder(1, 3, 2)
	must(t, err)
	p, err := s.NewPacking(secagg.Turns16, 3, 3)
	must(t, err)
	_, err = a.Share(1, p, make([]byte, PolySize), []int{0, 1})
	wantError(t, err, "threshold key: 2 of 3 holders have not dealt yet")
	dealt, err := b.Deal(0)
	must(t, err)
	wantError(t, a.Accept(1, dealt[8:]), "deal of holder 1: 131064 bytes, want 131072")
	must(t, a.Accept(1, dealt))
	wantError(t, a.Accept(1, dealt), "threshold key: holder 1 dealt before")
	wantError(t, a.Accept(0, dealt), "deal of holder 0: want another of the 3 holders")
	wantError(t, a.Accept(3, dealt), "deal of holder 3: want another of the 3 holders")
	_, err = a.Deal(0)
	wantError(t, err, "deal to holder 0: want another of the 3 holders")
	must(t, a.Accept(2, dealt))
	for _, c := range []struct {
		active []int
		want   string
	}{
		{nil, "decryption by 0 holders: this key needs exactly 2"},
		{[]int{0, 1, 2}, "decryption by 3 holders: this key needs exactly 2"},
		{[]int{0, 0}, "decryption by holders [0 0]: want different ones, from 0 to 2"},
		{[]int{0, 3}, "decryption by holders [0 3]: want different ones"},
		{[]int{1, 2}, "decryption by holders [1 2]: holder 0 is not among them"},
	} {
		_, err = a.Share(1, p, make([]byte, PolySize), c.active)
		wantError(t, err, c.want)
	}
}

// TestAllOthersWithoutTheRootOpenNothing: the coalition has everything but the root's share of the
// key. Not only is it told so: what it computes is uniform, as is what the root would compute without
// one of the others.
func TestAllOthersWithoutTheRootOpenNothing(t *testing.T) {
	k := newKey(t, 4, 4)
	p, err := k.scheme.NewPacking(secagg.Turns16, 4, 4)
	must(t, err)
	words := make([]uint64, Degree) // zeros: the clearest of messages
	c0, c1 := k.total(t, p, [][]uint64{words, words, words, words})
	for missing := range 4 {
		var rest []int
		for i := range 4 {
			if i != missing {
				rest = append(rest, i)
			}
		}
		shares := k.shares(t, uint64(10*missing), p, c1, rest, nil)
		wantError(t, p.Open(make([]uint64, Degree), c0, shares), "the shares do not open the ciphertext: one is missing, of another key or of another ciphertext")
		counts := make([]int64, 64)
		for j := range p.Residues() {
			x := opened{scheme: k.scheme, c0: c0[j*PolySize:][:PolySize], share: shares[j*PolySize:][:PolySize]}
			for i := range Degree {
				v := x.coefficient(i, &p.plain[j].down).plus(k.scheme.half)
				counts[v.hi>>50]++ // Q is just under 2^120
			}
		}
		if prob := drawn.ChiSquareUniform(counts); !(prob > 1e-12) {
			t.Errorf("without holder %d the coefficients are uniform with probability %g", missing, prob)
		}
	}
}

func TestSharesOfAnotherKeyOrCiphertextAreNoticed(t *testing.T) {
	a, b := newKey(t, 3, 3), newKey(t, 3, 3)
	p, err := a.scheme.NewSigned(1000, 3, 3)
	must(t, err)
	c0, c1 := a.total(t, p, [][]uint64{{1}, {2}, {3}})
	d0, d1 := a.total(t, p, [][]uint64{{4}, {5}, {6}})
	const want = "ciphertext of words from 0: the shares do not open the ciphertext"
	wantError(t, p.Open(make([]uint64, 1), c0, b.shares(t, 1, p, c1, upTo(3), nil)), want)
	wantError(t, p.Open(make([]uint64, 1), c0, a.shares(t, 1, p, d1, upTo(3), nil)), want)
	twice := a.shares(t, 2, p, c1, upTo(3), nil)
	must(t, AddRLWE(twice, twice))
	wantError(t, p.Open(make([]uint64, 1), c0, twice), want)
	wantError(t, p.Open(make([]uint64, 1), d0[8:], twice), "total: 131064 bytes, want 131072 for 1 polynomials")
	wantError(t, p.Open(make([]uint64, 1), d0, nil), "decryption shares: 0 bytes, want 131072")
}

// TestWhatTheOthersSeeIsUniform looks at the ciphertexts and the decryption share of a vector of zeros.
func TestWhatTheOthersSeeIsUniform(t *testing.T) {
	k := newKey(t, 2, 2)
	p, err := k.scheme.NewPacking(secagg.Turns16, 2, 2)
	must(t, err)
	c0, c1 := k.total(t, p, [][]uint64{make([]uint64, 8*Degree)})
	share, err := k.holders[0].Share(1, p, c1, nil)
	must(t, err)
	for name, b := range map[string][]byte{"c0": c0, "c1": c1, "share": share} {
		high, low := make([]int64, 256), make([]int64, 256)
		for i := range len(b) / 8 {
			w := wordAt(b, i)
			high[w>>52]++ // the primes are just under 2^60
			low[uint8(w)]++
		}
		for _, counts := range [][]int64{high, low} {
			if prob := drawn.ChiSquareUniform(counts); !(prob > 1e-12) {
				t.Errorf("%s is uniform with probability %g", name, prob)
			}
		}
	}
}
