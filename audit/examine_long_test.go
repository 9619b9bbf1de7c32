//go:build long

package audit

import (
	"bufio"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// TestTenGigabytesInConstantMemory examines a transcript that is made while it is read.
func TestTenGigabytesInConstantMemory(t *testing.T) {
	const bytes, space = 10 << 30, 640 << 20 // the filter, and as much garbage before it is collected
	l := newTestNetwork(t, 4)
	l.agree(contract.Job{Privacy: "masked"}, 1, nil, []contract.Operation{
		{Kind: "angles", Stage: 2, Collective: "sum", Root: "p0", Class: "masked", Encoding: "turns16",
			Count: 60, Bytes: 1 << 49},
	})
	s := evidence.Source{Path: "made up", Open: func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() {
			out := bufio.NewWriterSize(writerUntilClosed{w}, 1<<20)
			l.synthesise(out, bytes/transcript.BlockSize, 1<<14)
			out.Flush()
			w.Close()
		}()
		return sized{r, bytes}, nil
	}}
	begun := time.Now()
	e := mustExamine(t, &evidence.Input{Contract: l.contract}, &s)
	wantUnfinished(t, e.Checks, 1)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d records in %.0f s, %d MB of memory in all", e.Transcript.Records, time.Since(begun).Seconds(), m.Sys>>20)
	if e.Transcript.Records < bytes/transcript.BlockSize || m.Sys > space {
		t.Errorf("%d records took %d MB", e.Transcript.Records, m.Sys>>20)
	}
}

// sized is a reader of something of known size.
type sized struct {
	io.ReadCloser
	bytes int
}

// Len returns the size.
func (s sized) Len() int { return s.bytes }

// writerUntilClosed drops what is written after the reader has gone.
type writerUntilClosed struct{ *io.PipeWriter }

// Write implements io.Writer.
func (w writerUntilClosed) Write(p []byte) (int, error) {
	w.PipeWriter.Write(p)
	return len(p), nil
}
