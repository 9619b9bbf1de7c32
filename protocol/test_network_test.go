package protocol_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"pgregory.net/rapid"
)

// testNetwork is a federation whose members are in a session, once it is open.
type testNetwork struct {
	*testnet.Federation
	meshes   []protocol.Mesh
	sessions []*protocol.Session
	budgets  []*contract.Budget // of the last session; see holdTo

	recorders []protocol.Recorder                        // by party; nil: none
	contract  *contract.Contract                         // nil: parties may send anything
	wrap      func(i int, m protocol.Mesh) protocol.Mesh // nil: meshes as they are
}

// newTestNetwork makes a network of the named parties, who have opened no session yet.
func newTestNetwork(t testing.TB, names ...string) *testNetwork {
	t.Helper()
	return &testNetwork{Federation: testnet.Found(t, names...)}
}

// opened is a test network of the named parties with a session open.
func opened(t testing.TB, chunk int, names ...string) *testNetwork {
	t.Helper()
	l := newTestNetwork(t, names...)
	l.mustOpen(t, 1, chunk)
	return l
}

// numbered is a test network of q parties with a session open.
func numbered(t testing.TB, q, chunk int) *testNetwork {
	t.Helper()
	return opened(t, chunk, testnet.Numbered(q)...)
}

// open opens a session of the given number. A party that fails leaves it, as a node does.
func (l *testNetwork) open(ctx context.Context, number uint32, chunk int) (errs []error) {
	l.meshes, l.budgets = make([]protocol.Mesh, len(l.IDs)), make([]*contract.Budget, len(l.IDs))
	l.sessions, errs = l.Open(ctx, testnet.Meeting{Number: number, Contract: l.contract, Chunk: chunk,
		Mesh: func(i int, m protocol.Mesh) protocol.Mesh {
			if l.wrap != nil {
				m = l.wrap(i, m)
			}
			l.meshes[i] = m
			return m
		},
		Config: func(i int, c *protocol.SessionConfig) {
			if l.recorders != nil {
				c.Recorder = l.recorders[i]
			}
			l.budgets[i] = c.Budget
		}})
	return errs
}

// mustOpen is open where nobody may fail.
func (l *testNetwork) mustOpen(t testing.TB, number uint32, chunk int) {
	t.Helper()
	must(t, errors.Join(l.open(t.Context(), number, chunk)...))
}

// each is Each where a party that fails closes its mesh, so that the others see it go.
func (l *testNetwork) each(part func(i int) error) []error {
	return l.Each(func(i int) error {
		err := part(i)
		if err != nil {
			l.meshes[i].Close()
		}
		return err
	})
}

// must runs part at every party, none of which may fail.
func (l *testNetwork) must(t testing.TB, part func(i int) error) {
	t.Helper()
	if err := errors.Join(l.each(part)...); err != nil {
		t.Fatal(err)
	}
}

// reduction is a sum of 64-bit words in the clear, and what the root has been given of it.
type reduction struct {
	protocol.Reduction
	stored []uint64
}

// newReduction makes a sum of n words, all equal to word at this party.
func newReduction(plan contract.Plan, n int, word uint64) *reduction {
	r := &reduction{}
	r.Reduction = protocol.Reduction{
		Kind: "angles", Class: contract.ClassMasked, Plan: plan, Size: 8 * n,
		Load: func(_ int, chunk []byte) error {
			for i := 0; i < len(chunk); i += 8 {
				binary.LittleEndian.PutUint64(chunk[i:], word)
			}
			return nil
		},
		Add: func(dst, src []byte) {
			for i := 0; i < len(dst); i += 8 {
				binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(dst[i:])+binary.LittleEndian.Uint64(src[i:]))
			}
		},
		Store: func(_ int, chunk []byte) error {
			for i := 0; i < len(chunk); i += 8 {
				r.stored = append(r.stored, binary.LittleEndian.Uint64(chunk[i:]))
			}
			return nil
		},
	}
	return r
}

// holdTo has each party send what a contract with these operations lists, and nothing else.
func (l *testNetwork) holdTo(t testing.TB, topology contract.Topology, operations ...contract.Operation) {
	t.Helper()
	l.contract = l.Agree(t, contract.Job{Topology: topology.String()}, 0, nil, operations)
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
