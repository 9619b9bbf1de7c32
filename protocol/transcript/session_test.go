package transcript

import (
	"context"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestRealSessionsLeaveTranscriptsThatVerify runs two sessions among four parties over a network in
// memory, long enough for some rounds of countersignatures.
func TestRealSessionsLeaveTranscriptsThatVerify(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 4, "session")
	f := l.federation(t)
	for number := range uint32(2) {
		for i := range l.logs {
			f.Restart(l.ids[i])
			c := l.config(i)
			c.Now = nil // the test network's clock is for one goroutine
			l.must(l.logs[i].Close())
			var err error
			l.logs[i], err = Open(l.path(i), c)
			l.must(err)
			l.must(l.logs[i].Begin(number + 1))
		}
		l.must(errors.Join(f.Run(t.Context(), testnet.Meeting{Number: number + 1,
			Config: func(i int, c *protocol.SessionConfig) { c.Contract, c.Recorder = l.contract, l.logs[i] }}, sumOften)...))
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

// sumOften is a party's part of a session of many sums.
func sumOften(ctx context.Context, _ int, s *protocol.Session) error {
	for n := range 150 {
		err := s.Reduce(ctx, protocol.Reduction{
			Kind: "angles", Class: contract.ClassMasked, Encoding: contract.Fixed64,
			Plan: contract.PlanFor(contract.Tree, s.Parties(), n%4), Size: 64,
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
