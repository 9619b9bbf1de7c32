package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// oracle is the definition of the link digest, over the list of all frames of a session.
type oracle struct {
	contract keys.Hash
	session  uint32
	ids      []keys.ID
	frames   map[[2]int][]protocol.Entry
	payloads map[[2]int][][]byte
}

func newOracle(l *testNetwork) *oracle {
	return &oracle{l.contract, l.session, l.ids, make(map[[2]int][]protocol.Entry), make(map[[2]int][][]byte)}
}

// add remembers a frame.
func (o *oracle) add(from, to int, e protocol.Entry, payload []byte) {
	k := [2]int{from, to}
	o.frames[k], o.payloads[k] = append(o.frames[k], e), append(o.payloads[k], payload)
}

// chain hashes the frames of a direction.
func (o *oracle) chain(from, to int) []byte {
	be := binary.BigEndian
	start := keys.HashOf("hanse link chain v1", o.contract[:], be.AppendUint32(nil, o.session),
		o.ids[from][:], o.ids[to][:])
	chain := start[:]
	for i, e := range o.frames[[2]int{from, to}] {
		payload := o.payloads[[2]int{from, to}][i]
		b := append(bytes.Clone(chain), byte(e.Class), byte(e.Encoding))
		b = append(b, e.Kind...)
		b = append(b, make([]byte, 24-len(e.Kind))...)
		b = be.AppendUint32(b, e.Session)
		b = be.AppendUint64(b, e.Sequence)
		b = be.AppendUint64(b, e.Operation)
		b = be.AppendUint64(b, e.Size)
		b = be.AppendUint32(b, e.Chunk)
		b = be.AppendUint64(b, uint64(len(payload)))
		sum := sha256.Sum256(payload)
		next := sha256.Sum256(append(b, sum[:]...))
		chain = next[:]
	}
	return chain
}

// digest is what both ends of a link must compute.
func (o *oracle) digest(a, b int) keys.Hash {
	if bytes.Compare(o.ids[a][:], o.ids[b][:]) > 0 {
		a, b = b, a
	}
	n := func(from, to int) []byte {
		return binary.BigEndian.AppendUint64(nil, uint64(len(o.frames[[2]int{from, to}])))
	}
	return keys.HashOf("hanse link v2", o.contract[:], binary.BigEndian.AppendUint32(nil, o.session),
		o.ids[a][:], o.ids[b][:],
		n(a, b), o.chain(a, b), n(b, a), o.chain(b, a), make([]byte, 32)) // nobody has stated anything
}

// TestLinksAgreeWithTheirDefinition runs random frames between random parties.
func TestLinksAgreeWithTheirDefinition(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		l := newTestNetwork(t, mustTemp(t, dir), rapid.IntRange(2, 4).Draw(t, "parties"), "links")
		for session := range uint32(2) {
			l.begin(3*session + 1)
			o := newOracle(l)
			for range rapid.IntRange(0, 12).Draw(t, "frames") {
				from, to, e, payload := drawFrame(t, l)
				o.add(from, to, e, payload)
				l.put(from, protocol.EventSent, to, e, payload)
				l.put(to, protocol.EventReceived, from, e, payload)
			}
			l.pairs(func(i, j int) {
				if got, err := l.logs[i].Link(j); err != nil || got != o.digest(i, j) {
					t.Fatalf("link from %d to %d: %v, %v, want %v", i, j, got, err, o.digest(i, j))
				}
			})
		}
	})
}

// drawFrame draws a frame between two of a test network's parties.
func drawFrame(t *rapid.T, l *testNetwork) (from, to int, e protocol.Entry, payload []byte) {
	from = rapid.IntRange(0, len(l.ids)-1).Draw(t, "from")
	to = (from + rapid.IntRange(1, len(l.ids)-1).Draw(t, "to")) % len(l.ids)
	payload = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "payload")
	kind := rapid.SampledFrom([]string{"angles", "a", "countersign", "abcdefghijklmnopqrstuvwx"}).Draw(t, "kind")
	class := contract.Class(rapid.IntRange(1, 4).Draw(t, "class"))
	if kind == "countersign" { // control frames of the kind are those of rounds
		class = max(class, contract.ClassMasked)
	}
	e = l.entry(from, to, class, contract.Encoding(rapid.IntRange(0, 4).Draw(t, "encoding")), kind, payload)
	e.Operation, e.Size, e.Chunk = rapid.Uint64().Draw(t, "operation"), rapid.Uint64().Draw(t, "size"),
		rapid.Uint32().Draw(t, "chunk")
	return from, to, e, payload
}

// TestWhateverNetworksDoVerifies runs random sessions with rounds of countersignatures, seals and crashes:
// all transcripts verify, and count what passed.
func TestWhateverNetworksDoVerifies(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		l := newTestNetwork(t, mustTemp(t, dir), rapid.IntRange(2, 4).Draw(t, "parties"), "leagues")
		frames := make(map[[2]int]uint64)
		for session := range rapid.Uint32Range(1, 3).Draw(t, "sessions") {
			l.begin(session + 1)
			for range rapid.IntRange(0, 10).Draw(t, "steps") {
				l.step(t, frames)
			}
		}
		for i := range l.logs {
			s, err := verify(l.text(i), l.ids)
			must(t, err)
			for j, p := range s.Peers {
				if p.Sent.Frames != frames[[2]int{i, j}] || p.Received.Frames != frames[[2]int{j, i}] {
					t.Fatalf("party %d counts %+v with party %d, want %d and %d", i, p, j, frames[[2]int{i, j}], frames[[2]int{j, i}])
				}
				if p.Countersigned > p.Sent.Frames+p.Received.Frames {
					t.Fatalf("party %d has %d frames countersigned of %+v", i, p.Countersigned, p)
				}
			}
		}
	})
}

// step does one of what parties do.
func (l *testNetwork) step(t *rapid.T, frames map[[2]int]uint64) {
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		l.countersign()
		l.pairs(func(i, j int) { frames[[2]int{i, j}]++ })
	case 1:
		l.seal(rapid.SampledFrom([]string{SignedCheckpoint, SignedDone, SignedBroken}).Draw(t, "why"))
	case 2:
		l.open(rapid.IntRange(0, len(l.ids)-1).Draw(t, "root"), "total", []byte("total"))
	default:
		from, to, e, payload := drawFrame(t, l)
		l.put(from, protocol.EventSent, to, e, payload)
		l.put(to, protocol.EventReceived, from, e, payload)
		frames[[2]int{from, to}]++
	}
}

// mustTemp makes a folder for one run of a property.
func mustTemp(t failer, dir string) string {
	t.Helper()
	name, err := os.MkdirTemp(dir, "")
	must(t, err)
	return name
}

func TestLinksRefuse(t *testing.T) {
	ids := []keys.ID{keyNumber(0).ID(), keyNumber(1).ID()}
	for _, c := range []struct {
		self int
		ids  []keys.ID
		want string
	}{
		{0, nil, "own index is 0, want 0 to -1"},
		{-1, ids, "own index is -1, want 0 to 1"},
		{2, ids, "own index is 2, want 0 to 1"},
		{0, []keys.ID{ids[0], ids[0]}, "parties 0 and 1 have the same id " + ids[0].Short()},
		{0, make([]keys.ID, keys.MaxMembers+1), "4097 parties, at most 4096 are allowed"},
	} {
		_, err := NewLinks(keys.Hash{}, c.self, c.ids)
		wantError(t, err, c.want)
	}
	l, err := NewLinks(keys.Hash{}, 0, ids)
	must(t, err)
	if _, ok := l.Agreed(1); ok || !l.Digest(1).IsZero() {
		t.Error("a link before the first session")
	}
	wantError(t, l.Add(&Record{Type: TypeSent, Peer: 1, Session: 1}), "record 0, peer 1: no session has begun")
	must(t, l.Begin(2))
	wantError(t, l.Begin(2), "session 2 begins after session 2, want a higher number")
	for _, peer := range []int{-1, 0, 2} {
		if !l.Digest(peer).IsZero() {
			t.Errorf("there is a link to party %d", peer)
		}
		wantError(t, l.Add(&Record{Type: TypeSent, Peer: peer, Session: 2}),
			fmt.Sprintf("record 0, peer %d: there is no such peer among 2 parties of which this is party 0", peer))
	}
	must(t, l.Add(&Record{Type: TypeReceived, Peer: 1, Session: 2, Kind: "x"}))
	if to, from := l.Counts(1); to != 0 || from != 1 {
		t.Errorf("%d frames to and %d from the peer", to, from)
	}
}
