package he

import (
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// testNetwork is a whole federation in one process, with a session and a collective key.
type testNetwork struct {
	*testnet.Federation
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
	l.Must(t, func(i int) (err error) {
		l.sums[i], err = NewSums(t.Context(), l.sessions[i], topology, SessionSeed(keys.HashOf("test contract"), 1))
		return err
	})
	return l
}

// openSessions opens sessions without a collective key.
func openSessions(t testing.TB, q, chunk int, recorder func(i int) protocol.Recorder) *testNetwork {
	t.Helper()
	l := &testNetwork{Federation: testnet.Found(t, testnet.Numbered(q)...), sums: make([]*Sums, q)}
	l.sessions = l.Sessions(t, testnet.Meeting{Chunk: chunk, Config: func(i int, c *protocol.SessionConfig) {
		if recorder != nil {
			c.Recorder = recorder(i)
		}
	}})
	return l
}
