package cohort

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// bitString packs words into one number, the first word lowest: the dumb oracle of pack.
func bitString(words []uint64, bits int) *big.Int {
	n := new(big.Int)
	for i, w := range words {
		w &= ^uint64(0) >> (64 - bits)
		n.Or(n, new(big.Int).Lsh(new(big.Int).SetUint64(w), uint(i*bits)))
	}
	return n
}

func TestPackIsTheBitsOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bits := rapid.IntRange(1, 64).Draw(r, "bits")
		words := rapid.SliceOfN(rapid.Uint64(), 1, 200).Draw(r, "words")
		size := packed{Vector{Words: len(words), Bits: bits}}.size()
		wire := make([]byte, size)
		pack(wire, toBytes(words), bits)
		want := bitString(words, bits).FillBytes(make([]byte, size))
		slices.Reverse(want) // lowest first
		if !bytes.Equal(wire, want) {
			r.Fatalf("%d bits of %x are packed as %x, want %x", bits, words, wire, want)
		}
	})
}

func TestPackedWordsAreAdded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bits := rapid.IntRange(1, 64).Draw(r, "bits")
		a := rapid.SliceOfN(rapid.Uint64(), 1, 200).Draw(r, "a")
		b := rapid.SliceOfN(rapid.Uint64(), len(a), len(a)).Draw(r, "b")
		wire := make([]byte, packed{Vector{Words: len(b), Bits: bits}}.size())
		pack(wire, toBytes(b), bits)
		sum := toBytes(a)
		addPacked(sum, wire, bits)
		got, want := toWords(sum), make([]uint64, len(a))
		for i := range a {
			want[i] = a[i] + b[i]
		}
		truncate(got, bits)
		truncate(want, bits)
		if !slices.Equal(got, want) {
			r.Fatalf("%d bits: %x and %x add up to %x, want %x", bits, a, b, got, want)
		}
	})
}

func TestMisfitFindsTheFirstWordThatIsTooLarge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bits := rapid.IntRange(1, 64).Draw(r, "bits")
		words := rapid.SliceOf(rapid.Uint64()).Draw(r, "words")
		want := slices.IndexFunc(words, func(w uint64) bool { return new(big.Int).SetUint64(w).BitLen() > bits })
		if got := misfit(words, bits); got != want {
			r.Fatalf("word %d of %x does not fit %d bits, want %d", got, words, bits, want)
		}
	})
}

func TestSetsAreSets(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(r, "parties")
		listOf := func(label string) []int {
			return rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID).Draw(r, label)
		}
		la, lb := listOf("a"), listOf("b")
		slices.Sort(la)
		a, b := newSet(n, la...), newSet(n, lb...)
		in := func(i int) bool { return slices.Contains(lb, i) }
		both := slices.DeleteFunc(slices.Clone(la), func(i int) bool { return !in(i) })
		rest := slices.DeleteFunc(slices.Clone(la), in)
		joined := a.clone()
		joined.join(b)
		switch {
		case a.count() != len(la) || !slices.Equal(a.members(), la):
			r.Fatalf("%v has members %v", la, a.members())
		case !slices.Equal(a.without(b).members(), rest):
			r.Fatalf("%v without %v is %v", la, lb, a.without(b).members())
		case !slices.Equal(b.among(la), both):
			r.Fatalf("%v among %v is %v", lb, la, b.among(la))
		case a.within(b) != (len(rest) == 0) || a.meets(b) != (len(both) > 0):
			r.Fatalf("%v and %v: within %v, meets %v", la, lb, a.within(b), a.meets(b))
		case joined.count() != len(lb)+len(rest) || !a.within(joined) || !b.within(joined):
			r.Fatalf("%v joined with %v is %v", la, lb, joined.members())
		}
		if again, err := parseSet(a, n); err != nil || !bytes.Equal(again, a) {
			r.Fatalf("set %x is read as %x, error %v", a, again, err)
		}
	})
}

// TestGoldenBegin holds the layout of a begin, byte for byte.
func TestGoldenBegin(t *testing.T) {
	key := bytes.Repeat([]byte{0xab}, contract.SessionKeySize)
	b := begin{
		vector: Vector{Kind: "updates", Words: 10_000, Bits: 26}, patience: 20 * time.Second,
		candidates: newSet(11, 1, 2, 10), keys: []clientKey{{2, key}, {10, key}},
	}
	want := "1a" + // 26 bits
		"0000000000002710" + // 10,000 words
		"00004e20" + // 20,000 ms
		"0000000000000000" + // repeats no sum
		"07" + hex.EncodeToString([]byte("updates")) +
		"0604" + // parties 1, 2 and 10
		"0002" + // keys
		"0002" + hex.EncodeToString(key) +
		"000a" + hex.EncodeToString(key)
	if got := hex.EncodeToString(b.encode()); got != want {
		t.Errorf("begin is %s, want %s", got, want)
	}
}

// TestGoldenDeposits holds the sizes of deposits: two secrets of (k+1-t) points of 40 bytes and a
// digest of 32, k keys of 32 and a tag of 16.
func TestGoldenDeposits(t *testing.T) {
	for _, c := range []struct{ k, t, bytes int }{
		{2, 2, 224}, {7, 5, 544}, {9, 7, 608}, {31, 21, 1952}, {20, 14, 1280}, {38, 26, 2336},
	} {
		if got := depositSize(c.k, c.t); got != c.bytes {
			t.Errorf("a deposit for %d neighbours and threshold %d has %d bytes, want %d", c.k, c.t, got, c.bytes)
		}
	}
}

func FuzzParseBegin(f *testing.F) {
	key := make([]byte, contract.SessionKeySize)
	full := &begin{vector: Vector{Kind: "updates", Words: 3, Bits: 26}, candidates: newSet(11, 1, 2),
		keys: []clientKey{{2, key}, {7, key}}}
	bare := &begin{vector: Vector{Kind: "x", Words: MaxWords, Bits: 64}, candidates: newSet(11)}
	f.Add(full.encode())
	f.Add(bare.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, m []byte) {
		b, err := parseBegin(m, 11)
		if err != nil {
			return
		}
		if again := b.encode(); !bytes.Equal(again, m) {
			t.Fatalf("%x is read and written as %x", m, again)
		}
		if b.vector.check() != nil || len(b.keys) > 11 {
			t.Fatalf("%x is read as %+v", m, b)
		}
	})
}

func FuzzParseDeposit(f *testing.F) {
	f.Add(make([]byte, depositSize(7, 5)))
	f.Add(bytes.Repeat([]byte{0xff}, depositSize(7, 5)))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, m []byte) {
		d, err := parseDeposit(m, 7, 5)
		if err != nil {
			return
		}
		if again := d.encode(); !bytes.Equal(again, m) {
			t.Fatalf("%x is read and written as %x", m, again)
		}
	})
}

func FuzzParseShares(f *testing.F) {
	f.Add(make([]byte, 3*shamir.Size))
	f.Add(bytes.Repeat([]byte{0xff}, 3*shamir.Size))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, m []byte) {
		shares, err := parseShares(m, 3)
		if err != nil {
			return
		}
		var again []byte
		for i := range shares {
			again = shares[i].Append(again)
		}
		if !bytes.Equal(again, m) {
			t.Fatalf("%x is read and written as %x", m, again)
		}
	})
}

func FuzzParseSet(f *testing.F) {
	f.Add([]byte{0xfe, 0x07}, uint8(11))
	f.Add([]byte{0xfe, 0x08}, uint8(11))
	f.Add([]byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, m []byte, parties uint8) {
		s, err := parseSet(m, int(parties))
		if err != nil {
			return
		}
		if !bytes.Equal(newSet(int(parties), s.members()...), m) {
			t.Fatalf("%x is read as %v of %d", m, s.members(), parties)
		}
	})
}
