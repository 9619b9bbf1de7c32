package he

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/hanse-project/hanse/secagg"
	"pgregory.net/rapid"
)

func TestPackingsRefuseWhatCannotBeHidden(t *testing.T) {
	s := newTestScheme(t)
	for _, c := range []struct {
		ring             secagg.Ring
		addends, holders int
		want             string
	}{
		{secagg.Turns16, 0, 3, "homomorphic sum: 0 addends and 3 holders of the key, want 1 to 1048575 of each"},
		{secagg.Turns16, 3, 1 << 20, "3 addends and 1048576 holders"},
		{secagg.Turns32, 10000, 5, "10000 addends under a key of 5 holders leave no room to hide the noise by 40 bits"},
		{secagg.Fixed64, 200, 200, "200 addends under a key of 200 holders leave no room"},
		{0, 3, 3, "there is no ring 0"},
	} {
		_, err := s.NewPacking(c.ring, c.addends, c.holders)
		wantError(t, err, c.want)
	}
	_, err := s.NewSigned(1<<62, 3, 3)
	wantError(t, err, "homomorphic sum: 3 addends of up to 4611686018427387904 overflow 64 bits")
	_, err = s.NewSigned(1, 200, 200)
	wantError(t, err, "leave no room to hide the noise")
}

func TestWordsBeyondTheirRingAreRefused(t *testing.T) {
	k := newKey(t, 1, 1)
	turns, err := k.scheme.NewPacking(secagg.Turns16, 3, 1)
	must(t, err)
	words := make([]uint64, Degree+2)
	words[Degree+1] = 1 << 16
	_, err = k.public.Encrypt(turns, words)
	wantError(t, err, "homomorphic sum: word 8193 is 65536, want less than 2^16")
	signed, err := k.scheme.NewSigned(1000, 3, 1)
	must(t, err)
	for _, w := range []int64{1001, -1001, math.MinInt64} {
		_, err = k.public.Encrypt(signed, []uint64{0, uint64(w)})
		wantError(t, err, "want a magnitude of at most 1000")
	}
}

// TestResiduesAreThoseOfTheInteger encodes and combines, and compares with big integers.
func TestResiduesAreThoseOfTheInteger(t *testing.T) {
	s := newTestScheme(t)
	random, err := newSecretStream()
	must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		ring := rapid.SampledFrom([]secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64}).Draw(t, "ring")
		addends := rapid.IntRange(1, 100).Draw(t, "addends")
		p, err := s.NewPacking(ring, addends, 3)
		must(t, err)
		width := 8 * ring.WordSize()
		sum := new(big.Int)
		for j := range p.residues {
			clear(p.residues[j])
		}
		for range rapid.IntRange(1, addends).Draw(t, "present") {
			w := rapid.Uint64Range(0, ^uint64(0)>>(64-width)).Draw(t, "word")
			must(t, p.encode(0, []uint64{w}, random))
			sum.Add(sum, new(big.Int).SetUint64(w))
			for j := range p.plain {
				p.residues[j][0] = (p.residues[j][0] + p.plain[j].residue[0]) % p.plain[j].t
			}
		}
		got := make([]uint64, 1)
		must(t, p.decode(0, got))
		if want := sum.Uint64() & (^uint64(0) >> (64 - width)); got[0] != want {
			t.Errorf("decoded %d, want %d", got[0], want)
		}
		if over := wideTotal(p, 0).BitLen() - width - p.spread; over > 7 {
			t.Errorf("the total has %d bits more than an addend", over)
		}
	})
}

// wideTotal combines the residues at i by big integers.
func wideTotal(p *Packing, i int) *big.Int {
	x, product := new(big.Int), big.NewInt(1)
	for j, m := range p.plain {
		t := new(big.Int).SetUint64(m.t)
		d := new(big.Int).Sub(new(big.Int).SetUint64(p.residues[j][i]), x)
		d.Mul(d, new(big.Int).ModInverse(product, t)).Mod(d, t)
		x.Add(x, d.Mul(d, product))
		product.Mul(product, t)
	}
	return x
}

// FuzzDecode gives any residues to the decoder: it finds the number that has them, or says that no
// total does.
func FuzzDecode(f *testing.F) {
	s, err := NewScheme()
	must(f, err)
	var packings []*Packing
	for _, ring := range []secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64} {
		p, err := s.NewPacking(ring, 200, 3)
		must(f, err)
		packings = append(packings, p)
	}
	signed, err := s.NewSigned(1<<55, 100, 3)
	must(f, err)
	packings = append(packings, signed)
	f.Add(uint8(0), []byte("0123456789abcdef"))
	f.Add(uint8(3), []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, which uint8, residues []byte) {
		p := packings[which%4]
		for j, m := range p.plain {
			var b [8]byte
			copy(b[:], residues[min(8*j, len(residues)):])
			p.residues[j][0] = binary.LittleEndian.Uint64(b[:]) % m.t
		}
		want, got := wideTotal(p, 0), make([]uint64, 1)
		most := signedBig(p.most)
		if p.ring == 0 && want.Cmp(most) > 0 {
			want.Sub(want, signedBig(p.product))
		}
		err := p.decode(0, got)
		if valid := want.CmpAbs(most) <= 0; valid != (err == nil) {
			t.Fatalf("total %v of at most %v: error %v", want, most, err)
		}
		if err == nil && p.ring == 0 && want.Cmp(big.NewInt(int64(got[0]))) != 0 {
			t.Fatalf("decoded %d, want %v", int64(got[0]), want)
		}
	})
}
