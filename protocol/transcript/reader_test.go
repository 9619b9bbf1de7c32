package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/hanse-project/hanse/keys"
)

// However the source hands out its bytes, the same records are read.
func TestReaderReadsTheSameFromSlowSources(t *testing.T) {
	text := longTranscript(t, 3*blocksAtOnce)
	want, err := readAll(text)
	if err != io.EOF || want < 3*blocksAtOnce {
		t.Fatalf("%d records, then %v", want, err)
	}
	for name, source := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with the error": iotest.DataErrReader,
	} {
		r, err := NewReader(source(bytes.NewReader(text)))
		must(t, err)
		var rec Record
		n := 0
		for err = r.Next(&rec); err == nil; err = r.Next(&rec) {
			n++
		}
		if n != want || err != io.EOF || r.Next(&rec) != io.EOF {
			t.Errorf("%s: %d records, then %v, want %d", name, n, err, want)
		}
	}
}

// longTranscript has about so many records.
func longTranscript(t testing.TB, records int) []byte {
	l := newTestNetwork(t, t.TempDir(), 2, "long")
	l.begin(1)
	for i := range records / 2 {
		l.frame(0, 1, 2, 1, fmt.Sprintf("kind %d", i%40), []byte("words"))
		l.frame(1, 0, 2, 1, "angles", []byte("words"))
	}
	l.countersign()
	l.seal(SignedDone)
	return l.text(0)
}

// An error of the source is what it is, and stays.
func TestReaderReturnsTheSourcesError(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := NewReader(iotest.ErrReader(broken))
	wantError(t, err, "the disk is gone")
	text := longTranscript(t, 10)
	r, err := NewReader(io.MultiReader(bytes.NewReader(text[:2*BlockSize]), iotest.ErrReader(broken)))
	must(t, err)
	var rec Record
	must(t, r.Next(&rec))
	for range 2 {
		if err := r.Next(&rec); err != broken {
			t.Errorf("error %v", err)
		}
	}
}

func TestReaderKnowsCutHeadersFromOtherFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "the file is empty, want a transcript",
		"hanse":                     "its header is not whole: the transcript is cut short: it ends inside a record",
		"hanse-transcript\x00\x01…": "its header is not whole: the transcript is cut short: it ends inside a record",
		"hanse-charter":             "it is not a transcript",
		string(make([]byte, 500)):   "it is not a transcript",
	} {
		_, err := NewReader(bytes.NewReader([]byte(text)))
		wantError(t, err, want)
	}
}

// Reading and verifying a record needs no memory of its own, whatever it says.
func TestReadingAllocatesNothingPerRecord(t *testing.T) {
	text := longTranscript(t, 4000)
	r, err := NewReader(bytes.NewReader(text))
	must(t, err)
	v, err := NewVerifier(r.Header(), []keys.ID{keyNumber(0).ID(), keyNumber(1).ID()})
	must(t, err)
	var rec Record
	for range 100 { // kinds, and the start of the links
		must(t, errors.Join(r.Next(&rec), v.Add(&rec)))
	}
	if n := testing.AllocsPerRun(1000, func() {
		if r.Next(&rec) != nil || v.Add(&rec) != nil {
			t.Fatal("no record")
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// FuzzReader: any bytes are read to an end, with bounded memory.
func FuzzReader(f *testing.F) {
	l := smallTestNetwork(f, "fuzz")
	ids := l.ids
	text := l.text(0)
	f.Add(text)
	f.Add(text[:1000])
	f.Add(text[:BlockSize])
	f.Add(append(bytes.Clone(text[:1000]), make([]byte, 1000)...))
	f.Add(append(bytes.Clone(text), make([]byte, 5000)...))
	f.Add(append(bytes.Clone(text), append(make([]byte, 5000), 1)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := len(b) / BlockSize * BlockSize
		for _, text := range [][]byte{b, repaired(b[:whole], l.contract)} {
			r, err := NewReader(bytes.NewReader(text))
			if err != nil {
				continue
			}
			v, err := NewVerifier(r.Header(), ids)
			if err != nil {
				continue
			}
			var rec Record
			for r.Next(&rec) == nil && v.Add(&rec) == nil {
			}
			if len(r.kinds) > maxKinds || len(r.buffer) > 1<<20 || v.Summary().Records > uint64(len(b)/BlockSize) {
				t.Fatal("a reader grows")
			}
		}
	})
}

// repaired makes a chain of any blocks, so that a fuzzer gets behind the hashes.
func repaired(b []byte, contract keys.Hash) []byte {
	if len(b) == 0 {
		return nil
	}
	all := blocks(b)
	rehashed(all[0])
	return rechained(all, contract, keyNumber(0))
}
