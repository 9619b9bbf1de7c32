package secagg

import (
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/contract"
)

// testChunk is the chunk of sums that are to have many, in bytes.
const testChunk = 64

// lengths are those at which chunking could go wrong, in words.
func lengths(r Ring) []int {
	e := contract.Encoding(r)
	c := int(e.Count(int64(e.Chunk(testChunk))))
	return []int{c + 1, c, c - 1, 3*c + 5, 1, 0}
}

// TestMaskedSumsAreExact sums to every root along every topology in every ring: at every length
// for few parties, at each length in turn for many.
func TestMaskedSumsAreExact(t *testing.T) {
	for q := MinParties; q <= 9; q++ {
		t.Run(fmt.Sprintf("%d parties", q), func(t *testing.T) {
			l := newTestNetwork(t, q, testChunk)
			rng := mrand.New(mrand.NewPCG(uint64(q), 1))
			for _, topology := range topologies {
				m := l.masked(t, topology)
				for root := range q {
					for i, ring := range rings {
						all := lengths(ring)
						if q > 4 {
							all = all[(root+i)%len(all):][:1]
						}
						for _, n := range all {
							checkSum(t, l, m, ring, root, randomVectors(rng, q, n))
						}
					}
				}
			}
		})
	}
}

// randomVectors draws a vector of n words for each party.
func randomVectors(rng *mrand.Rand, q, n int) [][]uint64 {
	vectors := make([][]uint64, q)
	for i := range vectors {
		vectors[i] = make([]uint64, n)
		for j := range vectors[i] {
			vectors[i][j] = rng.Uint64()
		}
	}
	return vectors
}

// checkSum sums the parties' vectors, cut to the ring's words, and compares with the plain total.
func checkSum(t testing.TB, l *testNetwork, m []*Masked, ring Ring, root int, vectors [][]uint64) {
	t.Helper()
	want := make([]uint64, len(vectors[0]))
	got := make([][]uint64, len(vectors))
	for i, v := range vectors {
		got[i] = make([]uint64, len(v))
		for j, w := range v {
			got[i][j] = w & modulus(ring)
			want[j] = (want[j] + w) & modulus(ring)
		}
	}
	own := slices.Clone(got[(root+1)%len(got)])
	l.Must(t, func(i int) error { return sumWords(t.Context(), m[i], ring, root, got[i]) })
	if !slices.Equal(got[root], want) {
		t.Errorf("%v, root %d, %d words: the total is %x, want %x", ring, root, len(want), got[root], want)
	}
	if !slices.Equal(got[(root+1)%len(got)], own) {
		t.Errorf("%v, root %d: a vector that is not the root's was changed", ring, root)
	}
}

// TestMaskedSumsOfAnything lets rapid look for vectors that are not added exactly.
func TestMaskedSumsOfAnything(t *testing.T) {
	testNetworks := []*testNetwork{newTestNetwork(t, 3, testChunk), newTestNetwork(t, 4, testChunk),
		newTestNetwork(t, 5, testChunk)}
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SampledFrom(testNetworks).Draw(rt, "parties")
		q := len(l.IDs)
		ring := rapid.SampledFrom(rings).Draw(rt, "ring")
		m := l.masked(t, rapid.SampledFrom(topologies).Draw(rt, "topology"))
		n := rapid.IntRange(0, 40).Draw(rt, "words")
		vectors := make([][]uint64, q)
		for i := range vectors {
			vectors[i] = rapid.SliceOfN(rapid.Uint64(), n, n).Draw(rt, fmt.Sprintf("vector %d", i))
		}
		checkSum(t, l, m, ring, rapid.IntRange(0, q-1).Draw(rt, "root"), vectors)
	})
}

func TestNewMaskedRefuses(t *testing.T) {
	l := newTestNetwork(t, 2, 0)
	_, err := NewMasked(l.sessions[0], l.IDs, contract.Tree)
	wantError(t, err, "masked sums need at least 3 parties, this session has 2: the root of a sum of two knows the other's addend")
	_, err = NewMasked(l.sessions[0], append(l.IDs, l.IDs[0]), contract.Tree)
	wantError(t, err, "masked sums: 3 ids for 2 parties")
}

func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestRingLanes(t *testing.T) {
	rng := mrand.New(mrand.NewPCG(1, 2))
	for _, r := range rings {
		for words := range 80 {
			a, b := make([]byte, contract.Encoding(r).Size(words)), make([]byte, contract.Encoding(r).Size(words))
			for i := range a {
				a[i], b[i] = byte(rng.Uint32()), byte(rng.Uint32())
			}
			checkLanes(t, r, a, b)
		}
	}
}

// checkLanes compares Add and Sub with arithmetic on single words.
func checkLanes(t testing.TB, r Ring, a, b []byte) {
	t.Helper()
	sum, diff := slices.Clone(a), slices.Clone(a)
	r.Add(sum, b)
	r.Sub(diff, b)
	for w := range int(contract.Encoding(r).Count(int64(len(a)))) {
		x, y := word(r, a, w), word(r, b, w)
		if word(r, sum, w) != (x+y)&modulus(r) || word(r, diff, w) != (x-y)&modulus(r) {
			t.Fatalf("%v word %d of %d bytes: %x and %x give %x and %x", r, w, len(a), x, y, word(r, sum, w), word(r, diff, w))
		}
	}
}

// FuzzRings looks for words that are not added as single words are.
func FuzzRings(f *testing.F) {
	f.Add([]byte("\x00\x00\xff\xff\x00\x80\xff\x7f\x01\x00"), []byte("\x00\x00\x01\x00\x00\x80\x01\x00\xff\xff"))
	f.Add(make([]byte, 200), make([]byte, 200))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, r := range rings {
			e := contract.Encoding(r)
			n := e.Size(int(e.Count(int64(min(len(a), len(b))))))
			checkLanes(t, r, a[:n], b[:n])
		}
	})
}
