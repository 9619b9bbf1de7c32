package transcript

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSmallTranscriptsAreGolden holds every byte of three transcripts, and what they say.
func TestSmallTranscriptsAreGolden(t *testing.T) {
	l := smallTestNetwork(t, "golden")
	golden(t, "small.transcript", l.text(0))
	golden(t, "small.txt", listing(t, l.text(0)))
	for i := range l.logs {
		if _, err := verify(l.text(i), l.ids); err != nil {
			t.Error(err)
		}
	}
}

// listing renders a transcript for people.
func listing(t *testing.T, text []byte) []byte {
	r, err := NewReader(bytes.NewReader(text))
	must(t, err)
	var b strings.Builder
	h := r.Header()
	fmt.Fprintf(&b, "party %d, contract %s\n", h.Self, h.Contract.Short())
	var rec Record
	for r.Next(&rec) == nil {
		fmt.Fprintf(&b, "%3d session %d %-14s peer %d %-9s %-7s %-12q operation %d sequence %d chunk %d size %d bytes %d kept %v proof %x hash %s\n",
			rec.Number, rec.Session, rec.Type, rec.Peer, rec.Class, rec.Encoding, rec.Kind,
			rec.Operation, rec.Sequence, rec.Chunk,
			rec.Size, rec.Bytes, rec.Kept, rec.Proof[:4], rec.Hash.Short())
	}
	return []byte(b.String())
}

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what it was; if the format was to change, its version must", path)
	}
}
