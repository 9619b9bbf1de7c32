package recorder_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/internal/recorder"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a recorder of party 0 of three, in a fresh file.
func open(t *testing.T) (*recorder.Recorder, string) {
	t.Helper()
	c := transcript.Config{Contract: keys.HashOf("contract")}
	for range 3 {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		c.IDs = append(c.IDs, k.ID())
		if c.Key == nil {
			c.Key = k
		}
	}
	path := filepath.Join(t.TempDir(), "transcript")
	log, err := transcript.Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recorder.New(log, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	return r, path
}

// sent is the n-th frame to party 1.
func sent(n uint64) protocol.Entry {
	return protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassMasked, Kind: "angles", Session: 1,
		Sequence: n, Operation: n + 1, Size: 4}
}

// TestEverythingIsWritten: in order, with the payload as it was when it was recorded.
func TestEverythingIsWritten(t *testing.T) {
	r, path := open(t)
	payload := []byte{1, 2, 3, 4}
	const frames = 500 // many times the queue
	for n := range uint64(frames) {
		payload[0] = byte(n)
		if err := r.Record(sent(n), payload); err != nil {
			t.Fatal(err)
		}
	}
	before, err := r.Link(1)
	if err != nil || before == (keys.Hash{}) {
		t.Fatalf("link digest %v, error %v", before, err)
	}
	if err := r.Close(true); err != nil {
		t.Fatal(err)
	}
	if n, last := read(t, path); n != frames+2 || last.Type != transcript.TypeSignature ||
		last.Kind != transcript.SignedDone {
		t.Errorf("%d records, the last is %+v", n, last)
	}
}

// read counts the records and returns the last.
func read(t *testing.T, path string) (n int, last transcript.Record) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := transcript.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var rec transcript.Record
		err := reader.Next(&rec)
		if err == io.EOF {
			return n, last
		}
		if err != nil {
			t.Fatal(err)
		}
		n, last = n+1, rec
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
	if _, last := read(t, path); last.Type == transcript.TypeSignature {
		t.Error("what could not be recorded was sealed")
	}
}
