package secagg

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

var (
	rings      = []Ring{Turns16, Turns32, Fixed64, Packed(11)}
	topologies = []contract.Topology{contract.Tree, contract.Star, contract.Ring}
)

// testNetwork is a whole federation in one process, with a session open.
type testNetwork struct {
	*testnet.Federation
	sessions []*protocol.Session
}

// newTestNetwork opens a session of q parties whose chunks have the given bytes, 0 for the default.
func newTestNetwork(t testing.TB, q, chunk int) *testNetwork {
	t.Helper()
	l := &testNetwork{Federation: testnet.Found(t, testnet.Numbered(q)...)}
	l.sessions = l.Sessions(t, testnet.Meeting{Chunk: chunk})
	return l
}

// masked makes every party's sums.
func (l *testNetwork) masked(t testing.TB, topology contract.Topology) []*Masked {
	t.Helper()
	all := make([]*Masked, len(l.IDs))
	for i, s := range l.sessions {
		var err error
		if all[i], err = NewMasked(s, l.IDs, topology); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// sumWords is SumTurns, SumTurns32 or SumWords on words that hold a ring's words one by one.
func sumWords(ctx context.Context, m *Masked, ring Ring, root int, v []uint64) error {
	switch ring {
	case Turns16:
		return sumNarrow(v, func(w []uint16) error { return m.SumTurns(ctx, "angles", root, w) })
	case Turns32:
		return sumNarrow(v, func(w []uint32) error { return m.SumTurns32(ctx, "angles", root, w) })
	case Fixed64:
		return m.SumWords(ctx, "angles", root, v)
	}
	return m.SumPacked(ctx, "angles", root, contract.Encoding(ring).Bits(), v)
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

// modulus returns the bits that a ring's words have.
func modulus(r Ring) uint64 { return ^uint64(0) >> (64 - contract.Encoding(r).Bits()) }

// word reads word i of a vector on the wire.
func word(r Ring, b []byte, i int) uint64 {
	width, at := contract.Encoding(r).Bits(), i*contract.Encoding(r).Bits()
	var w [9]byte
	copy(w[:], b[at/8:min(len(b), (at+width+7)/8)])
	return binary.LittleEndian.Uint64(w[:]) >> (at % 8) & modulus(r)
}

// sumFrame is a frame of a sum as its receiver sees it. The offsets are those of the header's
// layout in package protocol, read here a second time.
type sumFrame struct {
	from, to  keys.ID
	class     contract.Class
	operation uint64
	payload   []byte
}

// sumFrames reads what a tap recorded.
func sumFrames(tap *testnet.Tap) []sumFrame {
	var all []sumFrame
	for _, f := range tap.Frames() {
		all = append(all, sumFrame{
			from: f.From, to: f.To, class: contract.Class(f.Data[1]),
			operation: binary.BigEndian.Uint64(f.Data[16:]), payload: f.Data[68+int(f.Data[2]):],
		})
	}
	return all
}
