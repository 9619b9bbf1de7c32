package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
)

// prepare agrees on a prediction.
func (l *testNetwork) prepare(ctx context.Context, model keys.Hash, privacy, openTo, more string) keys.Hash {
	l.t.Helper()
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = %q\nprivacy = %q\nrecord = \"full\"\n%s", model, openTo,
		privacy, more)
	c, err := l.nodes[0].Prepare(ctx, l.job("predict", head, ""), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return c.Hash()
}

// restart stops a node as a crash does and starts it again; meanwhile may change its folder of a job.
func (l *testNetwork) restart(i int, h keys.Hash, meanwhile func(dir string)) {
	l.stops[i]()
	l.net.Kill(l.keys[i].ID())
	if meanwhile != nil {
		meanwhile(filepath.Join(l.dirs[i], "node", "jobs", h.String()))
	}
	l.start(i)
}

// killAtReady is killAtFrame for the frames by which parties say that they are ready, and those of scores.
func (l *testNetwork) killAtReady(victim, n int) <-chan struct{} {
	const kindLength, kind = 2, 68 // where a frame's header has them
	killed := make(chan struct{})
	id := l.keys[victim].ID()
	count := 0
	l.net.OnFrame(func(f testnet.Frame) []testnet.Frame {
		name := string(f.Data[kind : kind+int(f.Data[kindLength])])
		if (f.From == id || f.To == id) && (name == sealed.Ready || name == "scores") {
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

// awaitKill returns when a party was killed.
func (l *testNetwork) awaitKill(ctx context.Context, killed <-chan struct{}) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case <-killed:
	case <-ctx.Done():
		l.t.Error("the job did not come to the kill")
	}
	l.net.OnFrame(nil)
}

// TestKilledPredictionsOpenOnce kills parties in a prediction of two batches: what had opened comes again as it was,
// and an audit that has every payload finds nothing, with each score counted once.
func TestKilledPredictionsOpenOnce(t *testing.T) {
	const rows = joint.ScoreRows + 76 // two batches
	l, model := sealedNetwork(t, rows)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for i, c := range []struct {
		openTo        string
		victim, frame int
	}{{"bank", 0, 3}, {"retailer", 3, 9}, {"bank", 1, 11}} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(fmt.Sprintf("to %s, party %d at frame %d about openings", c.openTo, c.victim, c.frame), func(t *testing.T) {
			h := l.prepare(ctx, model, "sealed", c.openTo, "scores_per_row = 3")
			killed := l.killAtReady(c.victim, c.frame)
			go l.nodes[0].Launch(l.lives[0], h, nil)
			l.awaitKill(ctx, killed)
			l.restart(c.victim, h, nil)
			l.awaitDone(ctx, h)
			if l.sessions(h) < 2 {
				t.Fatal("the kill came too late: there was one session only")
			}
			l.wantScores(h, audit.Clean, rows)
			if n := len(lines(t, l.scoresOf(c.openTo, h))); n < rows {
				t.Errorf("%d lines of scores, want %d", n, rows)
			}
			l.wantNoRecords(h)
		})
	}
}

// wantScores audits a prediction: nothing is found, and so many scores opened, each counted once. Of few rows no
// attack by regression is tried, and the verdict is partial.
func (l *testNetwork) wantScores(h keys.Hash, verdict audit.Verdict, want int64) {
	l.t.Helper()
	for _, g := range l.wantVerdict(h, verdict).Ledger {
		if g.Kind == "scores" && g.Count != want {
			l.t.Errorf("the ledger has %d scores, want %d", g.Count, want)
		}
	}
}

// wantNoRecords wants nothing about openings to be left of a job that is done.
func (l *testNetwork) wantNoRecords(h keys.Hash) {
	l.t.Helper()
	for i, name := range l.names {
		dir := filepath.Join(l.dirs[i], "node", "jobs", h.String())
		deadline := time.Now().Add(time.Minute)
		for {
			left, err := filepath.Glob(filepath.Join(dir, "sealed-*"))
			more, e := filepath.Glob(filepath.Join(dir, "requests*"))
			if err != nil || e != nil {
				l.t.Fatal(err, e)
			}
			if left = append(left, more...); len(left) == 0 {
				break
			}
			if time.Now().After(deadline) { // the state is written before the folder is cleaned
				l.t.Errorf("%s keeps %v of a job that is done", name, left)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestRequestsGoOnWhereTheyWere: a receiver that is killed asks for no answered row again, and its numbers go on.
func TestRequestsGoOnWhereTheyWere(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	h := l.prepare(ctx, model, "sealed", "bank", "requests = 3")
	go l.nodes[0].Launch(l.lives[0], h, nil)
	rows := make(map[string]string)
	ask := func(id string) {
		t.Helper()
		row, err := l.nodes[0].ScoreRow(ctx, h, id)
		must(t, err)
		text := strings.Join(row, ",")
		if before, ok := rows[id]; ok && before != text {
			t.Errorf("%s: %s, and before %s", id, text, before)
		}
		rows[id] = text
	}
	ask("r00001")
	l.restart(0, h, nil)
	ask("r00001")
	ask("r00002")
	l.restart(2, h, nil)
	ask("r00002")
	ask("r00001")
	ask("r00003")
	l.awaitDone(ctx, h)
	l.wantScores(h, audit.Partial, 3)
	l.wantNoRecords(h)
}

// TestCutRequestsAreAnsweredOnce kills parties in the middle of a request: asked again, the receiver gets what it would
// have got, and no number more is spent.
func TestCutRequestsAreAnsweredOnce(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for _, c := range []struct{ victim, frame int }{{0, 6}, {1, 3}, {1, 6}, {2, 8}, {3, 4}} {
		t.Run(fmt.Sprintf("party %d at frame %d about openings", c.victim, c.frame), func(t *testing.T) {
			h := l.prepare(ctx, model, "sealed", "bank", "requests = 1\nscores_per_row = 5")
			killed := l.killAtReady(c.victim, c.frame)
			go l.nodes[0].Launch(l.lives[0], h, nil)
			asking, stop := context.WithCancel(ctx)
			defer stop()
			go l.nodes[0].ScoreRow(asking, h, "r00005") // at the killed receiver nobody hears the answer
			l.awaitKill(ctx, killed)
			l.restart(c.victim, h, nil)
			if c.victim == 0 && !l.asked(h) { // it was killed before it had asked
				if _, err := l.nodes[0].ScoreRow(ctx, h, "r00005"); err != nil {
					t.Fatal(err)
				}
			}
			l.awaitDone(ctx, h)
			l.wantScores(h, audit.Partial, 1)
		})
	}
}

// asked reports whether the first node has booked a request of a job.
func (l *testNetwork) asked(h keys.Hash) bool {
	_, err := os.Stat(filepath.Join(l.dirs[0], "node", "jobs", h.String(), "requests"))
	s, _ := l.nodes[0].job(h)
	return err == nil || s.State() == job.Done
}

// forgetful is a receiver that starts a serving prediction again to have more answers than the contract lists.
type forgetful struct {
	name    string
	privacy string
	forgets []string // how the names of the states begin that it removes
	want    string   // what another party's reason says
}

// TestReceiversGetNoMoreThanTheContractLists by starting sessions again: the senders count.
func TestReceiversGetNoMoreThanTheContractLists(t *testing.T) {
	for _, c := range []forgetful{
		{"it forgets its requests", "sealed", []string{"requests", "answers"},
			"request of bank: number 1 asks for row 2, and asked for row 1 before: a number is one row's"},
		{"it forgets everything", "sealed", []string{"requests", "answers", joint.FilePrefix},
			"held of bank: opening 1 of scores"},
		{"of a masked model", "masked", []string{"requests", "answers"},
			"request of bank: number 1 asks for row 2, and asked for row 1 before: a number is one row's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := sealedNetwork
			if c.privacy == "masked" {
				of = maskedNetwork
			}
			l, model := of(t, 40)
			l.startAll()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h := l.prepare(ctx, model, c.privacy, "bank", "requests = 2")
			go l.nodes[0].Launch(l.lives[0], h, nil)
			if _, err := l.nodes[0].ScoreRow(ctx, h, "r00001"); err != nil {
				t.Fatal(err)
			}
			l.restart(0, h, func(dir string) {
				v, err := vault.Open(dir, vault.Options{Owner: h})
				must(t, err)
				for _, prefix := range c.forgets {
					if err := v.RemoveAll(prefix); err != nil {
						t.Error(err)
					}
				}
			})
			asking, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			answered := make(chan error, 1)
			go func() {
				_, err := l.nodes[0].ScoreRow(asking, h, "r00002")
				answered <- err
			}()
			l.awaitReason(ctx, 1, h, c.want)
			stop()
			if err := <-answered; err == nil {
				t.Error("the second row was scored under the first one's number")
			}
		})
	}
}

// awaitReason returns when a job has failed at a party for a reason.
func (l *testNetwork) awaitReason(ctx context.Context, i int, h keys.Hash, want string) {
	l.t.Helper()
	for {
		s, _ := l.nodes[i].job(h)
		r := s.Record()
		accused := strings.HasPrefix(r.Reason, "bank: ") || // the forgetful one may say first that the others are wrong
			strings.Contains(r.Reason, ": bank did not follow the protocol") || // or another party that it did
			strings.Contains(r.Reason, " or bank did not follow the protocol") // or one that cannot tell which of two
		if (strings.Contains(r.Reason, want) || accused) && r.State == job.Failed {
			return
		}
		if pause(ctx, 5*time.Millisecond) != nil {
			l.t.Fatalf("%s: %+v, want it to have failed: %s", l.names[i], r, want)
		}
	}
}
