package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
)

// infoAt returns a job as the list of a node has it.
func (l *testNetwork) infoAt(i int, h keys.Hash) JobInfo {
	l.t.Helper()
	for _, j := range l.nodes[i].Jobs() {
		if j.Contract == h.String() {
			return j
		}
	}
	l.t.Fatalf("%s has no job %s", l.names[i], h.Short())
	return JobInfo{}
}

// TestTheProposerWaits for who has not consented, and does not call agreed what one party alone has agreed to.
func TestTheProposerWaits(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.start(0)
	l.start(1)
	l.policy = nil
	l.start(2)
	c := l.proposed(l.job("train", "", "active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\""))
	if j := l.infoAt(0, c.Hash()); j.Standing != "proposed" || j.Next != "hanse approve trial" {
		t.Errorf("before its own consent the proposer's list has %q, next %q", j.Standing, j.Next)
	}
	asked := make(chan struct{})
	var once sync.Once
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(ctx, c.Hash(), func(e jobs.Event) {
			if e.Kind == jobs.EventWaiting && fmt.Sprint(e.Who) == "[telco]" {
				once.Do(func() { close(asked) })
			}
		})
		ended <- err
	}()
	select {
	case <-asked:
	case <-ctx.Done():
		t.Fatal("nobody was told that telco is awaited")
	}
	j := l.infoAt(0, c.Hash())
	if j.State != job.Agreed || j.Standing != "waiting for telco" || fmt.Sprint(j.Awaits) != "[telco]" {
		t.Errorf("the proposer's list has %s, %q, awaits %v", j.State, j.Standing, j.Awaits)
	}
	j = l.infoAt(1, c.Hash())
	waits := "this node has consented; bank starts it once all have; it ends by itself on " +
		j.StartBy.UTC().Format("2006-01-02 15:04 UTC") + " unless a session begins"
	if j.Standing != "agreed" || j.Waiting != waits {
		t.Errorf("the insurer's list has %q, %q", j.Standing, j.Waiting)
	}
	if j = l.infoAt(2, c.Hash()); j.Standing != "proposed" || j.Next != "hanse approve trial" {
		t.Errorf("the telco's list has %q, next %q", j.Standing, j.Next)
	}
	if _, err := l.nodes[2].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	must(t, <-ended)
	j = l.infoAt(0, c.Hash())
	if j.Standing != "done" || len(j.Awaits) > 0 || j.Made.IsZero() || j.Ended.Before(j.Made) ||
		!strings.HasPrefix(j.Next, "hanse predict --model trial ") {
		t.Errorf("at its end the list has %+v", j)
	}
}

// TestProgressIsListed while a session runs, and no longer.
func TestProgressIsListed(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	var seen []JobInfo
	l.watch(0, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress {
			j := l.nodes[0].Jobs()[0]
			if j.Progress == nil || j.Progress.Step != e.Step || j.Progress.Done != e.Done ||
				j.Standing != fmt.Sprintf("running %d %%", 100*e.Done/e.Total) {
				t.Errorf("at %s %d of %d the list has %+v, %q", e.Step, e.Done, e.Total, j.Progress, j.Standing)
			}
			seen = append(seen, j)
		}
	})
	l.startAll()
	_, h, err := l.propose(l.job("train", "", "active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\""))
	must(t, err)
	if len(seen) == 0 {
		t.Error("no progress was told")
	}
	if j := l.infoAt(0, h); j.Progress != nil || j.Standing != "done" {
		t.Errorf("a job that is done has %v, %q", j.Progress, j.Standing)
	}
}

// TestJobsByTime: the newest first, and jobs of one name are told apart by what comes next.
func TestJobsByTime(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var hours atomic.Int64
	l.now = func() time.Time { return noon.Add(time.Duration(hours.Load()) * time.Hour) }
	l.startAll()
	text := l.job("train", "", "active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\"")
	first := l.proposed(text)
	hours.Store(1)
	second := l.proposed(text)
	all := l.nodes[0].Jobs()
	if len(all) != 2 || all[0].Contract != second.Hash().String() || !all[0].Made.Equal(noon.Add(time.Hour)) {
		t.Errorf("the list has %+v", all)
	}
	if want := "hanse approve " + first.Hash().String()[:8]; all[1].Next != want {
		t.Errorf("next is %q, want %q", all[1].Next, want)
	}
	l.stops[0]()
	l.start(0)
	if j := l.infoAt(0, first.Hash()); !j.Made.Equal(noon) {
		t.Errorf("after a restart it was made %s", j.Made)
	}
}
