package he

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// testNetwork is a whole federation in one process, with a session and a collective key.
type testNetwork struct {
	net      *testnet.Network
	ids      []keys.ID
	sessions []*protocol.Session
	sums     []*Sums
}

// newTestNetwork opens a session of q parties whose chunks have the given bytes, 0 for the default, and makes
// its key. recorders, if not nil, keep the parties' transcripts.
func newTestNetwork(
	t testing.TB, q, chunk int, topology contract.Topology, recorder func(i int) protocol.Recorder,
) *testNetwork {
	t.Helper()
	l := openSessions(t, q, chunk, recorder)
	l.must(t, func(i int) (err error) {
		l.sums[i], err = NewSums(t.Context(), l.sessions[i], topology, SessionSeed(keys.HashOf("test contract"), 1))
		return err
	})
	return l
}

// openSessions opens sessions without a collective key.
func openSessions(t testing.TB, q, chunk int, recorder func(i int) protocol.Recorder) *testNetwork {
	t.Helper()
	l := &testNetwork{sessions: make([]*protocol.Session, q), sums: make([]*Sums, q)}
	var private []*keys.PrivateKey
	var parties []contract.Party
	for i := range q {
		k, err := keys.GenerateKey()
		must(t, err)
		private, l.ids = append(private, k), append(l.ids, k.ID())
		parties = append(parties, contract.Party{Name: fmt.Sprintf("p%d", i), ID: k.ID()})
	}
	l.net = testnet.New(l.ids)
	t.Cleanup(l.net.Close)
	var session protocol.SessionID
	rand.Read(session[:])
	l.must(t, func(i int) error {
		others := append(append([]keys.ID(nil), l.ids[:i]...), l.ids[i+1:]...)
		mesh, err := l.net.Transport(l.ids[i]).Open(t.Context(), session, others)
		if err != nil {
			return err
		}
		config := protocol.SessionConfig{Contract: keys.HashOf("test contract"), Number: 1, Parties: parties,
			Key: private[i], Chunk: chunk}
		if recorder != nil {
			config.Recorder = recorder(i)
		}
		l.sessions[i], err = protocol.NewSession(t.Context(), mesh, config)
		return err
	})
	return l
}

// each runs part at every party at once and returns their errors.
func (l *testNetwork) each(part func(i int) error) []error {
	errs := make([]error, len(l.ids))
	var wg sync.WaitGroup
	for i := range l.ids {
		wg.Go(func() { errs[i] = part(i) })
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
