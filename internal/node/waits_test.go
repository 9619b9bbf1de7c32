package node

import (
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
)

// TestWaitsAddUp: one wait counts once however often it is told, with all its time; another of the same job anew.
func TestWaitsAddUp(t *testing.T) {
	var w waits
	at := func(s float64) time.Time {
		return time.Unix(1700000000, 0).Add(time.Duration(s * float64(time.Second)))
	}
	say := func(job string, since, now float64, who ...string) {
		w.note(jobs.Event{Kind: jobs.EventWaiting, Job: job, Who: who, Since: at(since), Time: at(now)})
	}
	say("a", 0, 2, "telco")
	say("a", 0, 4, "telco")
	say("b", 1, 3, "telco", "insurer")
	say("a", 10, 13, "telco")
	w.note(jobs.Event{Kind: jobs.EventWaiting, Job: "a", Text: "a sum goes on without one", Time: at(20)})
	w.forget("a")
	got := w.status()
	want := []WaitStatus{{"insurer", 1, 2}, {"telco", 3, 9}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the waits are %+v, want %+v", got, want)
	}
}
