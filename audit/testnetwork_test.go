package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	session  uint32
	stores   []*transcript.Store // nil: payloads are not kept

	unbudgeted bool // parties may send anything

}

// newTestNetwork makes keys and links for parties p0 to p(q-1); see agree.
func newTestNetwork(t testing.TB, q int) *testNetwork {
	t.Helper()
	l := &testNetwork{t: t, dir: t.TempDir()}
	var ids []keys.ID
	for i := range q {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("p%d", i)
		l.names, l.keys = append(l.names, name), append(l.keys, k)
		l.members, ids = append(l.members, contract.Party{Name: name, ID: k.ID()}), append(ids, k.ID())
	}
	l.net = testnet.New(ids)
	t.Cleanup(l.net.Close)
	l.charter = l.charterOf(l.members)
	return l
}

// charterOf is a charter of these members that allows everything, and that all of the test network's keys have signed.
func (l *testNetwork) charterOf(members []contract.Party) *keys.SignedCharter {
	l.t.Helper()
	c := keys.Charter{Name: "test", Version: 1, Created: time.Unix(1_700_000_000, 0).UTC(),
		Rules: keys.Rules{MinPrivacy: keys.PrivacyPublished, MinContributors: 2, Transports: []string{"tcp"},
			Discovery: []string{"addresses"}}}
	for _, m := range members {
		c.Members = append(c.Members, keys.Member{Name: m.Name, ID: m.ID})
	}
	signed, err := keys.NewCharter(c)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, k := range l.keys {
		if err := signed.Sign(k); err != nil {
			l.t.Fatal(err)
		}
	}
	return signed
}

// agree makes the contract that all sign.
func (l *testNetwork) agree(
	job contract.Job, active int, openings []contract.Opening, operations []contract.Operation,
) {
	l.t.Helper()
	job.Format, job.Name, job.Algorithm, job.Task, job.Table = "hanse-job-v1", "test", "fdskl", contract.TaskTrain, "train"
	job.Parties, job.Topology, job.Charter = l.names, l.topology.String(), l.charter.Digest().String()
	var facts []contract.Facts
	for i, m := range l.members {
		role := "passive"
		if i < active {
			role = "active"
		}
		facts = append(facts, contract.Facts{Name: m.Name, ID: m.ID, Role: role, Rows: 40, Columns: 3})
	}
	var err error
	if l.contract, err = contract.NewContract(&job, facts, openings,
		contract.SessionOperations(len(facts), operations)); err != nil {
		l.t.Fatal(err)
	}
	for _, k := range l.keys {
		l.contract.Sign(k)
	}
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
	errs := make([]error, len(l.names))
	var wg sync.WaitGroup
	for i := range l.names {
		wg.Go(func() { errs[i] = l.runParty(i, part) })
	}
	wg.Wait()
	return errs
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
	ctx := context.Background()
	var peers []keys.ID
	for j, m := range l.members {
		if j != i {
			peers = append(peers, m.ID)
		}
	}
	session := protocol.SessionID(keys.HashOf("audit test room", binary.BigEndian.AppendUint32(nil, l.session)))
	mesh, err := l.net.Transport(l.members[i].ID).Open(ctx, session, peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	budget, err := contract.NewBudget(l.contract, i)
	if err != nil {
		return err
	}
	if l.unbudgeted {
		budget = nil
	}
	s, err := protocol.NewSession(ctx, mesh, protocol.SessionConfig{
		Contract: l.contract.Hash(), Number: l.session, Parties: l.members, Key: l.keys[i], Budget: budget, Recorder: r,
	})
	if err != nil {
		return err
	}
	if err = part(ctx, i, s); err == nil {
		err = s.Finish(ctx)
	}
	if err != nil && !errors.Is(err, errKilled) {
		s.Abort(ctx, &fault.Fault{Code: fault.CodeContradicted})
	}
	return err
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
