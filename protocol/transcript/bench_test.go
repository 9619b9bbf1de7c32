package transcript

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// BenchmarkRecord measures what a frame costs the run that is recorded: hash of the payload, write of
// the record, and the payload's entry in a pack where payloads are kept.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		for _, keep := range []bool{false, true} {
			b.Run(fmt.Sprintf("payload=%d/kept=%v", size, keep), func(b *testing.B) {
				l := newTestNetwork(b, b.TempDir(), 2, "bench")
				if keep {
					l.stores[0] = mustOpenStore(b, filepath.Join(l.dir, "payloads"), 1<<62)
				}
				l.begin(1)
				e := protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassMasked, Encoding: contract.Turns16,
					Kind: "angles", Session: 1}
				payload := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					copy(payload, big64(e.Sequence)) // no payload twice
					must(b, l.logs[0].Record(e, payload))
					e.Sequence++
				}
				b.ReportMetric(BlockSize, "B/frame")
			})
		}
	}
}

// BenchmarkRecordOpening measures what a chunk of a total costs its root where payloads are not kept.
func BenchmarkRecordOpening(b *testing.B) {
	l := newTestNetwork(b, b.TempDir(), 2, "bench")
	l.begin(1)
	e := protocol.Entry{Event: protocol.EventOpened, Class: contract.ClassOpening, Encoding: contract.Turns16,
		Kind: "angles", Session: 1}
	payload := make([]byte, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		must(b, l.logs[0].Record(e, payload))
	}
}

// BenchmarkVerify measures an auditor: reading alone, and with the checks of a Verifier.
func BenchmarkVerify(b *testing.B) {
	const records = 100_000
	text := longTranscript(b, records)
	ids := []keys.ID{keyNumber(0).ID(), keyNumber(1).ID()}
	for _, what := range []string{"Reader", "Reader and Verifier"} {
		b.Run(what, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += pass(b, text, ids, what != "Reader")
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// pass reads a transcript once and returns how many records it has.
func pass(b *testing.B, text []byte, ids []keys.ID, check bool) (n int) {
	r, err := NewReader(bytes.NewReader(text))
	must(b, err)
	v, err := NewVerifier(r.Header(), ids)
	must(b, err)
	var rec Record
	for err = r.Next(&rec); err == nil; err = r.Next(&rec) {
		n++
		if check {
			must(b, v.Add(&rec))
		}
	}
	if err != io.EOF {
		b.Fatal(err)
	}
	return n
}

// BenchmarkCountersign measures a digest of a link and the check of a signature on it.
func BenchmarkCountersign(b *testing.B) {
	l := smallTestNetwork(b, "bench")
	digest, err := l.logs[0].Link(1)
	l.must(err)
	signature := keyNumber(0).Sign(protocol.DomainLink, digest[:])
	b.Run("Link", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.logs[0].Link(1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Verify", func(b *testing.B) {
		for b.Loop() {
			if !l.ids[0].Verify(protocol.DomainLink, digest[:], signature) {
				b.Fatal("the signature is refused")
			}
		}
	})
}
