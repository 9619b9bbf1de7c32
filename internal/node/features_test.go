package node

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
)

// rowsFile is the file of features of a sealed job that needs them again.
const rowsFile = "sealed-features" + durable.Suffix

// logistic starts all nodes, launches such a job, and returns where its end will be told.
func (l *testNetwork) logistic(ctx context.Context) (keys.Hash, <-chan error) {
	l.t.Helper()
	l.startAll()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "privacy = \"sealed\"",
		activeBank+"loss = \"logistic\"\nfeatures = 32\niterations = 24\nouter = 24\nsigma = 1.5"), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return c.Hash(), l.launched(ctx, 0, c.Hash())
}

// wantNoRows wants no file of features at anybody.
func (l *testNetwork) wantNoRows(h keys.Hash) {
	l.t.Helper()
	for i, name := range l.names {
		if _, err := os.Stat(l.jobFile(i, h, rowsFile)); !errors.Is(err, fs.ErrNotExist) {
			l.t.Errorf("%s: the file of features: %v", name, err)
		}
	}
}

// TestFeaturesOnADiskThatIsFull pause the job: the keeper's owner reads what to do, the others a code, and no file is
// left. It goes on when there is space.
func TestFeaturesOnADiskThatIsFull(t *testing.T) {
	l := newTestNetwork(t, 4, 400)
	var mu sync.Mutex
	full, there := true, 0
	l.faults[1] = func(path string) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if filepath.Base(path) != rowsFile {
			return false, nil
		}
		if there++; there == 1 || !full { // it is made
			return false, nil
		}
		return false, &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}
	ctx := minute(t)
	h, ended := l.logistic(ctx)
	l.awaitPause(ctx, 0, h, "insurer: ")
	l.awaitPause(ctx, 1, h, "a file that a running job needs could not be written: write ")
	l.awaitState(ctx, 2, h, job.Paused)
	l.awaitState(ctx, 3, h, job.Paused)
	s, _ := l.nodes[0].job(h)
	if r := s.Record(); strings.Contains(r.Reason, rowsFile) {
		t.Errorf("another member's owner reads %q", r.Reason)
	}
	l.wantNoRows(h)
	mu.Lock()
	full = false
	mu.Unlock()
	must(t, <-ended)
	l.wantNoRows(h)
}

// TestFeaturesOfAKilledNode are gone once it starts again, and the job ends as it should.
func TestFeaturesOfAKilledNode(t *testing.T) {
	l := newTestNetwork(t, 3, 400)
	var once sync.Once
	killed := make(chan string)
	l.faults[2] = func(path string) (bool, error) {
		if filepath.Base(path) == rowsFile {
			once.Do(func() { killed <- path })
			return true, errKilled
		}
		return false, nil
	}
	ctx := minute(t)
	h, ended := l.logistic(ctx)
	path := <-killed
	l.net.Kill(l.keys[2].ID())
	l.stops[2]()
	must(t, os.WriteFile(path, []byte("what a killed process leaves"), 0o600))
	l.faults[2] = nil
	l.start(2)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that was left: %v", err)
	}
	must(t, <-ended)
	l.wantNoRows(h)
}

// TestFeaturesOfACancelledJob are gone with it.
func TestFeaturesOfACancelledJob(t *testing.T) {
	l := newTestNetwork(t, 3, 400)
	written, cancelled := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l.faults[1] = func(path string) (bool, error) {
		if filepath.Base(path) == rowsFile {
			once.Do(func() { close(written) })
			<-cancelled // the job is short
		}
		return false, nil
	}
	ctx := minute(t)
	h, ended := l.logistic(ctx)
	<-written
	err := l.nodes[0].Cancel(h, "no longer wanted")
	close(cancelled)
	must(t, err)
	if err := <-ended; err == nil {
		t.Fatal("the job was done before it was cancelled")
	}
	for i := range l.names {
		l.awaitGone(i, h, rowsFile)
	}
}
