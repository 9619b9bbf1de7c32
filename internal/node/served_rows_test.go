package node

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/vault"
)

// liveInput makes standard input a pipe and gives one party of a league its stream there. It returns the
// end to write to.
func (l *league) liveInput(party int) io.Writer {
	l.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	was := os.Stdin
	os.Stdin = r
	l.t.Cleanup(func() { os.Stdin = was })
	l.t.Cleanup(func() { w.Close() })
	l.nodes[party].tables.specs["train"] = TableSpec{Path: stream.Stdin}
	return w
}

// TestAClientThatWaitsForARowEndsWithItsServer: a client's live stream has stopped, the job goes on without it to
// its end, and the client is done then too. The rows after that stay in the stream.
func TestAClientThatWaitsForARowEndsWithItsServer(t *testing.T) {
	for _, c := range []struct{ algorithm, parameters string }{
		{"pofmkl", smallPOFMKL},
		{"gfml", strings.Replace(gfmlOn(0.5), "iterations = 10", "iterations = 40", 1)},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			if testing.Short() {
				t.Skip("the server waits ten seconds for the client")
			}
			l := newLeague(t, 6, 0)
			l.streams(1, 60)
			const live = 5
			done := make(chan Event, 1)
			l.told[live] = func(e Event) {
				if e.Kind == EventDone || e.Kind == EventError || e.Kind == EventState && strings.HasPrefix(e.Text, "paused") {
					done <- e
				}
			}
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
				if e.Kind != EventDone || e.Report.Online == nil {
					t.Fatalf("it ends with %+v", e)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits on for a row")
			}
			if _, err := io.WriteString(input, "0.5,0.6,0.7\n"); err != nil {
				t.Fatal(err)
			}
			if row, err := l.nodes[live].input.Next(t.Context()); err != nil || row.Label != 0.7 {
				t.Errorf("the row after the job is %+v, error %v", row, err)
			}
		})
	}
}

// waitingRows is a live stream without rows at a client.
func waitingRows(t *testing.T) (r *rowStream, s *jobState, input io.WriteCloser) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = was }()
	if _, err := io.WriteString(out, "u,y\n"); err != nil {
		t.Fatal(err)
	}
	n := &Node{}
	if n.input, err = stream.Open(stream.Stdin, "y", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	v, err := vault.Open(filepath.Join(t.TempDir(), "job"), vault.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s = newJobState(v, nil)
	return &rowStream{node: n, over: s.over, stream: n.input}, s, out
}

func TestAWaitForARowEndsWithTheJobAndLosesNoRow(t *testing.T) {
	r, s, input := waitingRows(t)
	result := make(chan error)
	go func() {
		_, _, err := r.Inputs(t.Context())
		result <- err
	}()
	s.end()
	s.end() // said twice
	if err := <-result; !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want the end of the stream", err)
	}
	if _, err := io.WriteString(input, "1,2\n"); err != nil {
		t.Fatal(err)
	}
	if row, err := r.stream.Next(t.Context()); err != nil || row.Number != 1 || row.Label != 2 {
		t.Errorf("row %+v, error %v, want the first", row, err)
	}
}

func TestAWaitForARowEndsWithItsSession(t *testing.T) {
	r, _, _ := waitingRows(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, _, err := r.Inputs(ctx)
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestPredictionsAreChecked damages both places where predictions are kept: the copy is made anew, a damaged log is
// named.
func TestPredictionsAreChecked(t *testing.T) {
	r, s, _ := waitingRows(t)
	r.vault, r.ready = s.vault, true
	if last, err := r.cut(math.MaxInt); last != 0 || err != nil {
		t.Fatalf("nothing was predicted, and the last row is %d (%v)", last, err)
	}
	for row, prediction := range []float64{0.5, -2, 1e-9} {
		if err := r.Predicted(row+1, prediction); err != nil {
			t.Fatal(err)
		}
	}
	path, want := s.vault.Path(predictionsFile), "row,prediction\n1,0.5\n2,-2\n3,1e-09\n"
	for what, damage := range map[string]func() error{
		"nothing":     func() error { return nil },
		"deleted":     func() error { return os.Remove(path) },
		"cut":         func() error { return os.Truncate(path, 20) },
		"another row": func() error { return os.WriteFile(path, []byte(strings.Replace(want, "2,-2", "2,+2", 1)), 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if last, err := r.cut(math.MaxInt); last != 3 || err != nil {
			t.Errorf("%s: the last row is %d (%v)", what, last, err)
		}
		if text, _ := os.ReadFile(path); string(text) != want {
			t.Errorf("%s: the copy says %q", what, text)
		}
	}
	if last, err := r.cut(1); last != 1 || err != nil {
		t.Errorf("cut to one row, the last is %d (%v)", last, err)
	}
	if err := r.Predicted(2, 7); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "row,prediction\n1,0.5\n2,7\n" {
		t.Errorf("after a row was predicted again the copy says %q", text)
	}
	if err := flipBit(s.vault.Path(predictionsLog), 60); err != nil {
		t.Fatal(err)
	}
	var damaged *vault.DamagedError
	if _, err := r.cut(math.MaxInt); !errors.As(err, &damaged) {
		t.Errorf("a damaged log: %v", err)
	}
}
