package node

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/protocol"
)

// WaitStatus is for how long jobs over columns waited for a member since the node started: all that they waited in
// their sessions, however short each wait was, and what they waited for it outside of them.
type WaitStatus struct {
	Peer    string  `json:"peer"`
	Count   int64   `json:"count"`   // waits of protocol.LongWait and more
	Seconds float64 `json:"seconds"` // of all waits
}

// waits adds up for whom jobs wait: in sessions by what each counts, outside of them by what jobs tell.
type waits struct {
	mu       sync.Mutex
	peers    map[string]*WaitStatus
	on       map[string]map[string]time.Time // outside of sessions, by job and member, up to when waits are counted
	sessions map[*protocol.Waits]bool        // those that are on
}

// at returns the count of a member. The lock is held.
func (w *waits) at(name string) *WaitStatus {
	if w.peers == nil {
		w.peers, w.on = make(map[string]*WaitStatus), make(map[string]map[string]time.Time)
	}
	if w.peers[name] == nil {
		w.peers[name] = &WaitStatus{Peer: name}
	}
	return w.peers[name]
}

// note counts a wait outside of sessions, from when it began or was heard of last. A job may tell of several in turn,
// for members that it asks at the same time, and of one in two ways.
func (w *waits) note(e jobs.Event) {
	if e.Kind != jobs.EventWaiting || e.Since.IsZero() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range e.Who {
		of := w.at(name)
		if w.on[e.Job] == nil {
			w.on[e.Job] = make(map[string]time.Time)
		}
		from := w.on[e.Job][name]
		if e.Since.After(from) {
			from = e.Since
			of.Count++
		}
		of.Seconds += max(0, e.Time.Sub(from).Seconds())
		w.on[e.Job][name] = e.Time
	}
}

// session counts what a session waits from now on, until the returned function is called.
func (w *waits) session() (counted *protocol.Waits, end func()) {
	counted = new(protocol.Waits)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions == nil {
		w.sessions = make(map[*protocol.Waits]bool)
	}
	w.sessions[counted] = true
	return counted, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.sessions, counted)
		w.take(counted)
	}
}

// take adds what a session waited. The lock is held.
func (w *waits) take(counted *protocol.Waits) {
	for name, waited := range counted.By() {
		of := w.at(name)
		of.Count += waited.Long
		of.Seconds += waited.Time.Seconds()
	}
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
	now := waits{}
	for name, of := range w.peers {
		*now.at(name) = *of
	}
	for counted := range w.sessions {
		now.take(counted)
	}
	var all []WaitStatus
	for _, of := range now.peers {
		all = append(all, *of)
	}
	slices.SortFunc(all, func(a, b WaitStatus) int { return strings.Compare(a.Peer, b.Peer) })
	return all
}
