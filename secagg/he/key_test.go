package he

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg"
	"pgregory.net/rapid"
)

// key is a collective key with all its holders in one process.
type key struct {
	scheme  *Scheme
	public  *PublicKey
	holders []*Holder
}

// newKey makes a key of which `needed` holders decrypt.
func newKey(t testing.TB, holders, needed int) *key {
	t.Helper()
	k := &key{scheme: newTestScheme(t)}
	seed, sum := keys.HashOf("test seed"), make([]byte, PolySize)
	for i := range holders {
		h, err := k.scheme.NewHolder(i, holders, needed)
		must(t, err)
		share, err := h.PublicShare(seed)
		must(t, err)
		must(t, AddRLWE(sum, share))
		k.holders = append(k.holders, h)
	}
	var err error
	k.public, err = k.scheme.NewPublicKey(seed, sum)
	must(t, err)
	if needed < holders {
		k.deal(t)
	}
	return k
}

// deal gives every holder what every other has for it.
func (k *key) deal(t testing.TB) {
	t.Helper()
	for i, from := range k.holders {
		for j, to := range k.holders {
			if i != j {
				dealt, err := from.Deal(j)
				must(t, err)
				must(t, to.Accept(i, dealt))
			}
		}
	}
}

// total encrypts vectors and adds the ciphertexts.
func (k *key) total(t testing.TB, p *Packing, vectors [][]uint64) (c0, c1 []byte) {
	t.Helper()
	sum := make([]byte, p.Ciphertexts(len(vectors[0]))*CiphertextSize)
	for _, v := range vectors {
		c, err := k.public.Encrypt(p, v)
		must(t, err)
		must(t, AddRLWE(sum, c))
	}
	c0, c1, err := Split(sum)
	must(t, err)
	return c0, c1
}

// shares adds the decryption shares of the given holders.
func (k *key) shares(t testing.TB, id uint64, p *Packing, c1 []byte, holders, active []int) []byte {
	t.Helper()
	sum := make([]byte, len(c1))
	for _, i := range holders {
		s, err := k.holders[i].Share(id, p, c1, active)
		must(t, err)
		must(t, AddRLWE(sum, s))
	}
	return sum
}

func newTestScheme(t testing.TB) *Scheme {
	t.Helper()
	s, err := NewScheme()
	must(t, err)
	return s
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError fails unless err says want.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// randomWords returns words of a ring, extremes among them.
func randomWords(r *rand.Rand, ring secagg.Ring, n int) []uint64 {
	mask := ^uint64(0) >> (64 - 8*ring.WordSize())
	words := make([]uint64, n)
	for i := range words {
		switch words[i] = r.Uint64() & mask; r.IntN(16) {
		case 0:
			words[i] = mask
		case 1:
			words[i] = 0
		}
	}
	return words
}

// ringSum is the sum to compare with.
func ringSum(ring secagg.Ring, vectors [][]uint64) []uint64 {
	sum := make([]uint64, len(vectors[0]))
	for _, v := range vectors {
		for i, w := range v {
			sum[i] = (sum[i] + w) & (^uint64(0) >> (64 - 8*ring.WordSize()))
		}
	}
	return sum
}

// upTo lists 0 to n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestTotalsAreRingSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ holders, addends, words int }{{1, 1, 1}, {2, 2, 100}, {3, 3, Degree + 1},
		{5, 17, 300}, {9, 9, 50}} {
		k := newKey(t, c.holders, c.holders)
		for id, ring := range []secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64} {
			p, err := k.scheme.NewPacking(ring, c.addends, c.holders)
			must(t, err)
			var vectors [][]uint64
			for range c.addends {
				vectors = append(vectors, randomWords(r, ring, c.words))
			}
			c0, c1 := k.total(t, p, vectors)
			got := make([]uint64, c.words)
			must(t, p.Open(got, c0, k.shares(t, uint64(id), p, c1, upTo(c.holders), nil)))
			if !slices.Equal(got, ringSum(ring, vectors)) {
				t.Errorf("%+v, %s: the opened total is not the ring sum", c, ring)
			}
		}
	}
}

func TestSignedTotalsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	k := newKey(t, 3, 3)
	for id, bound := range []uint64{1, 1000, 1 << 40, 1 << 61, (1<<63 - 1) / 3} {
		p, err := k.scheme.NewSigned(bound, 3, 3)
		must(t, err)
		vectors := make([][]uint64, 3)
		for i := range vectors {
			vectors[i] = []uint64{bound, -bound, 0, bound, 1, ^uint64(0)}
			for range 200 {
				vectors[i] = append(vectors[i], r.Uint64N(2*bound+1)-bound)
			}
		}
		vectors[1][3] = -bound
		c0, c1 := k.total(t, p, vectors)
		got := make([]uint64, len(vectors[0]))
		must(t, p.Open(got, c0, k.shares(t, uint64(id), p, c1, upTo(3), nil)))
		if !slices.Equal(got, ringSum(secagg.Fixed64, vectors)) {
			t.Errorf("bound %d: the opened total is not the sum", bound)
		}
	}
}

func TestAnyThresholdOfHoldersOpens(t *testing.T) {
	k := newKey(t, 5, 3)
	p, err := k.scheme.NewPacking(secagg.Turns32, 4, 5)
	must(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	for id, active := range [][]int{{0, 1, 2}, {4, 2, 0}, {1, 3, 4}, {2, 3, 4}} {
		vectors := [][]uint64{randomWords(r, secagg.Turns32, 64), randomWords(r, secagg.Turns32, 64),
			randomWords(r, secagg.Turns32, 64)}
		c0, c1 := k.total(t, p, vectors)
		got := make([]uint64, 64)
		must(t, p.Open(got, c0, k.shares(t, uint64(id), p, c1, active, active)))
		if !slices.Equal(got, ringSum(secagg.Turns32, vectors)) {
			t.Errorf("holders %v: the opened total is not the ring sum", active)
		}
		err := p.Open(got, c0, k.shares(t, uint64(id)+100, p, c1, active[:2], active))
		wantError(t, err, "the shares do not open the ciphertext")
		for _, h := range k.holders {
			h.next = 0
		}
	}
}
