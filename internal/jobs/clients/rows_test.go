package clients

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/vault"
)

// waitingRows is a live stream without rows at a client.
func waitingRows(t *testing.T) (r *rowStream, over chan struct{}, input io.WriteCloser) {
	t.Helper()
	in, out, err := os.Pipe()
	must(t, err)
	was := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = was }()
	if _, err := io.WriteString(out, "u,y\n"); err != nil {
		t.Fatal(err)
	}
	tables := jobs.NewTables(nil)
	if tables.Input, err = stream.Open(stream.Stdin, "y", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	v, err := vault.Open(filepath.Join(t.TempDir(), "job"), vault.Options{})
	must(t, err)
	over = make(chan struct{})
	return &rowStream{tables: tables, over: over, stream: tables.Input, vault: v}, over, out
}

func TestAWaitForARowEndsWithTheJobAndLosesNoRow(t *testing.T) {
	r, over, input := waitingRows(t)
	result := make(chan error)
	go func() {
		_, _, err := r.Inputs(t.Context())
		result <- err
	}()
	close(over)
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
	r, _, _ := waitingRows(t)
	r.ready = true
	if last, err := r.cut(math.MaxInt); last != 0 || err != nil {
		t.Fatalf("nothing was predicted, and the last row is %d (%v)", last, err)
	}
	for row, prediction := range []float64{0.5, -2, 1e-9} {
		must(t, r.Predicted(row+1, prediction))
	}
	path, want := r.vault.Path(predictionsFile), "row,prediction\n1,0.5\n2,-2\n3,1e-09\n"
	for what, damage := range map[string]func() error{
		"nothing":     func() error { return nil },
		"deleted":     func() error { return os.Remove(path) },
		"cut":         func() error { return os.Truncate(path, 20) },
		"another row": func() error { return os.WriteFile(path, []byte(strings.Replace(want, "2,-2", "2,+2", 1)), 0o600) },
	} {
		must(t, damage())
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
	must(t, r.Predicted(2, 7))
	if text, _ := os.ReadFile(path); string(text) != "row,prediction\n1,0.5\n2,7\n" {
		t.Errorf("after a row was predicted again the copy says %q", text)
	}
	log, err := os.ReadFile(r.vault.Path(predictionsLog))
	must(t, err)
	log[60] ^= 1
	must(t, os.WriteFile(r.vault.Path(predictionsLog), log, 0o600))
	var damaged *vault.DamagedError
	if _, err := r.cut(math.MaxInt); !errors.As(err, &damaged) {
		t.Errorf("a damaged log: %v", err)
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
