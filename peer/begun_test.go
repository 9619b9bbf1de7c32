package peer

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestBegunMessagesPassEachOther: two nodes of a federation so large that their windows are small send each other
// messages that no window holds, each before it takes what the other sends.
func TestBegunMessagesPassEachOther(t *testing.T) {
	const members, size = 1100, windowMost + 1<<20
	if firstWindow(members) != windowLeast {
		t.Fatalf("the window of %d members is %d bytes, want %d", members, firstWindow(members), windowLeast)
	}
	ks := newKeys(t, members)
	c := signed(t, draft(ks), ks)
	hosts := make([]*Host, 2)
	var parties []contract.Party
	for i := range hosts {
		of := config(ks[i], c)
		of.Neighbours = []keys.ID{ks[1-i].ID()}
		h, err := New(of)
		mustDo(t, err)
		hosts[i] = h
		parties = append(parties, contract.Party{Name: nameAt(i), ID: ks[i].ID()})
	}
	introduce(t, hosts[0], hosts[1])
	introduce(t, hosts[1], hosts[0])
	run(t, hosts[0])
	run(t, hosts[1])
	ctx := within(t)
	meshes := openAll(t, protocol.SessionID{1}, hosts...)
	errs := make([]error, len(hosts))
	var both sync.WaitGroup
	for i := range hosts {
		both.Go(func() { errs[i] = passBegun(ctx, meshes[i], ks[i], parties, size) })
	}
	both.Wait()
	mustDo(t, errors.Join(errs...))
}

// passBegun is one party's part: four messages that go in turn, and are taken when all have been sent.
func passBegun(ctx context.Context, m protocol.Mesh, key *keys.PrivateKey, parties []contract.Party, size int) error {
	s, err := protocol.NewSession(ctx, m, protocol.SessionConfig{Number: 1, Parties: parties, Key: key,
		Unbounded: true, Unrecorded: true})
	if err != nil {
		return err
	}
	var ends []func(context.Context) error
	for n := range 4 {
		end, err := s.BeginPass(ctx, protocol.Direct{
			Kind: "share", Class: contract.ClassMasked, Encoding: contract.Fixed64, From: n % 2, To: 1 - n%2, Size: size,
			Load: func(offset int, chunk []byte) error {
				for i := range chunk {
					chunk[i] = byte(n + offset>>20 + i)
				}
				return nil
			},
			Store: func(offset int, chunk []byte) error {
				for i, b := range chunk {
					if b != byte(n+offset>>20+i) {
						return errors.New("what came is not what was sent")
					}
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		ends = append(ends, end)
	}
	for _, end := range ends {
		if err := end(ctx); err != nil {
			return err
		}
	}
	return s.Finish(ctx)
}
