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

	"github.com/hanse-project/hanse/internal/simnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// league is parties in one process that run real sessions of one contract and keep transcripts.
type league struct {
	t        testing.TB
	dir      string
	names    []string
	keys     []*keys.PrivateKey
	members  []protocol.Party
	charter  *keys.SignedCharter
	contract *protocol.Contract
	topology protocol.Topology
	net      *simnet.Network
	session  uint32
	stores   []*transcript.Store // nil: payloads are not kept

	unbudgeted bool // parties may send anything

}

// newLeague makes keys and links for parties p0 to p(q-1); see agree.
func newLeague(t testing.TB, q int) *league {
	t.Helper()
	l := &league{t: t, dir: t.TempDir()}
	var ids []keys.ID
	for i := range q {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("p%d", i)
		l.names, l.keys = append(l.names, name), append(l.keys, k)
		l.members, ids = append(l.members, protocol.Party{Name: name, ID: k.ID()}), append(ids, k.ID())
	}
	l.net = simnet.New(ids)
	t.Cleanup(l.net.Close)
	l.charter = l.charterOf(l.members)
	return l
}

// charterOf is a charter of these members that allows everything, and that all of the league's keys have signed.
func (l *league) charterOf(members []protocol.Party) *keys.SignedCharter {
	l.t.Helper()
	c := keys.Charter{Name: "test", Version: 1, Created: time.Unix(1_700_000_000, 0).UTC(),
		Rules: keys.Rules{MinPrivacy: keys.PrivacyPublished, MinContributors: 2, Transports: []string{"tcp"}, Discovery: []string{"addresses"}}}
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
func (l *league) agree(job protocol.Job, active int, openings []protocol.Opening, operations []protocol.Operation) {
	l.t.Helper()
	job.Format, job.Name, job.Algorithm, job.Task, job.Table = "hanse-job-v1", "test", "fdskl", protocol.TaskTrain, "train"
	job.Parties, job.Topology, job.Charter = l.names, l.topology.String(), l.charter.Digest().String()
	var facts []protocol.Facts
	for i, m := range l.members {
		role := "passive"
		if i < active {
			role = "active"
		}
		facts = append(facts, protocol.Facts{Name: m.Name, ID: m.ID, Role: role, Rows: 40, Columns: 3})
	}
	var err error
	if l.contract, err = protocol.NewContract(&job, facts, openings, protocol.SessionOperations(len(facts), operations)); err != nil {
		l.t.Fatal(err)
	}
	for _, k := range l.keys {
		l.contract.Sign(k)
	}
}

// keep has the payloads kept.
func (l *league) keep() {
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
func (l *league) path(i int) string { return filepath.Join(l.dir, fmt.Sprintf("p%d.transcript", i)) }

// text reads party i's transcript.
func (l *league) text(i int) []byte {
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
func source(name string, text []byte) Source {
	return Source{Path: name, Open: func() (io.ReadCloser, error) { return inMemory{bytes.NewReader(text)}, nil }}
}

// source returns party i's transcript.
func (l *league) source(i int) Source {
	s := Source{Path: l.path(i), Open: func() (io.ReadCloser, error) { return os.Open(l.path(i)) }}
	if l.stores != nil {
		s.Payload = l.stores[i].Get
	}
	return s
}

// sources returns all transcripts.
func (l *league) sources() []Source {
	var all []Source
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
	return s.Seal(transcript.SealCheckpoint)
}

// run runs part in a session at every party and returns each party's error.
func (l *league) run(part func(ctx context.Context, i int, s *protocol.Session) error) []error {
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
func (l *league) runParty(i int, part func(ctx context.Context, i int, s *protocol.Session) error) error {
	log, err := transcript.Open(l.path(i), l.config(i))
	if err != nil {
		return err
	}
	defer log.Close()
	if err := log.Begin(l.session); err != nil {
		return err
	}
	var recorder protocol.Recorder = &sealing{Log: log, peers: len(l.names) - 1}
	err = l.attend(i, recorder, part)
	switch {
	case err == nil:
		return log.Seal(transcript.SealDone)
	case errors.Is(err, errKilled):
		return err
	}
	return errors.Join(err, log.Seal(transcript.SealBroken))
}

// config is that of party i's transcript.
func (l *league) config(i int) transcript.Config {
	c := transcript.Config{Contract: l.contract.Hash(), Self: i, Key: l.keys[i]}
	for _, m := range l.members {
		c.IDs = append(c.IDs, m.ID)
	}
	if l.stores != nil {
		c.Store = l.stores[i]
	}
	return c
}

// attend is one party's session, from its links to its last words.
func (l *league) attend(i int, r protocol.Recorder, part func(ctx context.Context, i int, s *protocol.Session) error) error {
	ctx := context.Background()
	var peers []keys.ID
	for j, m := range l.members {
		if j != i {
			peers = append(peers, m.ID)
		}
	}
	room := protocol.Room(keys.HashOf("audit test room", binary.BigEndian.AppendUint32(nil, l.session)))
	mesh, err := l.net.Transport(l.members[i].ID).Open(ctx, room, peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	budget, err := protocol.NewBudget(l.contract, i)
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
		s.Abort(ctx, &protocol.Fault{Code: protocol.CodeContradicted})
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
