package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// testNetwork is parties in one process that run real sessions of one contract and keep transcripts.
type testNetwork struct {
	t        testing.TB
	dir      string
	names    []string
	keys     []*keys.PrivateKey
	members  []contract.Party
	charter  *keys.SignedCharter
	contract *contract.Contract
	topology contract.Topology
	net      *testnet.Network
	fed      *testnet.Federation // the same
	session  uint32
	stores   []*transcript.Store // nil: payloads are not kept

	unbudgeted bool // parties may send anything

}

// newTestNetwork makes keys and links for parties p0 to p(q-1); see agree.
func newTestNetwork(t testing.TB, q int) *testNetwork {
	t.Helper()
	f := testnet.Found(t, testnet.Numbered(q)...)
	l := &testNetwork{t: t, dir: t.TempDir(), fed: f, net: f.Network, names: f.Names, keys: f.Keys, members: f.Parties}
	l.charter = l.charterOf(l.members)
	return l
}

// charterOf is a charter of these members that allows everything, and that all of the test network's keys have signed.
func (l *testNetwork) charterOf(members []contract.Party) *keys.SignedCharter {
	l.t.Helper()
	return l.fed.Charter(l.t, func(c *keys.Charter) {
		c.Members = nil
		for _, m := range members {
			c.Members = append(c.Members, keys.Member{Name: m.Name, ID: m.ID})
		}
	})
}

// agree makes the contract that all sign.
func (l *testNetwork) agree(
	job contract.Job, active int, openings []contract.Opening, operations []contract.Operation,
) {
	l.t.Helper()
	job.Topology, job.Charter = l.topology.String(), l.charter.Digest().String()
	l.contract = l.fed.Agree(l.t, job, active, openings, operations)
}

func (l *testNetwork) keep() {
	l.t.Helper()
	for i := range l.names {
		s, err := transcript.OpenStore(filepath.Join(l.dir, fmt.Sprintf("payloads-%d", i)), 1<<30)
		if err != nil {
			l.t.Fatal(err)
		}
		l.stores = append(l.stores, s)
	}
}

// path is where party i's transcript is.
func (l *testNetwork) path(i int) string {
	return filepath.Join(l.dir, fmt.Sprintf("p%d.transcript", i))
}

func (l *testNetwork) text(i int) []byte {
	l.t.Helper()
	b, err := os.ReadFile(l.path(i))
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// inMemory is a file in memory.
type inMemory struct{ *bytes.Reader }

// Close implements io.Closer.
func (inMemory) Close() error { return nil }

// source is a transcript in memory.
func source(name string, text []byte) evidence.Source {
	return evidence.Source{Path: name, Open: func() (io.ReadCloser, error) { return inMemory{bytes.NewReader(text)}, nil }}
}

func (l *testNetwork) source(i int) evidence.Source {
	s := evidence.Source{Path: l.path(i), Open: func() (io.ReadCloser, error) { return os.Open(l.path(i)) }}
	if l.stores != nil {
		s.Payload = l.stores[i].Get
	}
	return s
}

func (l *testNetwork) sources() []evidence.Source {
	var all []evidence.Source
	for i := range l.names {
		all = append(all, l.source(i))
	}
	return all
}

// sealing is a log that is sealed after every round of countersignatures, as a node does it.
type sealing struct {
	*transcript.Log
	peers  int
	signed int
}

// Record implements protocol.Recorder.
func (s *sealing) Record(e protocol.Entry, payload []byte) error {
	if err := s.Log.Record(e, payload); err != nil {
		return err
	}
	if e.Event != protocol.EventCountersigned {
		s.signed = 0
		return nil
	}
	if s.signed++; s.signed < s.peers {
		return nil
	}
	return s.Sign(transcript.SignedCheckpoint)
}

// run runs part in a session at every party and returns each party's error.
func (l *testNetwork) run(part func(ctx context.Context, i int, s *protocol.Session) error) []error {
	l.session++
	return l.fed.Each(func(i int) error { return l.runParty(i, part) })
}

// errKilled ends a session without a seal.
var errKilled = errors.New("killed")

// runParty is one party's session, as a node runs it.
func (l *testNetwork) runParty(i int, part func(ctx context.Context, i int, s *protocol.Session) error) error {
	log, err := transcript.Open(l.path(i), l.config(i))
	if err != nil {
		return err
	}
	defer log.Close()
	if err := log.Begin(l.session); err != nil {
		return err
	}
	var recorder protocol.Recorder = &sealing{Log: log, peers: len(l.names) - 1}
	err = l.runSession(i, recorder, part)
	switch {
	case err == nil:
		return log.Sign(transcript.SignedDone)
	case errors.Is(err, errKilled):
		return err
	}
	return errors.Join(err, log.Sign(transcript.SignedBroken))
}

// config is that of party i's transcript.
func (l *testNetwork) config(i int) transcript.Config {
	c := transcript.Config{Contract: l.contract.Hash(), Self: i, Key: l.keys[i]}
	for _, m := range l.members {
		c.IDs = append(c.IDs, m.ID)
	}
	if l.stores != nil {
		c.Store = l.stores[i]
	}
	return c
}

// runSession is one party's session, from its links to its last words.
func (l *testNetwork) runSession(
	i int, r protocol.Recorder, part func(ctx context.Context, i int, s *protocol.Session) error,
) error {
	meeting := testnet.Meeting{Number: l.session, Contract: l.contract,
		Config: func(_ int, c *protocol.SessionConfig) {
			c.Recorder = r
			if l.unbudgeted {
				c.Budget = nil
			}
		}}
	return l.fed.RunParty(context.Background(), meeting, i, func(ctx context.Context, i int, s *protocol.Session) error {
		err := part(ctx, i, s)
		if err == nil {
			err = s.Finish(ctx)
		}
		if err != nil && !errors.Is(err, errKilled) {
			s.Abort(ctx, &fault.Fault{Code: fault.CodeContradicted})
		}
		return err
	})
}

// must fails the test on a party's error.
func must(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("party %d: %v", i, err)
		}
	}
}

// mustDo ends the test on an error.
func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
