package secagg

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// hidingLimit is the p-value below which a view counts as not hidden. Keys are fresh in every run,
// and a run asks hundreds of times: less than one in a billion fails by chance.
const hidingLimit = 1e-12

// TestViewsHideTheInputs is property 2 of secure sums. Three sums run in one session: of nothing
// but zeros, of vectors that count to a thousand over and over, and of zeros again.
func TestViewsHideTheInputs(t *testing.T) {
	for _, ring := range rings {
		for topology, parties := range watched {
			t.Run(fmt.Sprintf("%v, %v", ring, topology), func(t *testing.T) {
				l := newTestNetwork(t, 4, 0)
				views := watch(t, l, ring, l.masked(t, topology), parties)
				for i, party := range parties {
					for _, leak := range leaks(ring, views[i]) {
						t.Errorf("party %d: %s", party, leak)
					}
				}
			})
		}
	}
}

// watch runs the three sums and returns what each of some parties received in each.
func watch(t *testing.T, l *testNetwork, ring Ring, m []*Masked, parties []int) [][3][]byte {
	t.Helper()
	var taps []*testnet.Tap
	for _, p := range parties {
		taps = append(taps, l.Tap(l.IDs[p]))
	}
	counting := make([]uint64, hidingWords(ring))
	for i := range counting {
		counting[i] = uint64(i % 1000)
	}
	zeros := make([]uint64, hidingWords(ring))
	for _, input := range [][]uint64{zeros, counting, zeros} {
		l.Must(t, func(i int) error {
			return sumWords(t.Context(), m[i], ring, 0, append([]uint64(nil), input...))
		})
	}
	views := make([][3][]byte, len(taps))
	for i, tap := range taps {
		views[i] = viewOf(t, tap)
	}
	return views
}

// viewOf joins the payloads of each of three sums.
func viewOf(t *testing.T, tap *testnet.Tap) (view [3][]byte) {
	t.Helper()
	frames := sumFrames(tap)
	for _, f := range frames {
		i := int(f.operation - frames[0].operation)
		view[i] = append(view[i], f.payload...)
	}
	return view
}

// leaks names the tests in which three views of equally long sums do not look like noise.
func leaks(ring Ring, view [3][]byte) []string {
	var found []string
	check := func(what string, p float64) {
		if !(p > hidingLimit) {
			found = append(found, fmt.Sprintf("%s: p = %g", what, p))
		}
	}
	difference := bytes.Clone(view[2])
	ring.Sub(difference, view[0])
	zeros, counting := countPairs(view[0]), countPairs(view[1])
	for name, c := range map[string][]int64{"zeros": zeros, "counting": counting,
		"difference of two sums": countPairs(difference)} {
		check(name+": bytes are uneven", drawn.ChiSquareUniform(bytesIn(c)))
		check(name+": 16-bit words are uneven", drawn.ChiSquareUniform(c))
	}
	check("bytes tell the inputs apart", drawn.ChiSquareSame(bytesIn(zeros), bytesIn(counting)))
	check("16-bit words tell the inputs apart", drawn.ChiSquareSame(zeros, counting))
	return found
}

// countPairs counts the 16-bit words of a view.
func countPairs(view []byte) []int64 {
	counts := make([]int64, 1<<16)
	for ; len(view) >= 2; view = view[2:] {
		counts[binary.LittleEndian.Uint16(view)]++
	}
	return counts
}

// bytesIn counts the bytes in counted 16-bit words.
func bytesIn(pairs []int64) []int64 {
	counts := make([]int64, 1<<8)
	for pair, n := range pairs {
		counts[pair&0xff] += n
		counts[pair>>8] += n
	}
	return counts
}

// TestUnmaskedSumsLeak is the control: without masks the same tests fail, all of them.
func TestUnmaskedSumsLeak(t *testing.T) {
	for _, ring := range rings {
		l := newTestNetwork(t, 4, 0)
		m := l.masked(t, contract.Ring)
		for _, party := range m {
			party.masks.pairs = nil
		}
		view := watch(t, l, ring, m, []int{2})[0]
		if found := leaks(ring, view); len(found) != 8 {
			t.Errorf("%v: only these tests find a sum without masks: %q", ring, found)
		}
	}
}

// TestRepeatedMasksLeak is the control for the difference of two sums: two runs of one sum with one
// mask hide each input alone, and show that they are the same.
func TestRepeatedMasksLeak(t *testing.T) {
	var view [3][]byte
	for i := range view {
		view[i] = make([]byte, 2*hidingWords(Turns16))
		rand.Read(view[i])
	}
	if found := leaks(Turns16, view); len(found) != 0 {
		t.Errorf("the tests find %q in noise", found)
	}
	view[2] = view[0]
	if found := leaks(Turns16, view); len(found) != 2 {
		t.Errorf("the tests find %q, want bytes and words of the difference", found)
	}
}

// TestPublishedSumsLeak: what a sum in the clear carries fails the same tests.
func TestPublishedSumsLeak(t *testing.T) {
	l := newTestNetwork(t, 4, 0)
	tap := l.Tap(l.IDs[2])
	l.Must(t, func(i int) error {
		v := make([]float64, hidingWords(Fixed64))
		for j := range v {
			v[j] = float64(j) / 3
		}
		return SumPublished(t.Context(), l.sessions[i], "angles", contract.PlanFor(contract.Ring, 4, 0), v)
	})
	counts := countPairs(viewOf(t, tap)[0])
	for what, p := range map[string]float64{
		"bytes": drawn.ChiSquareUniform(bytesIn(counts)), "words": drawn.ChiSquareUniform(counts),
	} {
		if !(p < hidingLimit) {
			t.Errorf("%s of a sum in the clear have p = %g", what, p)
		}
	}
}
