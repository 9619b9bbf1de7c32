package node

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
)

// WaitStatus is how often, and how long in all, jobs waited for a member since the node started. Waits shorter than
// jobs.WaitReport do not count.
type WaitStatus struct {
	Peer    string  `json:"peer"`
	Count   int64   `json:"count"`
	Seconds float64 `json:"seconds"`
}

// waits adds up what jobs tell of their waits.
type waits struct {
	mu    sync.Mutex
	peers map[string]*WaitStatus
	on    map[string]onWait // by job
}

// onWait is the wait that a job told of last.
type onWait struct {
	since time.Time
	until time.Time // counted up to here
}

// note counts a wait, from when it began or was heard of last.
func (w *waits) note(e jobs.Event) {
	if e.Kind != jobs.EventWaiting || e.Since.IsZero() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peers == nil {
		w.peers, w.on = make(map[string]*WaitStatus), make(map[string]onWait)
	}
	last := w.on[e.Job]
	fresh := !last.since.Equal(e.Since)
	if fresh {
		last = onWait{e.Since, e.Since}
	}
	for _, name := range e.Who {
		if w.peers[name] == nil {
			w.peers[name] = &WaitStatus{Peer: name}
		}
		if fresh {
			w.peers[name].Count++
		}
		w.peers[name].Seconds += max(0, e.Time.Sub(last.until).Seconds())
	}
	last.until = e.Time
	w.on[e.Job] = last
}

// forget drops what is kept of a job that is gone.
func (w *waits) forget(job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.on, job)
}

// status lists the members that were waited for, by name.
func (w *waits) status() []WaitStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []WaitStatus
	for _, s := range w.peers {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b WaitStatus) int { return strings.Compare(a.Peer, b.Peer) })
	return all
}
