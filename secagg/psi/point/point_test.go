package point

import (
	"bytes"
	"crypto/ecdh"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/cloudflare/circl/dh/x25519"
	"pgregory.net/rapid"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hashed is the points of n ids, in a fixed order.
func hashed(t testing.TB, n int) []byte {
	t.Helper()
	wide := make([][64]byte, n)
	for i := range wide {
		wide[i] = sha512.Sum512(binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	points := make([]byte, n*Size)
	if err := Hash(points, wide, 2); err != nil {
		t.Fatal(err)
	}
	return points
}

// TestHashIsThatOfTheRFC holds Hash against u and Q.x of RFC 9380 appendix J.4.2 (curve25519_XMD:SHA-512_ELL2_NU_).
func TestHashIsThatOfTheRFC(t *testing.T) {
	var wide [][64]byte
	var want []byte
	for _, v := range [][2]string{
		{"608d892b641f0328523802a6603427c26e55e6f27e71a91a478148d45b5093cd",
			"51125222da5e763d97f3c10fcc92ea6860b9ccbbd2eb1285728f566721c1e65b"},
		{"46f5b22494bfeaa7f232cc8d054be68561af50230234d7d1d63d1d9abeca8da5",
			"7d56d1e08cb0ccb92baf069c18c49bb5a0dcd927eff8dcf75ca921ef7f3e6eeb"},
		{"235fe40c443766ce7e18111c33862d66c3b33267efa50d50f9e8e5d252a40aaa",
			"3fbe66b9c9883d79e8407150e7c2a1c8680bee496c62fabe4619a72b3cabe90f"},
		{"001e92a544463bda9bd04ddbe3d6eed248f82de32f522669efc5ddce95f46f5b",
			"227e0bb89de700385d19ec40e857db6e6a3e634b1c32962f370d26f84ff19683"},
		{"1a68a1af9f663592291af987203393f707305c7bac9c8d63d6a729bdc553dc19",
			"3bcd651ee54d5f7b6013898aab251ee8ecc0688166fce6e9548d38472f6bd196"},
	} {
		u, q := unhex(t, v[0]), unhex(t, v[1])
		slices.Reverse(u)
		slices.Reverse(q)
		wide, want = append(wide, [64]byte(append(u, make([]byte, 32)...))), append(want, q...)
	}
	got := make([]byte, len(want))
	if err := Hash(got, wide, 1); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("the points are %x, the RFC's %x", got, want)
	}
}

// plainHash is Elligator2 as RFC 9380 section 6.7.1 writes it, one point at a time, with math/big.
func plainHash(wide [64]byte) []byte {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	a := big.NewInt(486662)
	slices.Reverse(wide[:])
	r := new(big.Int).Mod(new(big.Int).SetBytes(wide[:]), p)
	d := new(big.Int).Mul(r, r)
	d.Add(d.Lsh(d, 1), big.NewInt(1)).Mod(d, p)
	u := new(big.Int).ModInverse(d, p)
	u.Mul(u, a).Neg(u).Mod(u, p)
	g := new(big.Int).Add(u, a)
	g.Mul(g, u).Add(g, big.NewInt(1)).Mul(g, u).Mod(g, p)
	if big.Jacobi(g, p) < 0 {
		u.Add(u, a).Neg(u).Mod(u, p)
	}
	out := u.FillBytes(make([]byte, Size))
	slices.Reverse(out)
	return out
}

// TestHashEqualsPlainArithmetic covers numbers at and around multiples of p, and lists longer than a block.
func TestHashEqualsPlainArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 2, block - 1, block, block + 1, 2*block + 3}).Draw(t, "n")
		wide := make([][64]byte, n)
		for i := range wide {
			wide[i] = sha512.Sum512(binary.BigEndian.AppendUint64(nil, rapid.Uint64().Draw(t, "id")))
		}
		for i := range min(n, 3) {
			edge := [64]byte{0: byte(i)}
			if rapid.Bool().Draw(t, "near p") {
				copy(edge[:], bytes.Repeat([]byte{0xff}, 32))
				edge[0], edge[31] = byte(0xed-1+i), 0x7f
			}
			wide[i] = edge
		}
		got := make([]byte, n*Size)
		if err := Hash(got, wide, rapid.IntRange(1, 3).Draw(t, "workers")); err != nil {
			t.Fatal(err)
		}
		for i := range wide {
			if want := plainHash(wide[i]); !bytes.Equal(got[i*Size:(i+1)*Size], want) {
				t.Fatalf("point %d is %x, by plain arithmetic %x", i, got[i*Size:(i+1)*Size], want)
			}
		}
	})
}

// TestMulIsX25519 holds Mul against RFC 7748 section 5.2.
func TestMulIsX25519(t *testing.T) {
	for _, v := range [][3]string{
		{"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
			"e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
			"c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
		{"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
			"e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
			"95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
		{"0900000000000000000000000000000000000000000000000000000000000000",
			"0900000000000000000000000000000000000000000000000000000000000000",
			"422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"},
	} {
		point := unhex(t, v[1])
		if err := NewScalar([32]byte(unhex(t, v[0]))).Mul(point, point, 1); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(point); got != v[2] {
			t.Errorf("%s times %s is %s, not %s", v[0], v[1], got, v[2])
		}
	}
}

// TestScalarsCommute is what the intersection rests on: k_A k_K u = k_K k_A u, for any number of workers.
func TestScalarsCommute(t *testing.T) {
	points := hashed(t, block+7)
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfN(rapid.Byte(), 32, 32)
		a, k := NewScalar([32]byte(draw.Draw(t, "a"))), NewScalar([32]byte(draw.Draw(t, "k")))
		n := rapid.SampledFrom([]int{0, 1, 5, block + 7}).Draw(t, "n") * Size
		one, other := make([]byte, n), make([]byte, n)
		for _, err := range []error{
			a.Mul(one, points[:n], 1), k.Mul(one, one, 2), k.Mul(other, points[:n], 3), a.Mul(other, other, 1),
			Check(one),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(one, other) {
			t.Fatal("the two orders of multiplication differ")
		}
	})
}

// TestPointsOfLowOrder: an attacker that sends a point of low order learns of the scalar. Check names it, and Mul stops
// even where nobody checked.
func TestPointsOfLowOrder(t *testing.T) {
	if len(lowOrder) != 5 {
		t.Fatalf("%d points of low order below p; there are 5", len(lowOrder))
	}
	good := hashed(t, 3)
	for u := range lowOrder {
		list := append(slices.Clone(good), u[:]...)
		if err := Check(list); err == nil || !strings.Contains(err.Error(), "position 3 has low order") {
			t.Errorf("%x: Check says %v", u, err)
		}
		err := NewScalar([32]byte{1, 2, 3}).Mul(list, list, 2)
		if err == nil || !strings.Contains(err.Error(), "position 3") {
			t.Errorf("%x: Mul says %v", u, err)
		}
	}
}

// TestHostileLists: points that are no numbers below p, repeated, cut.
func TestHostileLists(t *testing.T) {
	good := hashed(t, 4)
	p := bytes.Repeat([]byte{0xff}, Size)
	p[0], p[Size-1] = 0xed, 0x7f
	top := slices.Clone(good[:Size])
	top[Size-1] |= 0x80
	for want, list := range map[string][]byte{
		"position 4 is not below p":       append(slices.Clone(good), p...),
		"position 2 is not below p":       slices.Concat(good[:2*Size], top),
		"position 4 stands before":        append(slices.Clone(good), good[Size:2*Size]...),
		"a list of 127 bytes is no multi": good[:127],
	} {
		if err := Check(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check says %v, not %q", err, want)
		}
	}
	if err := Check(good); err != nil {
		t.Error(err)
	}
	if err := NewScalar([32]byte{}).Mul(good, good[:Size], 1); err == nil {
		t.Error("Mul took room of another length")
	}
	if err := Hash(good, make([][64]byte, 3), 1); err == nil {
		t.Error("Hash took room of another length")
	}
}

// TestDistinctEqualsPlainSearch compares with a search of all pairs, over words so short that many are equal.
func TestDistinctEqualsPlainSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3).Draw(t, "size")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		list := rapid.SliceOfN(rapid.Byte(), n*size, n*size).Draw(t, "list")
		at, distinct := 0, true
		for i := 0; i < n && distinct; i++ {
			for j := range i {
				if bytes.Equal(list[i*size:(i+1)*size], list[j*size:(j+1)*size]) {
					at, distinct = i, false
				}
			}
		}
		gotAt, got, err := Distinct(list, size)
		if err != nil || got != distinct || gotAt != at {
			t.Fatalf("%d, %v, %v; a plain search finds %d, %v", gotAt, got, err, at, distinct)
		}
	})
}

// FuzzCheck: whatever Check accepts is multiplied without an error, and holds each number once, below p.
func FuzzCheck(f *testing.F) {
	f.Add(hashed(f, 2))
	f.Add(make([]byte, Size))
	f.Add(bytes.Repeat([]byte{0xff}, 2*Size))
	f.Fuzz(func(t *testing.T, list []byte) {
		if Check(list) != nil {
			return
		}
		if err := NewScalar([32]byte{5}).Mul(make([]byte, len(list)), list, 1); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
		for u := range slices.Chunk(list, Size) {
			number := slices.Clone(u)
			slices.Reverse(number)
			n := new(big.Int).SetBytes(number)
			if seen[n.String()] || n.Cmp(p) >= 0 {
				t.Fatalf("Check accepted %s", n)
			}
			seen[n.String()] = true
		}
	})
}

func BenchmarkHash(b *testing.B) {
	wide, dst := make([][64]byte, 1024), make([]byte, 1024*Size)
	for i := range wide {
		wide[i] = sha512.Sum512([]byte{byte(i), byte(i >> 8)})
	}
	for b.Loop() {
		Hash(dst, wide, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/point")
}

func BenchmarkCheck(b *testing.B) {
	points := hashed(b, 1<<16)
	for b.Loop() {
		Check(points)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<16), "ns/point")
}

// BenchmarkX25519 is why Mul uses the library that it does.
func BenchmarkX25519(b *testing.B) {
	u := hashed(b, 1)
	b.Run("circl", func(b *testing.B) {
		k, p, out := x25519.Key{1, 2, 3}, x25519.Key(u), x25519.Key{}
		for b.Loop() {
			x25519.Shared(&out, &k, &p)
		}
	})
	b.Run("crypto/ecdh", func(b *testing.B) {
		secret := [32]byte{1, 2, 3}
		k, _ := ecdh.X25519().NewPrivateKey(secret[:])
		for b.Loop() {
			p, _ := ecdh.X25519().NewPublicKey(u)
			k.ECDH(p)
		}
	})
}
