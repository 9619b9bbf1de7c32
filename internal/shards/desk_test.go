package shards

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// TestDesk: what a desk makes of a worker, and what the worker is told, in the order of what happens.
func TestDesk(t *testing.T) {
	job := keys.HashOf("job")
	first, second := place{job, 0}, place{job, 1}
	d := newDesk()
	waits := func(at place, want keys.ID) {
		t.Helper()
		if key, ok := d.waiting(at); key != want || ok == want.IsZero() {
			t.Errorf("at shard %d waits %x, %v, want %x", at.shard, key[:2], ok, want[:2])
		}
	}
	told := func(w *worker, want string) {
		t.Helper()
		got := ""
		select {
		case o := <-w.order:
			got = o.kind + o.text
		default:
		}
		if got != want {
			t.Errorf("a worker is told %q, want %q", got, want)
		}
	}
	engage := func(at place, key keys.ID, want string) {
		t.Helper()
		if w, err := d.engage(at, key); (err == nil) != (want == "") || err != nil && err.Error() != want ||
			(w == nil) != (err != nil) {
			t.Errorf("the session of key %x at shard %d: %v, want %q", key[:2], at.shard, err, want)
		}
	}
	waits(first, keys.ID{})
	w := d.come(first)
	if d.come(first) != nil {
		t.Error("a shard has two workers")
	}
	waits(first, keys.ID{}) // it has drawn no key yet
	if !d.ready(w, keys.ID{1}) {
		t.Error("a new key is refused")
	}
	waits(first, keys.ID{1})
	waits(second, keys.ID{})
	engage(first, keys.ID{2}, "its worker has gone")
	engage(second, keys.ID{1}, "its worker has gone")
	engage(first, keys.ID{1}, "")
	waits(first, keys.ID{})
	engage(first, keys.ID{1}, "its worker's key had a session")
	if d.ready(w, keys.ID{1}) {
		t.Error("a key has two sessions")
	}
	told(w, "")
	if !d.send(first, w, order{kind: OrderWork}) || d.send(first, w, order{kind: OrderAgain}) {
		t.Error("a worker has no order, or two")
	}
	told(w, OrderWork)
	d.leave(first, w)
	select {
	case <-w.gone:
	default:
		t.Error("a worker that has left is there")
	}
	waits(first, keys.ID{})
	next := d.come(first)
	if d.send(first, w, order{kind: OrderWork}) {
		t.Error("a worker that has left has an order")
	}
	told(next, "")
	d.release(first)
	told(next, OrderDone)
	d.leave(first, next)
	told(d.come(first), OrderDone) // one that comes later
	late := d.come(second)
	told(late, "")
	if there, done := d.at(job, 3); !slices.Equal(there, []bool{true, true, false}) || done {
		t.Errorf("there are %v, done %v", there, done)
	}
	d.end(job, order{kind: OrderRefused, text: " it was cancelled"})
	told(late, "refused it was cancelled")
	d.leave(second, late)
	late = d.come(second)
	told(late, "refused it was cancelled")
	d.end(job, order{kind: OrderDone})
	told(late, OrderDone)
	if _, done := d.at(job, 3); !done {
		t.Error("a job that is done is not")
	}
	other := d.come(place{keys.HashOf("another"), 0})
	told(other, "")
	for _, at := range []place{first, second} {
		d.leave(at, d.workers[at])
	}
	d.open(job, nil)
	told(d.come(first), "") // the end has taken the word of the shard in
	d.release(second)
	d.open(job, []int{1})
	told(d.come(second), "") // it is not done any more
}

// TestPlan: what the coordinator does next, from how a shard stands at three parties.
func TestPlan(t *testing.T) {
	waits, works, done := Standing{Ready: true}, Standing{Latest: 4, Running: true}, Standing{Latest: 4, Done: 4}
	next := Standing{Latest: 4, Done: 4, Ready: true} // its worker has come again
	for _, c := range []struct {
		name  string
		at    [3]Standing
		told  bool
		first bool   // another shard waits before it
		want  string // offers, shards to release, whether all is complete, where workers are awaited
	}{
		{"nobody is there", [3]Standing{}, false, false, "[] [] false, shard 1 at [0 1 2]"},
		{"one is not there", [3]Standing{waits, {}, waits}, false, false, "[] [] false, shard 1 at [1]"},
		{"another shard waits, too", [3]Standing{waits, {}, waits}, false, true, "[] [] false, shard 0 at [0 1 2]"},
		{"all wait", [3]Standing{waits, waits, waits}, false, false, "[{1 1}] [] false"},
		{"all wait, and one has had generations", [3]Standing{waits, {Latest: 7, Ready: true}, {Latest: 3, Ready: true}},
			false, false, "[{1 8}] [] false"},
		{"one works", [3]Standing{waits, works, waits}, false, false, "[] [] false"},
		{"all wait, and one's session is not over yet", [3]Standing{waits, {Latest: 4, Running: true, Ready: true}, waits},
			false, false, "[] [] false"},
		{"one works and one is not there", [3]Standing{waits, works, {}}, false, false, "[] [] false"},
		{"done at all", [3]Standing{done, done, next}, false, false, "[] [{1 4}] true"},
		{"done at all, who know", [3]Standing{done, done, done}, true, false, "[] [] true"},
		{"done at all, and one works", [3]Standing{done, done, {Latest: 4, Done: 4, Running: true}}, false, false,
			"[] [] false"},
		{"done at two", [3]Standing{next, next, {Latest: 4, Ready: true}}, false, false, "[{1 5}] [] false"},
		{"done at none of the first", [3]Standing{{Latest: 4, Ready: true}, next, next}, false, false, "[{1 5}] [] false"},
		{"done, in other generations", [3]Standing{next, {Latest: 5, Done: 5, Ready: true}, next}, false, false,
			"[{1 6}] [] false"},
		{"done in other generations, and none is there", [3]Standing{done, {Latest: 5, Done: 5}, done}, true, false,
			"[] [] false, shard 1 at [0 1 2]"},
	} {
		all := make([]Response, 3)
		for p := range all {
			before := done
			if c.first {
				before = Standing{}
			}
			all[p].Standing = []Standing{before, c.at[p]}
		}
		p := planOf(all, []bool{true, c.told})
		got := fmt.Sprint(p.offers, p.release, p.complete)
		if p.missing != nil {
			got += fmt.Sprintf(", shard %d at %v", p.waits, p.missing)
		}
		if got != c.want || p.complete && !slices.Equal(p.done, []uint32{4, 4}) {
			t.Errorf("%s: %s of %v, want %s", c.name, got, p.done, c.want)
		}
	}
}

// TestWaitingIsToldOfInTime: a wait is told of when it has lasted for a while, and again, and a new one from its start.
func TestWaitingIsToldOfInTime(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var w waiting
	for i, c := range []struct {
		after         time.Duration
		awaited, want bool
		since         time.Duration // before now; -1: there is no wait
	}{
		{0, false, false, -1}, {0, true, false, 0}, {waitTime / 2, true, false, waitTime / 2},
		{waitTime / 2, true, true, waitTime}, {waitTime / 2, true, false, 3 * waitTime / 2},
		{waitTime / 2, true, true, 2 * waitTime}, {waitTime, false, false, -1}, {waitTime, true, false, 0},
		{waitTime, true, true, waitTime},
	} {
		now = now.Add(c.after)
		got := w.due(c.awaited, now)
		if got != c.want || w.since.IsZero() != (c.since < 0) || c.since >= 0 && now.Sub(w.since) != c.since {
			t.Errorf("step %d: %v since %v, want %v and %v", i, got, w.since, c.want, c.since)
		}
	}
}
