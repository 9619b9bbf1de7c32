package cohort

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// hidingLimit is the p-value below which a view counts as not hidden. Keys are fresh in every run,
// and a run asks hundreds of times: less than one in a billion fails by chance.
const hidingLimit = 1e-12

// hidden is a vector of words of 16 bits.
var hidden = Vector{Kind: "updates", Words: hiddenWords, Bits: 16}

// eavesdropper keeps what one party receives of each client's vectors in three sums: of zeros, of
// ones, and of zeros again.
type eavesdropper struct {
	tap   *testnet.Tap
	views map[keys.ID]*[3][]byte
}

// newEavesdropper begins to listen at a party.
func newEavesdropper(l *testNetwork, party int) *eavesdropper {
	return &eavesdropper{tap: l.Tap(l.IDs[party]), views: make(map[keys.ID]*[3][]byte)}
}

// sort joins what was heard, sender by sender and sum by sum, without the sets of clients in front.
func (e *eavesdropper) sort(parties int) {
	for _, f := range e.tap.Frames() {
		if kindOfFrame(f.Data) != hidden.Kind {
			continue
		}
		if e.views[f.From] == nil {
			e.views[f.From] = new([3][]byte)
		}
		view := &e.views[f.From][binary.BigEndian.Uint64(f.Data[16:])-1]
		*view = append(*view, f.Data[68+len(hidden.Kind):]...)
	}
	for _, view := range e.views {
		for k := range view {
			view[k] = view[k][setSize(parties):]
		}
	}
}

// listen runs the three sums among n clients and returns what a party has heard.
func listen(t *testing.T, backend Backend, topology contract.Topology, n, party int) *eavesdropper {
	t.Helper()
	l := &testNetwork{spec: Spec{Backend: backend, Topology: topology}}
	l.open(t, n)
	e := newEavesdropper(l, party)
	inputs := [3][]uint64{make([]uint64, hidden.Words), make([]uint64, hidden.Words), make([]uint64, hidden.Words)}
	for i := range inputs[1] {
		inputs[1][i] = 1<<hidden.Bits - 1
	}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		for range inputs {
			if _, err := s.Sum(ctx, hidden, upTo(n)); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context, _ int, c *Client) error {
		for _, words := range inputs {
			if err := c.Sum(ctx, hidden, words); err != nil {
				return err
			}
		}
		return nil
	})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	e.sort(n + 1)
	return e
}

// leaks names the tests in which three views do not look like noise.
func leaks(view *[3][]byte) []string {
	var found []string
	check := func(what string, p float64) {
		if !(p > hidingLimit) {
			found = append(found, fmt.Sprintf("%s: p = %g", what, p))
		}
	}
	difference := bytes.Clone(view[2])
	for i := 0; i+1 < len(difference); i += 2 {
		d := binary.LittleEndian.Uint16(view[2][i:]) - binary.LittleEndian.Uint16(view[0][i:])
		binary.LittleEndian.PutUint16(difference[i:], d)
	}
	zeros, ones, differences := count(view[0]), count(view[1]), count(difference)
	check("zeros", drawn.ChiSquareUniform(zeros))
	check("ones", drawn.ChiSquareUniform(ones))
	check("difference of two sums", drawn.ChiSquareUniform(differences))
	check("zeros and ones", drawn.ChiSquareSame(zeros, ones))
	return found
}

// count counts the 16-bit words of a view; of a short view, their upper bytes.
func count(view []byte) []int64 {
	bits := 16
	if len(view) < 12<<16 {
		bits = 8
	}
	counts := make([]int64, 1<<bits)
	for ; len(view) >= 2; view = view[2:] {
		counts[binary.LittleEndian.Uint16(view)>>(16-bits)]++
	}
	return counts
}

// TestViewsHideTheVectors: neither the inner nodes of a tree or ring, nor the server before it
// unmasks, can tell vectors of zeros from vectors of ones.
func TestViewsHideTheVectors(t *testing.T) {
	for _, c := range []struct {
		topology              contract.Topology
		party, clients, heard int
	}{
		{contract.Star, 0, 4, 4},
		{contract.Tree, 4, 7, 2},
		{contract.Ring, 1, 4, 1},
		{contract.Ring, 3, 4, 1},
	} {
		t.Run(fmt.Sprintf("%s, party %d", c.topology, c.party), func(t *testing.T) {
			e := listen(t, Masked, c.topology, c.clients, c.party)
			if len(e.views) != c.heard {
				t.Fatalf("it hears %d clients, want %d", len(e.views), c.heard)
			}
			for _, view := range e.views {
				if got := len(view[0]); got != 2*hidden.Words {
					t.Fatalf("it hears %d bytes, want %d", got, 2*hidden.Words)
				}
				for _, leak := range leaks(view) {
					t.Error(leak)
				}
			}
		})
	}
}

// TestPlainViewsLeak is the control: without masks all four tests fail.
func TestPlainViewsLeak(t *testing.T) {
	e := listen(t, Plain, contract.Ring, 3, 1)
	for _, view := range e.views {
		if found := leaks(view); len(found) != 4 {
			t.Errorf("only these tests find a sum without masks: %q", found)
		}
	}
}
