package transcript

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Any prefix of a transcript can be gone on with, and is a transcript then.
func TestAnyPrefixCanBeGoneOnWith(t *testing.T) {
	l := smallTestNetwork(t, "prefix")
	text := l.text(0)
	for size := 0; size <= len(text); size++ {
		if size > BlockSize && size%BlockSize > 1 && size%BlockSize != 100 && size%BlockSize != BlockSize-1 {
			continue
		}
		if size < BlockSize && size%16 > 1 && size != BlockSize-1 { // these are synced, which takes time
			continue
		}
		l.must(os.WriteFile(l.path(0), text[:size], 0o600))
		l.reopen(0)
		l.must(l.logs[0].Begin(9))
		l.must(l.logs[0].Record(protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: 1, Kind: "session-key", Session: 9},
			nil))
		l.must(l.logs[0].Sign(SignedBroken))
		whole := max(size/BlockSize, 1) * BlockSize
		got := l.text(0)
		if !bytes.Equal(got[:whole], text[:whole]) || len(got) != whole+3*BlockSize {
			t.Fatalf("%d bytes, gone on with, are %d", size, len(got))
		}
		if s, err := verify(got, l.ids); err != nil || s.LastSignature != SignedBroken {
			t.Fatalf("%d bytes, gone on with: %+v, %v", size, s, err)
		}
	}
}

// TestZerosAtTheEndAreCutOff leaves zeros where records were not yet on the disk, from the bounds of sectors on, as a
// power cut does: the transcript goes on behind its last whole record.
func TestZerosAtTheEndAreCutOff(t *testing.T) {
	l := smallTestNetwork(t, "zeros")
	text := l.text(0)
	for size := 0; size <= len(text); size += 32 {
		if size > BlockSize && size < len(text)-4*BlockSize && size%512 != 0 {
			continue
		}
		whole := max(size/BlockSize, 1) * BlockSize
		for _, zeros := range []int{1, 100, whole + BlockSize - size, len(text) - size, 3 * blocksAtOnce * BlockSize} {
			if size < BlockSize && size+zeros > BlockSize {
				continue // behind a header that is not whole there never was a record
			}
			l.must(os.WriteFile(l.path(0), append(bytes.Clone(text[:size]), make([]byte, zeros)...), 0o600))
			_, err := verify(l.text(0), l.ids)
			if size >= BlockSize && size+zeros > whole && !errors.Is(err, ErrCut) {
				t.Fatalf("%d bytes and %d zeros: a reader says %v", size, zeros, err)
			}
			l.reopen(0)
			if got := l.text(0); !bytes.Equal(got, text[:whole]) {
				t.Fatalf("%d bytes and %d zeros, gone on with, are %d bytes", size, zeros, len(got))
			}
			l.must(l.logs[0].Begin(9))
			l.must(l.logs[0].Sign(SignedBroken))
			if s, err := verify(l.text(0), l.ids); err != nil || s.LastSignature != SignedBroken {
				t.Fatalf("%d bytes and %d zeros, gone on with: %+v, %v", size, zeros, s, err)
			}
		}
	}
}

// TestZerosWhereRecordsWereSyncedAreRefused: no power cut takes what was on the disk.
func TestZerosWhereRecordsWereSyncedAreRefused(t *testing.T) {
	l := smallTestNetwork(t, "synced")
	text := l.text(0)
	c := l.config(0)
	c.Synced = int64(len(text)) - BlockSize
	for lost, want := range map[int]string{
		1: "",
		2: "transcript " + l.path(0) + ": it is damaged: its records end after 6880 bytes, and 7040 were on the disk before; put back a copy of the file",
	} {
		changed := bytes.Clone(text)
		clear(changed[len(text)-lost*BlockSize:])
		l.must(os.WriteFile(l.path(0), changed, 0o600))
		log, err := Open(l.path(0), c)
		if want != "" {
			wantError(t, err, want)
			if !bytes.Equal(l.text(0), changed) {
				t.Error("the file was changed")
			}
			continue
		}
		l.must(err)
		l.must(log.Close())
	}
}

// endless is zeros without end.
type endless struct{ read int }

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.read += len(p)
	return len(p), nil
}

// TestZerosWithoutEndAreNotReadThrough has a hostile transcript go on with zeros, as a sparse file can.
func TestZerosWithoutEndAreNotReadThrough(t *testing.T) {
	l, zeros := smallTestNetwork(t, "endless"), &endless{}
	r, err := NewReader(io.MultiReader(bytes.NewReader(l.text(0)), zeros))
	l.must(err)
	var rec Record
	for err == nil {
		err = r.Next(&rec)
	}
	wantError(t, err, "record 44: the chain is broken: record 0 stands here, so that one is doubled or out of order")
	if zeros.read > maxZeros+1<<20 {
		t.Errorf("%d bytes were read", zeros.read)
	}
}

// A transcript is its owner's only, and a second opening changes nothing.
func TestOpenKeepsTheFileToItsOwner(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "mode")
	info, err := os.Stat(l.path(0))
	l.must(err)
	if info.Mode().Perm() != 0o600 || info.Size() != BlockSize {
		t.Errorf("mode %v, %d bytes", info.Mode(), info.Size())
	}
	before := l.text(0)
	l.reopen(0)
	if !bytes.Equal(before, l.text(0)) {
		t.Error("opening it changed it")
	}
}

// Time never runs backwards in a transcript, whatever the clock does, also from one run to the next.
func TestTimeNeverRunsBackwards(t *testing.T) {
	l := smallTestNetwork(t, "time")
	for _, now := range []time.Time{l.now.Add(-time.Hour), time.Unix(-5, 0), time.Unix(0, 0)} {
		l.now = now
		l.begin(l.session + 1)
		l.seal(SignedBroken)
	}
	s, err := verify(l.text(0), l.ids)
	l.must(err)
	if s.Last.Sub(s.First) <= 0 || s.Sessions != 5 {
		t.Errorf("summary %+v", s)
	}
	fresh := newTestNetwork(t, t.TempDir(), 2, "time")
	fresh.now = time.Unix(-5, 0)
	fresh.begin(1)
	_, err = verify(fresh.text(0), fresh.ids)
	l.must(err)
}

func TestOpenRefusesWhatIsNotThisTranscript(t *testing.T) {
	l, other := smallTestNetwork(t, "open"), smallTestNetwork(t, "another job")
	text := l.text(0)
	with := func(at int, b string) []byte {
		changed := bytes.Clone(text)
		copy(changed[at:], b)
		return changed
	}
	last := len(text) - BlockSize
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"another file":     {with(0, "H"), "it is not a transcript"},
		"a later version":  {with(17, "\x02"), "it is a transcript of version 2, this program reads version 3"},
		"a changed header": {with(50, "x"), "the hash of its header does not fit: the header was changed"},
		"a short file":     {[]byte("my notes"), "it has 8 bytes that do not begin this transcript: move it away"},
		"another job": {other.text(0), "it is of contract " + other.contract.Short() +
			", want " + l.contract.Short()},
		"another party": {l.text(1), "it is that of party 1, " + l.ids[1].Short() +
			", want party 0, " + l.ids[0].Short()},
		"a changed end":       {with(last+100, "x"), "it is damaged: record 43: the chain is broken: its hash does not follow from the record before it: it was changed, or is of another transcript; put back a copy of the file"},
		"a changed end but 1": {with(last-10, "x"), "it is damaged: record 42: the chain is broken: its hash does not follow from the record before it: it was changed, or is of another transcript; put back a copy of the file"},
		"a changed middle":    {with(20*BlockSize+100, "x"), "it is damaged: record 19: the chain is broken: its hash does not follow from the record before it: it was changed, or is of another transcript; put back a copy of the file"},
		"zeros and a byte":    {append(bytes.Clone(text), append(make([]byte, 5000), 1)...), "it is damaged: record 44: the chain is broken: record 0 stands here, so that one is doubled or out of order; put back a copy of the file"},
		"zeros but a byte":    {append(bytes.Clone(text), append([]byte{1}, make([]byte, 5000)...)...), "it is damaged: record 44: the chain is broken: record 0 stands here, so that one is doubled or out of order; put back a copy of the file"},
		"zeros in the middle": {with(20*BlockSize, string(make([]byte, BlockSize))), "it is damaged: record 19: the chain is broken: record 0 stands here, so that one is doubled or out of order; put back a copy of the file"},
		"zeros for a hash":    {with(20*BlockSize+hashAt, string(make([]byte, BlockSize-hashAt))), "it is damaged: record 19: the chain is broken: its hash does not follow from the record before it: it was changed, or is of another transcript; put back a copy of the file"},
		"half a header":       {append([]byte("hanse-transcript\x00\x07"), make([]byte, 100)...), "it has 118 bytes that do not begin this transcript: move it away"},
	} {
		path := filepath.Join(t.TempDir(), "x")
		l.must(os.WriteFile(path, c.text, 0o600))
		_, err := Open(path, l.config(0))
		if want := "transcript " + path + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, c.text) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestOpenRefusesConfigurationsThatDoNotFit(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "config")
	c := l.config(0)
	c.Key = keyNumber(1)
	_, err := Open("x", c)
	wantError(t, err, "transcript x: the key is not that of party 0, "+l.ids[0].Short())
	c.Self = 2
	_, err = Open("x", c)
	wantError(t, err, "transcript x: own index is 2, want 0 to 1")
	dir := t.TempDir()
	_, err = Open(dir, l.config(0))
	wantError(t, err, "transcript "+dir+": is a directory")
	_, err = Open(filepath.Join(dir, "no", "x"), l.config(0))
	wantError(t, err, "transcript "+filepath.Join(dir, "no", "x")+": no such file or directory")
}

func TestLogRefusesWhatCannotBe(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 3, "refuse")
	log, at := l.logs[0], "transcript "+l.path(0)+": "
	good := protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassControl, Kind: "x", Session: 5}
	wantError(t, log.Record(good, nil), at+"no session has begun since it was opened")
	_, err := log.Link(1)
	wantError(t, err, at+"no session has begun since it was opened")
	wantError(t, log.Sign(SignedDone), at+"no session has begun")
	wantError(t, log.Begin(0), at+"session 0 begins after session 0, want a higher number")
	l.must(log.Begin(5))
	wantError(t, log.Begin(5), at+"session 5 begins after session 5, want a higher number")
	wantError(t, log.Sign("because"), at+`record 1: a seal says "because", want "checkpoint", "done" or "broken"`)
	_, err = log.Link(0)
	wantError(t, err, at+"there is no link to party 0 among 3 parties of which this is party 0")
	const noPeer = "there is no such peer among 3 parties of which this is party 0"
	for _, c := range []struct {
		change func(e *protocol.Entry)
		bytes  int
		want   string
	}{
		{func(e *protocol.Entry) { e.Event = 0 }, 0, "record 1, peer 1: its type is 0, want 1 to 7"},
		{func(e *protocol.Entry) { *e = protocol.Entry{Event: 5, Session: 5} }, 0,
			"record 1, peer 0: event 5 is none of a session"},
		{func(e *protocol.Entry) { e.Class = 0 }, 0, "record 1, peer 1: its class is 0, want 1 to 5"},
		{func(e *protocol.Entry) { e.Kind = "X" }, 0, `record 1, peer 1: its kind is "X", want 1 to 24 characters of a-z, 0-9, "-" and space`},
		{func(e *protocol.Entry) { e.Session = 4 }, 0, "record 1, peer 1: it is of session 4, but session 5 is under way"},
		{func(e *protocol.Entry) { e.Peer = 0 }, 0, "record 1, peer 0: " + noPeer},
		{func(e *protocol.Entry) { e.Peer = -1 }, 0, "record 1, peer -1: " + noPeer},
		{func(e *protocol.Entry) { e.Peer = 3 }, 0, "record 1, peer 3: " + noPeer},
		{func(e *protocol.Entry) { e.Event = protocol.EventOpened }, 0, `record 1, peer 1: a record "opened" names a peer, want the party itself, 0`},
		{func(e *protocol.Entry) { e.Sequence = 1 }, 0, "record 1, peer 1: frame 1 was sent where frame 0 was next: one is missing, doubled or of another link"},
		{func(e *protocol.Entry) { e.Event = protocol.EventCountersigned }, 63, "record 1, peer 1: a countersignature of 63 bytes in bytes, want 64 bytes that no store has"},
		{func(e *protocol.Entry) { e.Event = protocol.EventCountersigned }, 64, `record 1, peer 1: a countersignature of kind "x", want "countersign"`},
		{func(e *protocol.Entry) { e.Event, e.Kind = protocol.EventCountersigned, contract.KindCountersign }, 64, `record 1, peer 1: a countersignature without just before it one frame "countersign" each way`},
		{func(*protocol.Entry) {}, protocol.MaxFrame + 1, "record 1, peer 1: its payload has 4198401 bytes, at most 4198400 are allowed"},
	} {
		e := good
		c.change(&e)
		wantError(t, log.Record(e, make([]byte, c.bytes)), at+c.want)
	}
	l.must(log.Record(good, nil)) // none of these made it unusable
	if s, err := verify(l.text(0), l.ids); err != nil || s.Records != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// The hash of an opening is taken for the store that keeps it, and is zero where none does.
func TestAnOpeningIsHashedForTheStoreOnly(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "openings")
	l.stores[0] = mustOpenStore(t, filepath.Join(l.dir, "payloads"), 10)
	l.begin(1)
	l.open(0, "angles", []byte("a total"))
	l.open(0, "angles", nil)
	l.open(0, "angles", []byte("no room")) // payloads are no longer kept, and the opening itself
	l.open(0, "angles", []byte("a total"))
	l.open(1, "angles", []byte("a total"))
	l.seal(SignedDone)
	var sums []keys.Hash
	for i := range l.logs {
		for _, b := range blocks(l.text(i))[1:] {
			var r Record
			l.must(r.Decode((*[BlockSize]byte)(b)))
			if r.Type == TypeOpened {
				sums = append(sums, r.Sum())
			}
		}
		_, err := verify(l.text(i), l.ids)
		l.must(err)
	}
	if want := []keys.Hash{sha256.Sum256([]byte("a total")), sha256.Sum256(nil), {}, {}, {}}; !slices.Equal(sums, want) {
		t.Errorf("hashes of openings: %v, want %v", sums, want)
	}
}

// After a write that failed the log says so for ever.
func TestAFailedWriteEndsTheLog(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "write")
	log := l.logs[0]
	l.must(log.Begin(1))
	l.must(log.file.Close())
	var err error
	log.file, err = os.Open(l.path(0)) // cannot be written to
	l.must(err)
	e := protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassControl, Kind: "x", Session: 1}
	first := log.Record(e, nil)
	wantPart(t, "write", first, "transcript "+l.path(0)+": record 1 was not written: ")
	wantPart(t, "write", first, "; free some space and start the job again, the transcript goes on from there")
	_, link := log.Link(1)
	for _, again := range []error{log.Record(e, nil), log.Begin(2), log.Sign(SignedBroken), log.Sync(), link} {
		if again != first {
			t.Errorf("error %v", again)
		}
	}
	l.must(log.Close())
	l.must(log.Close())
	if err := log.Begin(3); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed log: %v", err)
	}
}

// Whoever kills the process loses nothing that was recorded.
func TestEveryRecordIsInTheFileAtOnce(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "at once")
	l.begin(1)
	for i := range 5 {
		l.frame(0, 1, contract.ClassMasked, contract.Turns16, "angles", []byte("words"))
		if n := len(l.text(1)); n != (i+3)*BlockSize {
			t.Errorf("%d bytes after %d frames", n, i+1)
		}
	}
	l.must(l.logs[0].Sync())
}

// Recording needs no memory of its own, so that it does not disturb the run it records.
func TestRecordingAllocatesNothing(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "allocations")
	l.begin(1)
	e := protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassMasked, Kind: "angles", Session: 1}
	payload := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		l.must(l.logs[0].Record(e, payload))
		e.Sequence++
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}
