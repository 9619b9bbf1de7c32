package transcript_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a recorder of party 0 of three, in a fresh file.
func open(t *testing.T) (*transcript.Recorder, string) {
	t.Helper()
	c := transcript.Config{Contract: keys.HashOf("contract")}
	for range 3 {
		k, err := keys.GenerateKey()
		must(t, err)
		c.IDs = append(c.IDs, k.ID())
		if c.Key == nil {
			c.Key = k
		}
	}
	dir := t.TempDir()
	store, err := transcript.OpenStore(filepath.Join(dir, "payloads"), 1<<20)
	must(t, err)
	c.Store = store
	path := filepath.Join(dir, "transcript")
	log, err := transcript.Open(path, c)
	must(t, err)
	r, err := transcript.NewRecorder(log, 1, 3)
	must(t, err)
	return r, path
}

// sent is the n-th frame to party 1.
func sent(n uint64) protocol.Entry {
	return protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassMasked, Kind: "angles", Session: 1,
		Sequence: n, Operation: n + 1, Size: 4 << 10}
}

// TestEverythingIsWritten: in order, with the payload as it was when it was recorded, though the next takes its place.
func TestEverythingIsWritten(t *testing.T) {
	r, path := open(t)
	payload := make([]byte, 4<<10)
	const frames = 500 // many times the queue
	of := func(n int) []byte {
		for i := range payload {
			payload[i] = byte(n + i*i)
		}
		return payload
	}
	for n := range frames {
		e := sent(uint64(n / 2))
		if n%2 == 1 {
			e.Event = protocol.EventReceived
		}
		must(t, r.Record(e, of(n)))
		clear(payload)
	}
	before, err := r.Link(1)
	if err != nil || before == (keys.Hash{}) {
		t.Fatalf("link digest %v, error %v", before, err)
	}
	must(t, r.Close(true))
	all := read(t, path)
	if last := all[len(all)-1]; len(all) != frames+2 || last.Type != transcript.TypeSignature ||
		last.Kind != transcript.SignedDone {
		t.Errorf("%d records, the last is %+v", len(all), last)
	}
	store, err := transcript.OpenStore(filepath.Join(filepath.Dir(path), "payloads"), 1<<20)
	must(t, err)
	defer store.Close()
	for n := range frames {
		if got, want := all[n+1].Sum(), keys.Hash(sha256.Sum256(of(n))); got != want {
			t.Fatalf("record %d is of a payload %s, want %s", n+1, got, want)
		}
		if kept, err := store.Get(all[n+1].Sum()); err != nil || !bytes.Equal(kept, of(n)) {
			t.Fatalf("payload %d is kept as another: %v", n, err)
		}
	}
}

// read returns the records.
func read(t *testing.T, path string) []transcript.Record {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	reader, err := transcript.NewReader(f)
	must(t, err)
	var all []transcript.Record
	for {
		var rec transcript.Record
		err := reader.Next(&rec)
		if err == io.EOF {
			return all
		}
		must(t, err)
		all = append(all, rec)
	}
}

// TestAFailureIsTold: what could not be written is not sent, and comes back from the next call and at the end.
func TestAFailureIsTold(t *testing.T) {
	r, path := open(t)
	err := r.Record(sent(7), nil) // not the next on its link: what is to be sent waits for its record
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("error is %v, want one that names %s", err, path)
	}
	if again := r.Record(sent(0), nil); !errors.Is(again, err) {
		t.Errorf("the next call returns %v", again)
	}
	if end := r.Close(true); !errors.Is(end, err) {
		t.Errorf("the end returns %v", end)
	}
	if all := read(t, path); all[len(all)-1].Type == transcript.TypeSignature {
		t.Error("what could not be recorded was sealed")
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
