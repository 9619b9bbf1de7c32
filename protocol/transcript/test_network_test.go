package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

var update = flag.Bool("update", false, "write the golden files anew; look at the difference before keeping it")

// failer is what a helper needs of *testing.T and *rapid.T.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// keyNumber returns the same key for the same number, always.
func keyNumber(i int) *keys.PrivateKey {
	testKeys.once.Do(makeKeys)
	return testKeys.keys[i]
}

// testKeys are made once: a key file is the only way to a key that is always the same.
var testKeys struct {
	once sync.Once
	keys []*keys.PrivateKey
}

func makeKeys() {
	dir, err := os.MkdirTemp("", "transcript-test-keys")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for i := range 6 {
		const prefix = "HANSE-SECRET-KEY-1"
		seed := sha256.Sum256(fmt.Appendf(nil, "test key %d", i))
		check := sha256.Sum256(append([]byte(prefix), seed[:]...))
		text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append(seed[:], check[:4]...))
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(prefix+text+"\n"), 0o600); err != nil {
			panic(err)
		}
		file, err := keys.LoadKeyFile(path, nil)
		if err != nil {
			panic(err)
		}
		testKeys.keys = append(testKeys.keys, file.Key)
	}
}

// testNetwork is some parties that keep transcripts of one job; frames go from log to log.
type testNetwork struct {
	t         failer
	dir       string
	contract  keys.Hash
	ids       []keys.ID
	logs      []*Log
	stores    []*Store
	sequence  map[[2]int]uint64
	session   uint32
	operation uint64
	now       time.Time
}

// newTestNetwork opens the transcripts of q parties in a folder.
func newTestNetwork(t failer, dir string, q int, job string) *testNetwork {
	t.Helper()
	l := &testNetwork{t: t, dir: dir, contract: keys.HashOf("test contract", []byte(job)), logs: make([]*Log, q),
		stores: make([]*Store, q),
		now:    time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	for i := range q {
		l.ids = append(l.ids, keyNumber(i).ID())
	}
	for i := range q {
		l.reopen(i)
	}
	return l
}

// config is party i's.
func (l *testNetwork) config(i int) Config {
	return Config{Contract: l.contract, Self: i, IDs: l.ids, Key: keyNumber(i), Store: l.stores[i], Now: func() time.Time {
		l.now = l.now.Add(time.Millisecond)
		return l.now
	}}
}

// path is where party i's transcript is.
func (l *testNetwork) path(i int) string {
	return filepath.Join(l.dir, fmt.Sprintf("party-%d.transcript", i))
}

// reopen opens party i's transcript, anew if it was open.
func (l *testNetwork) reopen(i int) {
	l.t.Helper()
	if l.logs[i] != nil {
		l.must(l.logs[i].Close())
	}
	log, err := Open(l.path(i), l.config(i))
	l.must(err)
	l.logs[i] = log
}

func (l *testNetwork) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// federation is the parties as members that meet over a network.
func (l *testNetwork) federation(t testing.TB) *testnet.Federation {
	private := make([]*keys.PrivateKey, len(l.ids))
	for i := range private {
		private[i] = keyNumber(i)
	}
	return testnet.FoundWith(t, testnet.Numbered(len(l.ids)), private)
}

// begin starts a session at all parties, after a restart of each.
func (l *testNetwork) begin(session uint32) {
	l.t.Helper()
	l.session, l.operation, l.sequence = session, 0, make(map[[2]int]uint64)
	for i := range l.logs {
		l.reopen(i)
		l.must(l.logs[i].Begin(session))
	}
}

// entry is a frame from one party to another, without event and peer.
func (l *testNetwork) entry(
	from, to int, class contract.Class, encoding contract.Encoding, kind string, payload []byte,
) protocol.Entry {
	e := protocol.Entry{Class: class, Encoding: encoding, Kind: kind, Session: l.session, Operation: l.operation,
		Size: uint64(len(payload))}
	e.Sequence = l.sequence[[2]int{from, to}]
	l.sequence[[2]int{from, to}]++
	return e
}

// put records an entry at a party.
func (l *testNetwork) put(at int, event protocol.Event, peer int, e protocol.Entry, payload []byte) {
	l.t.Helper()
	e.Event, e.Peer = event, peer
	l.must(l.logs[at].Record(e, payload))
}

// frame sends one frame.
func (l *testNetwork) frame(
	from, to int, class contract.Class, encoding contract.Encoding, kind string, payload []byte,
) {
	l.t.Helper()
	e := l.entry(from, to, class, encoding, kind, payload)
	l.put(from, protocol.EventSent, to, e, payload)
	l.put(to, protocol.EventReceived, from, e, payload)
}

// open records that a party learned a chunk.
func (l *testNetwork) open(at int, kind string, payload []byte) {
	l.t.Helper()
	l.put(at, protocol.EventOpened, at, protocol.Entry{
		Class: contract.ClassOpening, Encoding: contract.Fixed64, Kind: kind, Session: l.session, Operation: l.operation,
		Size: uint64(len(payload)),
	}, payload)
}

// pairs calls f for every ordered pair of parties.
func (l *testNetwork) pairs(f func(from, to int)) {
	for i := range l.logs {
		for j := range l.logs {
			if i != j {
				f(i, j)
			}
		}
	}
}

// countersign does a round as a session does it: all digests, then all frames out, then all frames
// in, then the signatures; it wants both ends of each link to agree.
func (l *testNetwork) countersign() {
	l.t.Helper()
	digests := make(map[[2]int]keys.Hash)
	l.pairs(func(i, j int) {
		var err error
		digests[[2]int{i, j}], err = l.logs[i].Link(j)
		l.must(err)
	})
	entries, signatures := make(map[[2]int]protocol.Entry), make(map[[2]int][]byte)
	l.pairs(func(i, j int) {
		d := digests[[2]int{i, j}]
		if d != digests[[2]int{j, i}] || d.IsZero() {
			l.t.Fatalf("parties %d and %d disagree on their link", i, j)
		}
		signatures[[2]int{i, j}] = keyNumber(i).Sign(protocol.DomainLink, d[:])
		e := l.entry(i, j, contract.ClassControl, contract.Bytes, "countersign", signatures[[2]int{i, j}])
		entries[[2]int{i, j}] = e
		l.put(i, protocol.EventSent, j, e, signatures[[2]int{i, j}])
	})
	l.pairs(func(i, j int) { l.put(i, protocol.EventReceived, j, entries[[2]int{j, i}], signatures[[2]int{j, i}]) })
	l.pairs(func(i, j int) {
		l.put(i, protocol.EventCountersigned, j, entries[[2]int{j, i}], signatures[[2]int{j, i}])
	})
}

// seal seals all transcripts.
func (l *testNetwork) seal(why string) {
	l.t.Helper()
	for _, log := range l.logs {
		l.must(log.Sign(why))
	}
}

// text returns party i's transcript.
func (l *testNetwork) text(i int) []byte {
	l.t.Helper()
	b, err := os.ReadFile(l.path(i))
	l.must(err)
	return b
}

// smallTestNetwork is a job of three parties in two sessions, with two rounds of countersignatures in the
// first, between which parties 0 and 2 exchange nothing.
func smallTestNetwork(t testing.TB, job string) *testNetwork {
	l := newTestNetwork(t, t.TempDir(), 3, job)
	for session := range uint32(2) {
		l.begin(session + 1)
		l.pairs(func(i, j int) {
			l.frame(i, j, contract.ClassControl, contract.Bytes, "session-key",
				fmt.Appendf(nil, "key of %d in session %d", i, session))
		})
		l.operation++
		l.frame(1, 0, contract.ClassMasked, contract.Turns16, "angles", []byte("masked words of 1 and 2"))
		l.open(0, "angles", []byte("a total"))
		l.countersign()
		l.seal(SignedCheckpoint)
		l.operation++
		l.frame(0, 1, contract.ClassControl, contract.Bytes, "batch", nil)
		l.countersign()
		if session == 0 {
			l.seal(SignedBroken)
		} else {
			l.seal(SignedDone)
		}
	}
	return l
}

// verify reads and verifies a transcript, as an auditor does.
func verify(text []byte, ids []keys.ID) (Summary, error) {
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		return Summary{}, err
	}
	v, err := NewVerifier(r.Header(), ids)
	if err != nil {
		return Summary{}, err
	}
	var rec Record
	for {
		err := r.Next(&rec)
		if err == nil {
			err = v.Add(&rec)
		}
		if errors.Is(err, io.EOF) {
			return v.Summary(), nil
		}
		if err != nil {
			return v.Summary(), err
		}
	}
}

// wantError compares the whole message.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// wantPart wants a message to contain a text.
func wantPart(t testing.TB, what string, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: error %v, want one with %q", what, err, part)
	}
}

// must ends the test on an error.
func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
