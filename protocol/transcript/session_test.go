package transcript

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestRealSessionsLeaveTranscriptsThatVerify runs two sessions among four parties over a network in
// memory, long enough for some rounds of countersignatures.
func TestRealSessionsLeaveTranscriptsThatVerify(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 4, "session")
	net := testnet.New(l.ids)
	defer net.Close()
	for number := range uint32(2) {
		for i := range l.logs {
			net.Restart(l.ids[i])
			c := l.config(i)
			c.Now = nil // the test network's clock is for one goroutine
			l.must(l.logs[i].Close())
			var err error
			l.logs[i], err = Open(l.path(i), c)
			l.must(err)
			l.must(l.logs[i].Begin(number + 1))
		}
		runSession(t, l, net, number+1)
		l.seal(SignedDone)
	}
	for i := range l.logs {
		s, err := verify(l.text(i), l.ids)
		l.must(err)
		if s.LastSignature != SignedDone || s.Sessions != 2 {
			t.Errorf("party %d: %+v", i, s)
		}
		for j, p := range s.Peers {
			frames := p.Sent.Frames + p.Received.Frames
			if want := frames - min(frames, 4); p.Countersigned != want { // the last round of each session
				t.Errorf("party %d with %d: %d frames countersigned of %d, want %d", i, j, p.Countersigned, frames, want)
			}
		}
	}
}

// runSession runs some sums at all parties.
func runSession(t *testing.T, l *testNetwork, net *testnet.Network, number uint32) {
	t.Helper()
	errs := make([]error, len(l.ids))
	var wg sync.WaitGroup
	for i := range l.ids {
		wg.Go(func() { errs[i] = runParty(t.Context(), l, net, number, i) })
	}
	wg.Wait()
	l.must(errors.Join(errs...))
}

// runParty is one party's part.
func runParty(ctx context.Context, l *testNetwork, net *testnet.Network, number uint32, self int) error {
	var parties []contract.Party
	for i, id := range l.ids {
		parties = append(parties, contract.Party{Name: fmt.Sprint("p", i), ID: id})
	}
	peers := slices.DeleteFunc(slices.Clone(l.ids), func(id keys.ID) bool { return id == l.ids[self] })
	mesh, err := net.Transport(l.ids[self]).Open(ctx, protocol.SessionID{byte(number)}, peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	s, err := protocol.NewSession(ctx, mesh, protocol.SessionConfig{
		Contract: l.contract, Number: number, Parties: parties, Key: keyNumber(self), Recorder: l.logs[self],
	})
	if err != nil {
		return err
	}
	for n := range 150 {
		err := s.Reduce(ctx, protocol.Reduction{
			Kind: "angles", Class: contract.ClassMasked, Encoding: contract.Fixed64,
			Plan: contract.PlanFor(contract.Tree, len(l.ids), n%4), Size: 64,
			Load:  func(int, []byte) error { return nil },
			Add:   func(dst, src []byte) {},
			Store: func(int, []byte) error { return nil },
		})
		if err != nil {
			return err
		}
	}
	return s.Finish(ctx)
}
