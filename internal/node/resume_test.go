package node

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
)

// TestKilledPartyResumes kills each party at several frames of a training, starts it again, and
// compares the model parts with those of an uninterrupted run of the same contract, bit for bit.
func TestKilledPartyResumes(t *testing.T) {
	for _, c := range []struct {
		name       string
		frame      int
		parameters string
	}{
		{"fixed", 14, "loss = \"logistic\"\nfeatures = 1024\niterations = 15"},
		{"doubly stochastic", 120, "schedule = \"doubly-stochastic\"\niterations = 110\nbatch = 8\nblock_features = " +
			"4\nsigma = 1.0"},
	} {
		for victim := range 4 {
			if !drawn.Today(t, victim, 4) {
				continue
			}
			t.Run(fmt.Sprintf("%s, party %d", c.name, victim), func(t *testing.T) {
				testKilled(t, victim, c.frame, c.parameters)
			})
		}
	}
}

// testKilled runs a job with one kill and then again from its first state without.
func testKilled(t *testing.T, victim, frame int, parameters string) {
	l := newTestNetwork(t, 4, 400)
	l.startAll()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	contract, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+parameters), nil)
	must(t, err)
	h := contract.Hash()
	l.launchAndKill(ctx, h, victim, frame)
	l.start(victim)
	l.awaitDone(ctx, h)
	interrupted := l.models(h)
	if l.sessions(h) < 2 {
		t.Fatal("the kill came too late: there was one session only")
	}
	l.forget(h)
	l.awaitDone(ctx, h)
	for i, again := range l.models(h) {
		if !bytes.Equal(again, interrupted[i]) {
			t.Errorf("%s: the resumed model part differs from the uninterrupted one", l.names[i])
		}
	}
}

// launchAndKill runs a job at the first node and kills a party at a frame; the party's node has ended
// when it returns.
func (l *testNetwork) launchAndKill(ctx context.Context, h keys.Hash, victim, frame int) {
	l.t.Helper()
	killed := l.killAtFrame(victim, frame)
	launched := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(l.lives[0], h, nil)
		launched <- err
	}()
	select {
	case <-killed:
	case err := <-launched:
		l.t.Fatalf("the job ended before the kill: %v", err)
	case <-ctx.Done():
		l.t.Fatal("the job did not come to the kill")
	}
	l.stops[victim]()
	if victim == 0 {
		<-launched
	}
}

// killAtFrame kills a party's links when it has sent n frames of the next session; the channel
// is closed then.
func (l *testNetwork) killAtFrame(victim, n int) <-chan struct{} {
	killed := make(chan struct{})
	id := l.keys[victim].ID()
	count := 0
	l.net.OnFrame(func(f testnet.Frame) []testnet.Frame {
		if f.From == id || f.To == id {
			if count++; count == n {
				l.net.Kill(id)
				close(killed)
				return nil
			}
		}
		return []testnet.Frame{f}
	})
	return killed
}

// awaitDone returns when the job is done at every party.
func (l *testNetwork) awaitDone(ctx context.Context, h keys.Hash) {
	l.t.Helper()
	for i := range l.nodes {
		for {
			s, ok := l.nodes[i].job(h)
			if ok && s.State() == job.Done {
				break
			}
			if pause(ctx, 5*time.Millisecond) != nil {
				l.t.Fatalf("%s: job is not done: %+v", l.names[i], s.Record())
			}
		}
	}
}

// models returns every party's model part.
func (l *testNetwork) models(h keys.Hash) [][]byte {
	var all [][]byte
	for i := range l.nodes {
		data, err := os.ReadFile(filepath.Join(l.dirs[i], "node", "jobs", h.String(), jobs.ModelFile))
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// sessions returns how many sessions the job took.
func (l *testNetwork) sessions(h keys.Hash) uint32 {
	s, _ := l.nodes[0].job(h)
	return s.Record().Session
}

// forget puts a finished job back to before its first session, keeping contract and phases, and
// starts all nodes again.
func (l *testNetwork) forget(h keys.Hash) {
	l.net.OnFrame(nil)
	for i := range l.nodes {
		l.stops[i]()
		l.net.Kill(l.keys[i].ID())
		if err := RunAgain(filepath.Dir(l.jobFile(i, h, job.RecordFile))); err != nil {
			l.t.Fatal(err)
		}
	}
	for i := range l.nodes {
		l.start(i)
	}
}

func TestOthersNameTheKilledPartyAndPause(t *testing.T) {
	l := newTestNetwork(t, 4, 400)
	heard := make(chan string, 1)
	l.watch(1, func(e jobs.Event) {
		if strings.HasPrefix(e.Text, "paused: ") {
			select {
			case heard <- e.Text:
			default:
			}
		}
	})
	l.startAll()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	contract, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 1024"), nil)
	must(t, err)
	l.launchAndKill(ctx, contract.Hash(), 2, 14)
	select {
	case text := <-heard:
		if !strings.Contains(text, "telco: gone: ") && !strings.Contains(text, "its link to telco broke") {
			t.Errorf("the insurer says %q, want it to name telco", text)
		}
	case <-ctx.Done():
		t.Fatal("nobody said that telco is gone")
	}
	l.start(2)
	l.awaitDone(ctx, contract.Hash())
}

// TestFullDiskPausesAndGoesOn fills the disk at the active party's checkpoint: the job pauses, says
// what to do, and goes on once there is space.
func TestFullDiskPausesAndGoesOn(t *testing.T) {
	l := newTestNetwork(t, 4, 100)
	var full atomic.Bool
	l.faults[0] = func(path string) (bool, error) {
		if full.Load() && filepath.Base(path) == "angles" {
			return false, &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return false, nil
	}
	l.startAll()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	contract, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64"), nil)
	must(t, err)
	full.Store(true)
	paused := false
	report, err := l.nodes[0].Launch(ctx, contract.Hash(), func(e jobs.Event) {
		if strings.Contains(e.Text, "no space left on device; free some space") {
			paused = true
			full.Store(false)
		}
	})
	if err != nil || !paused || report.Sessions < 2 {
		t.Errorf("paused is %v, the report is %+v and the error %v", paused, report, err)
	}
}
