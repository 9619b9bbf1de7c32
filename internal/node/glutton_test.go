package node

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// gluttonsJob are the parameters of a training whose solver has matrices of 2.1 GB at the bank.
const gluttonsJob = activeBank + "features = 16384\nlambda = 1e-3\nsigma = 1.0\nloss = \"square\""

// TestGluttonSucceeds: a job of another member's that takes 2.1 GB here is signed by a rule, whatever this machine has.
// This is what the program does, not what it should.
func TestGluttonSucceeds(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	c, err := l.nodes[1].Prepare(t.Context(), l.job("train", "privacy = \"masked\"", gluttonsJob), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(l.nodes[0].summaryOf(c), "memory beside the table: bank 2148.3 MB") {
		t.Errorf("the summary has another figure:\n%s", l.nodes[0].summaryOf(c))
	}
	r, err := l.nodes[0].serveConsent(l.keys[1].ID(), consentRequest{Contract: string(c.Document.Text())})
	if err != nil || r.Signature == nil {
		t.Errorf("the job is not signed: %v", err)
	}
}

// dies starts a member's node, and kills it when its next session of a job starts: nothing is written after that.
// meanwhile is done before that.
func (l *testNetwork) dies(ctx context.Context, i int, meanwhile func()) {
	l.t.Helper()
	died, killed := make(chan struct{}), new(atomic.Bool)
	l.faults[i] = func(string) (bool, error) {
		if killed.Load() {
			return false, errKilled
		}
		return false, nil
	}
	l.watch(i, func(e jobs.Event) {
		if e.Kind == jobs.EventState && strings.HasPrefix(e.Text, "session ") && killed.CompareAndSwap(false, true) {
			close(died)
		}
	})
	l.start(i)
	meanwhile()
	select {
	case <-died:
	case <-ctx.Done():
		l.t.Fatalf("no session starts at %s", l.names[i])
	}
	l.net.Kill(l.keys[i].ID())
	l.stops[i]()
	l.faults[i] = nil
	l.watch(i, nil)
}

// deadlyJob has the first node die in the first session of a job that it proposes.
func (l *testNetwork) deadlyJob(ctx context.Context) (h keys.Hash) {
	var ended <-chan error
	l.dies(ctx, 0, func() {
		c, err := l.nodes[0].Prepare(ctx, l.job("train", "privacy = \"published\"", smallJob), nil)
		if err != nil {
			l.t.Fatal(err)
		}
		h, ended = c.Hash(), l.launched(ctx, 0, c.Hash())
	})
	<-ended
	return h
}

// TestDeadlyJobSucceeds: a node that dies in a job's session joins the next one when it is started again, and dies
// again, as often as it is started. This is what the program does, not what it should.
func TestDeadlyJobSucceeds(t *testing.T) {
	l := newTestNetwork(t, 2, 40)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l.start(1)
	l.deadlyJob(ctx)
	for range 3 {
		l.dies(ctx, 0, func() {})
	}
}
