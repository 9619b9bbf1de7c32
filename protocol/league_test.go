package protocol_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/simnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// league is a federation in one process.
type league struct {
	net      *simnet.Network
	keys     []*keys.PrivateKey
	ids      []keys.ID
	parties  []protocol.Party
	contract keys.Hash
	meshes   []protocol.Mesh
	sessions []*protocol.Session

	recorders []protocol.Recorder // by party; nil: none
	budgets   []*protocol.Budget  // by party; nil: none
}

// newLeague makes a network of the named parties, who have opened no room yet.
func newLeague(t testing.TB, names ...string) *league {
	t.Helper()
	l := &league{contract: keys.HashOf("test contract")}
	for _, name := range names {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		l.keys, l.ids = append(l.keys, k), append(l.ids, k.ID())
		l.parties = append(l.parties, protocol.Party{Name: name, ID: k.ID()})
	}
	l.net = simnet.New(l.ids)
	t.Cleanup(l.net.Close)
	return l
}

// numbered is a league of q parties with a session open.
func numbered(t testing.TB, q, chunk int) *league {
	t.Helper()
	names := make([]string, q)
	for i := range names {
		names[i] = fmt.Sprintf("p%d", i)
	}
	l := newLeague(t, names...)
	if err := errors.Join(l.open(t.Context(), 1, chunk)...); err != nil {
		t.Fatal(err)
	}
	return l
}

// open opens a room and a session of the given number in it. A party that fails leaves the room,
// as a node does.
func (l *league) open(ctx context.Context, number uint32, chunk int) []error {
	l.meshes, l.sessions = make([]protocol.Mesh, len(l.ids)), make([]*protocol.Session, len(l.ids))
	return l.each(func(i int) (err error) {
		peers := append(append([]keys.ID(nil), l.ids[:i]...), l.ids[i+1:]...)
		if l.meshes[i], err = l.net.Transport(l.ids[i]).Open(ctx, protocol.Room{byte(number)}, peers); err != nil {
			return err
		}
		config := protocol.SessionConfig{Contract: l.contract, Number: number, Parties: l.parties, Key: l.keys[i], Chunk: chunk}
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
func (l *league) each(part func(i int) error) []error {
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
func (l *league) must(t testing.TB, part func(i int) error) {
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
func newReduction(plan protocol.Plan, n int, word uint64) *reduction {
	r := &reduction{}
	r.Reduction = protocol.Reduction{
		Kind: "angles", Class: protocol.ClassMasked, Plan: plan, Size: 8 * n,
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
