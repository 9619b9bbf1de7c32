package protocol_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// testNetwork is a federation in one process.
type testNetwork struct {
	net      *testnet.Network
	keys     []*keys.PrivateKey
	ids      []keys.ID
	parties  []contract.Party
	contract keys.Hash
	meshes   []protocol.Mesh
	sessions []*protocol.Session

	recorders []protocol.Recorder // by party; nil: none
	budgets   []*contract.Budget  // by party; nil: none

	wrap func(i int, m protocol.Mesh) protocol.Mesh // nil: meshes as they are
}

// newTestNetwork makes a network of the named parties, who have opened no room yet.
func newTestNetwork(t testing.TB, names ...string) *testNetwork {
	t.Helper()
	l := &testNetwork{contract: keys.HashOf("test contract")}
	for _, name := range names {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		l.keys, l.ids = append(l.keys, k), append(l.ids, k.ID())
		l.parties = append(l.parties, contract.Party{Name: name, ID: k.ID()})
	}
	l.net = testnet.New(l.ids)
	t.Cleanup(l.net.Close)
	return l
}

// numbered is a test network of q parties with a session open.
func numbered(t testing.TB, q, chunk int) *testNetwork {
	t.Helper()
	names := make([]string, q)
	for i := range names {
		names[i] = fmt.Sprintf("p%d", i)
	}
	l := newTestNetwork(t, names...)
	if err := errors.Join(l.open(t.Context(), 1, chunk)...); err != nil {
		t.Fatal(err)
	}
	return l
}

// open opens a session and a session of the given number in it. A party that fails leaves the session,
// as a node does.
func (l *testNetwork) open(ctx context.Context, number uint32, chunk int) []error {
	l.meshes, l.sessions = make([]protocol.Mesh, len(l.ids)), make([]*protocol.Session, len(l.ids))
	return l.each(func(i int) (err error) {
		peers := append(append([]keys.ID(nil), l.ids[:i]...), l.ids[i+1:]...)
		if l.meshes[i], err = l.net.Transport(l.ids[i]).Open(ctx, protocol.SessionID{byte(number)}, peers); err != nil {
			return err
		}
		if l.wrap != nil {
			l.meshes[i] = l.wrap(i, l.meshes[i])
		}
		config := protocol.SessionConfig{Contract: l.contract, Number: number, Parties: l.parties,
			Key: l.keys[i], Chunk: chunk}
		if l.recorders != nil {
			config.Recorder = l.recorders[i]
		}
		if l.budgets != nil {
			config.Budget = l.budgets[i]
		}
		l.sessions[i], err = protocol.NewSession(ctx, l.meshes[i], config)
		return err
	})
}

// each runs part at every party at once. A party that fails closes its mesh, so that the others
// see it go.
func (l *testNetwork) each(part func(i int) error) []error {
	errs := make([]error, len(l.ids))
	var wg sync.WaitGroup
	for i := range l.ids {
		wg.Go(func() {
			if errs[i] = part(i); errs[i] != nil && l.meshes[i] != nil {
				l.meshes[i].Close()
			}
		})
	}
	wg.Wait()
	return errs
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
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "test", Algorithm: "fdskl", Table: "train", Privacy: "masked",
		Topology: topology.String(),
	}
	var facts []contract.Facts
	for _, p := range l.parties {
		job.Parties = append(job.Parties, p.Name)
		facts = append(facts, contract.Facts{Name: p.Name, ID: p.ID, Role: "passive"})
	}
	c, err := contract.NewContract(job, facts, nil, contract.SessionOperations(len(l.parties), operations))
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.ids {
		b, err := contract.NewBudget(c, i)
		if err != nil {
			t.Fatal(err)
		}
		l.budgets = append(l.budgets, b)
	}
}
