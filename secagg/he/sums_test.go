package he

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// sumWords is SumTurns, SumTurns32 or SumWords on words that hold a ring's words one by one.
func sumWords(ctx context.Context, s *Sums, ring secagg.Ring, root int, v []uint64) error {
	switch ring {
	case secagg.Turns16:
		return sumNarrow(v, func(w []uint16) error { return s.SumTurns(ctx, "angles", root, w) })
	case secagg.Turns32:
		return sumNarrow(v, func(w []uint32) error { return s.SumTurns32(ctx, "angles", root, w) })
	}
	return s.SumWords(ctx, "angles", root, v)
}

// sumNarrow runs sum on narrow copies of the words.
func sumNarrow[W uint16 | uint32](v []uint64, sum func([]W) error) error {
	narrow := make([]W, len(v))
	for i, w := range v {
		narrow[i] = W(w)
	}
	err := sum(narrow)
	for i, w := range narrow {
		v[i] = uint64(w)
	}
	return err
}

// checkSum sums random vectors and compares with the ring.
func checkSum(t *testing.T, l *testNetwork, ring secagg.Ring, root, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(root), uint64(n)))
	vectors, kept := make([][]uint64, len(l.IDs)), make([][]uint64, len(l.IDs))
	for i := range vectors {
		vectors[i] = randomWords(r, ring, n)
		kept[i] = slices.Clone(vectors[i])
	}
	want := ringSum(ring, vectors)
	l.Must(t, func(i int) error { return sumWords(t.Context(), l.sums[i], ring, root, vectors[i]) })
	for i := range vectors {
		if i != root && !slices.Equal(vectors[i], kept[i]) {
			t.Errorf("%s to %d: the vector of party %d, which is not the root, changed", ring, root, i)
		}
	}
	if !slices.Equal(vectors[root], want) {
		t.Errorf("%s of %d words to %d of %d: the total is not the ring sum", ring, n, root, len(l.IDs))
	}
}

func TestSumsEqualRingSumsForEveryRootAndTopology(t *testing.T) {
	for _, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
		l := newTestNetwork(t, 4, 0, topology, nil)
		for root := range 4 {
			checkSum(t, l, secagg.Ring(1+root%3), root, 50+root)
		}
	}
}

func TestSumsEqualRingSumsInEveryRing(t *testing.T) {
	l := newTestNetwork(t, 3, 0, contract.Tree, nil)
	for _, ring := range []secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64} {
		for _, n := range []int{0, 1, Degree, Degree + 3} {
			checkSum(t, l, ring, 2, n)
		}
	}
}

func TestSumsEqualRingSumsForEveryChunk(t *testing.T) {
	for _, chunk := range []int{1 << 16, PolySize - 8, 3*PolySize + 8, 1<<16 + 24} {
		checkSum(t, newTestNetwork(t, 3, chunk, contract.Ring, nil), secagg.Turns32, 1, 9000)
	}
}

func TestFixedSumsAreExact(t *testing.T) {
	l := newTestNetwork(t, 3, 0, contract.Tree, nil)
	r := rand.New(rand.NewPCG(7, 8))
	for _, f := range []secagg.Fixed{{Bits: 30, Bound: 4}, {Bits: 0, Bound: 100}, {Bits: 40, Bound: 1 << 20}} {
		vectors, want := make([][]float64, 3), make([]float64, 100)
		for i := range vectors {
			vectors[i] = []float64{f.Bound, -f.Bound, 0}
			for range 97 {
				vectors[i] = append(vectors[i], (2*r.Float64()-1)*f.Bound)
			}
			for j, v := range vectors[i] {
				want[j] += math.RoundToEven(math.Ldexp(v, f.Bits))
			}
		}
		l.Must(t, func(i int) error { return l.sums[i].SumFixed(t.Context(), "scores", 0, f, vectors[i]) })
		for j := range want {
			if got := math.Ldexp(vectors[0][j], f.Bits); got != want[j] && math.Abs(want[j]) < 1<<53 {
				t.Fatalf("%+v: element %d is %v, want %v", f, j, got, want[j])
			}
		}
	}
}

func TestFixedSumsRefuseWhatDoesNotFit(t *testing.T) {
	l := newTestNetwork(t, 3, 0, contract.Tree, nil)
	s, ctx, before := l.sums[0], t.Context(), l.sessions[0].Operations()
	f := secagg.Fixed{Bits: 20, Bound: 2}
	for _, v := range []float64{2.5, -3, math.NaN(), math.Inf(1)} {
		err := s.SumFixed(ctx, "scores", 0, f, []float64{0, v})
		var out *secagg.RangeError
		if !errors.As(err, &out) || out.Element != 1 || out.Vector != "scores" {
			t.Errorf("%v: error %v, want a RangeError of element 1 of scores", v, err)
		}
	}
	wantError(t, s.SumFixed(ctx, "scores", 0, secagg.Fixed{Bits: 62, Bound: 2}, nil), "scores: 3 addends of up to 2 with 62 bits after the point overflow 64 bits")
	wantError(t, s.SumFixed(ctx, "scores", 0, secagg.Fixed{Bits: 63, Bound: 2}, nil),
		"want 0 to 62 bits and a positive bound")
	wantError(t, s.SumTurns(ctx, "a-kind-of-19-letter", 0, make([]uint16, 1)), "want at most 18 characters")
	wantError(t, s.SumTurns(ctx, "angles", 3, make([]uint16, 1)), "angles: root is party 3, want 0 to 2")
	if l.sessions[0].Operations() != before {
		t.Error("a refused sum began an operation")
	}
}

func TestSumsRefuseTwoParties(t *testing.T) {
	l := openSessions(t, 2, 0, nil)
	_, err := NewSums(t.Context(), l.sessions[0], contract.Tree, keys.Hash{})
	wantError(t, err, "homomorphic sums need at least 3 parties, this session has 2")
}

func TestSumsInSeveralBatchesAreExact(t *testing.T) {
	l := newTestNetwork(t, 3, 0, contract.Tree, nil)
	for _, s := range l.sums {
		s.ciphertexts = 4
	}
	checkSum(t, l, secagg.Turns16, 1, 5*Degree+10) // batches of two, two and two groups
}

// opening is an entry of a transcript with what was opened.
type opening struct {
	entry   protocol.Entry
	payload []byte
}

// openings records what a party learned.
type openings struct{ list []opening }

func (o *openings) Record(e protocol.Entry, payload []byte) error {
	if e.Event == protocol.EventOpened {
		o.list = append(o.list, opening{e, slices.Clone(payload)})
	}
	return nil
}

func (o *openings) Link(int) (keys.Hash, error) { return keys.Hash{}, nil }
func (o *openings) Sync() error                 { return nil }
func (o *openings) Past() (protocol.Past, error) {
	return protocol.Past{Links: make([]protocol.LinkState, 3)}, nil
}
func (o *openings) States() ([]protocol.LinkState, error) { return make([]protocol.LinkState, 3), nil }
func (o *openings) Former(int, uint32, uint64, uint64) (protocol.Former, error) {
	return protocol.Former{}, nil
}

func TestOnlyTheRootRecordsAnOpeningAndItIsTheTotal(t *testing.T) {
	recorders := []*openings{{}, {}, {}}
	l := newTestNetwork(t, 3, 0, contract.Tree, func(i int) protocol.Recorder { return recorders[i] })
	vectors := [][]uint16{{1, 65535, 3}, {10, 20, 30}, {100, 200, 300}}
	l.Must(t, func(i int) error { return l.sums[i].SumTurns(t.Context(), "angles", 2, vectors[i]) })
	if len(recorders[0].list)+len(recorders[1].list) != 0 {
		t.Error("a party that is not the root recorded an opening")
	}
	list := recorders[2].list
	if len(list) != 1 {
		t.Fatalf("the root recorded %d openings, want 1", len(list))
	}
	e, want := list[0].entry, []byte{111, 0, 219, 0, 333 - 256, 1}
	if e.Kind != "angles" || e.Encoding != contract.Turns16 || e.Size != 6 || !slices.Equal(list[0].payload, want) {
		t.Errorf("opening %+v of %v, want 6 bytes of angles, %v", e, list[0].payload, want)
	}
}

func TestEverythingOnTheWireIsOfTheStatedClass(t *testing.T) {
	l := openSessions(t, 3, 0, nil)
	tap := l.Tap(l.IDs[0])
	l.Must(t, func(i int) (err error) {
		if l.sums[i], err = NewSums(t.Context(), l.sessions[i], contract.Star, keys.Hash{1}); err != nil {
			return err
		}
		return l.sums[i].SumTurns(t.Context(), "angles", 0, make([]uint16, 5))
	})
	seen := make(map[string]int)
	for _, f := range tap.Frames() {
		kind := string(f.Data[68 : 68+int(f.Data[2])])
		seen[fmt.Sprintf("%s (%s)", kind, contract.Class(f.Data[1]))]++
	}
	for _, want := range []string{"he-key share (he)", "angles (he)", "angles share (he)"} {
		if seen[want] != 2 {
			t.Errorf("the root received %d frames %s, want 2; all: %v", seen[want], want, seen)
		}
	}
}
