package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
)

// backup copies a party's folder while its node is stopped, as docs/life.md says, and returns where to.
func (l *testNetwork) backup(i int) string {
	l.t.Helper()
	l.stops[i]()
	to := filepath.Join(l.t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(filepath.Join(l.dirs[i], "node"))); err != nil {
		l.t.Fatal(err)
	}
	return to
}

// restore puts a copy in the place of a party's folder, and starts its node on it.
func (l *testNetwork) restore(i int, from string) {
	l.t.Helper()
	l.stops[i]()
	l.net.Kill(l.keys[i].ID())
	dir := filepath.Join(l.dirs[i], "node")
	if err := os.RemoveAll(dir); err != nil {
		l.t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), os.CopyFS(dir, os.DirFS(from))); err != nil {
		l.t.Fatal(err)
	}
	l.start(i)
}

// killAtKind kills a party when the first frame of a kind goes to or from it.
func (l *testNetwork) killAtKind(victim int, kind string) <-chan struct{} {
	const kindLength, at = 2, 68 // where a frame's header has them
	killed := make(chan struct{})
	id := l.keys[victim].ID()
	dead := false
	l.net.OnFrame(func(f testnet.Frame) []testnet.Frame {
		name := string(f.Data[at : at+int(f.Data[kindLength])])
		if !dead && (f.From == id || f.To == id) && name == kind {
			dead = true
			l.net.Kill(id)
			close(killed)
			return nil
		}
		return []testnet.Frame{f}
	})
	return killed
}

// TestABackupBetweenJobs is taken up where it was: the model part scores as before.
func TestABackupBetweenJobs(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	l.awaitDone(minute(t), model)
	copied := l.backup(1)
	l.start(1)
	_, first := l.mustScore(model, "test", "bank", "")
	later, _ := l.nodes[1].job(model)
	if later == nil {
		t.Fatal("the insurer has no training")
	}
	l.restore(1, copied)
	r, second := l.mustScore(model, "test", "bank", "")
	if r.Known != 40 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("of %d rows %d were known", len(second), r.Known)
	}
}

// TestARestoredLedgerScoresNothingAgain: an insurer that goes back to a copy from before a prediction has forgotten
// which rows were scored. The other parties have not, whoever is to receive the scores.
func TestARestoredLedgerScoresNothingAgain(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	l.awaitDone(minute(t), model)
	copied := l.backup(1)
	l.start(1)
	l.mustScore(model, "test", "bank", "")
	l.restore(1, copied)
	l.wantTimesOf(model, 1, 0)
	l.mustRefuse(model, "test", "insurer", "", 40, 1)
	l.mustRefuse(model, "test", "telco", "", 40, 1)
	for i := range l.names {
		m, err := ReadModel(registry.Program(), l.nodes[i].jobFolder(model))
		if i != 1 && err == nil && m.Model().Normaliser != nil {
			l.wantTimesOf(model, i, 40)
		}
	}
}

// TestARestoredSessionIsFoundOut: a party whose folder is put back to a copy that was made while a job ran, after it
// has signed what came since. Its transcript lacks what it has signed, the others say so before anything of the session
// is computed, and the job fails: no phase, mask or opening of the copy is used a second time.
func TestARestoredSessionIsFoundOut(t *testing.T) {
	for _, rolled := range []int{0, 1} { // the proposer, and another party
		t.Run([]string{"bank", "insurer"}[rolled], func(t *testing.T) {
			l := newTestNetwork(t, 4, 100)
			l.startAll()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64"), nil)
			must(t, err)
			h := c.Hash()
			killed := l.killAtKind(rolled, "angles")
			go l.nodes[0].Launch(l.lives[0], h, nil)
			l.awaitKill(ctx, killed)
			left := func(parties ...int) { // the session
				for _, i := range parties {
					for s, _ := l.nodes[i].job(h); l.nodes[i].inSession(s); {
						if pause(ctx, 5*time.Millisecond) != nil {
							t.Fatalf("%s stays in the session", l.names[i])
						}
					}
				}
			}
			copied := l.backup(rolled)
			left(1-rolled, 2, 3)               // frames of the first session are no longer on their way
			killed = l.killAtKind(2, "angles") // in the next session, whose beginning all have signed
			l.start(rolled)
			select {
			case <-killed:
			case <-ctx.Done():
				t.Fatal("there was no second session")
			}
			l.stops[rolled]()
			l.stops[2]()
			left(1-rolled, 3)
			var angles atomic.Int64
			l.net.OnFrame(func(f testnet.Frame) []testnet.Frame {
				if string(f.Data[68:68+int(f.Data[2])]) == "angles" {
					angles.Add(1)
				}
				return []testnet.Frame{f}
			})
			l.restore(rolled, copied)
			l.start(2)
			for _, i := range []int{2, 3} {
				s, _ := l.nodes[i].job(h)
				select {
				case <-s.Final():
				case <-ctx.Done():
					t.Fatalf("%s: %+v", l.names[i], s.Record())
				}
				r := s.Record()
				found := strings.Contains(r.Reason, "it has signed the link in a later session") ||
					strings.Contains(r.Reason, "did not follow the protocol") // another party said it first
				if r.State != job.Failed || !strings.Contains(r.Reason, l.names[rolled]) || !found {
					t.Errorf("%s: %s: %s", l.names[i], r.State, r.Reason)
				}
			}
			l.net.OnFrame(nil)
			if n := angles.Load(); n > 0 {
				t.Errorf("%d frames of angles left after the copy was put back", n)
			}
		})
	}
}

// TestACopyOfAJobThatIsDoneSince: the party learns of its end, runs nothing again, and says that its part is missing.
func TestACopyOfAJobThatIsDoneSince(t *testing.T) {
	l := newTestNetwork(t, 4, 100)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64"), nil)
	must(t, err)
	h := c.Hash()
	killed := l.killAtKind(1, "angles")
	go l.nodes[0].Launch(l.lives[0], h, nil)
	l.awaitKill(ctx, killed)
	copied := l.backup(1)
	l.start(1)
	l.awaitDone(ctx, h)
	sessions := l.sessions(h)
	l.restore(1, copied)
	l.awaitDone(ctx, h)
	if l.sessions(h) != sessions {
		t.Errorf("there were %d sessions, and then %d", sessions, l.sessions(h))
	}
	_, err = l.nodes[1].columns.Model(h.String())
	if err == nil || !strings.Contains(err.Error(), jobs.ModelFile) {
		t.Errorf("the model part that the copy did not have: %v", err)
	}
	var other keys.Hash
	if _, other, err = l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64")); err != nil {
		t.Errorf("a training after that: %v", err)
	}
	if _, err := l.nodes[1].columns.Model(other.String()); err != nil {
		t.Error(err)
	}
}
