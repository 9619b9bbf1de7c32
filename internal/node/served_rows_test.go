package node

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// liveInput makes standard input a pipe and gives one party of a test network its stream there. It returns the
// end to write to.
func (l *testNetwork) liveInput(party int) io.Writer {
	l.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	was := os.Stdin
	os.Stdin = r
	l.t.Cleanup(func() { os.Stdin = was })
	l.t.Cleanup(func() { w.Close() })
	l.nodes[party].tables.Specs["train"] = jobs.TableSpec{Path: stream.Stdin}
	return w
}

// TestAClientThatWaitsForARowEndsWithItsServer: a client's live stream has stopped, the job goes on without it to
// its end, and the client is done then too. The rows after that stay in the stream.
func TestAClientThatWaitsForARowEndsWithItsServer(t *testing.T) {
	t.Parallel() // it waits for the most part, and no other test has a stream at standard input
	for i, c := range []struct{ algorithm, parameters string }{
		{"pofmkl", smallPOFMKL},
		{"gfml", strings.Replace(gfmlOn(0.5), "iterations = 10", "iterations = 40", 1)},
	} {
		if !drawn.Today(t, i, 2) {
			continue
		}
		t.Run(c.algorithm, func(t *testing.T) {
			if testing.Short() {
				t.Skip("the server waits ten seconds for the client")
			}
			l := newTestNetwork(t, 6, 0)
			l.streams(1, 60)
			const live = 5
			done := make(chan jobs.Event, 1)
			l.watch(live, func(e jobs.Event) {
				if e.Kind == jobs.EventDone || e.Kind == jobs.EventError || e.Kind == jobs.EventState &&
					strings.HasPrefix(e.Text, "paused") {
					done <- e
				}
			})
			l.startAll()
			input := l.liveInput(live)
			if _, err := io.WriteString(input, "u,v,y\n0.1,0.2,0.5\n0.3,0.4,0.6\n"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := l.propose(l.servedJob(c.algorithm, 1, "privacy = \"masked\"", c.parameters)); err != nil {
				t.Fatal(err)
			}
			select {
			case e := <-done:
				if e.Kind != jobs.EventDone || e.Report.Online == nil {
					t.Fatalf("it ends with %+v", e)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits on for a row")
			}
			if _, err := io.WriteString(input, "0.5,0.6,0.7\n"); err != nil {
				t.Fatal(err)
			}
			if row, err := l.nodes[live].tables.Input.Next(t.Context()); err != nil || row.Label != 0.7 {
				t.Errorf("the row after the job is %+v, error %v", row, err)
			}
		})
	}
}
