package protocol

import (
	"maps"
	"sync"
	"time"
)

// LongWait is from when on a wait is one that a person is told of.
const LongWait = 2 * time.Second

// Waiting tells what a session is blocked on.
type Waiting struct {
	Peer  string
	Kind  string
	Since time.Time
}

// Waited is for how long sessions were blocked on a party.
type Waited struct {
	Long int64         // waits of LongWait and more
	Time time.Duration // of all waits, however short
}

// Waits adds up for whom a session waits: whose message has not come, or who does not take what is sent. A party that
// answers each message a little late counts as one that answers once, very late. It is safe for concurrent use; its
// zero value is ready.
type Waits struct {
	mu      sync.Mutex
	now     Waiting
	by      map[string]Waited
	unasked map[string]bool // kinds of messages that come when somebody wants to send them
}

// Ignore leaves out waits for a kind of message that no party owes.
func (w *Waits) Ignore(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unasked == nil {
		w.unasked = make(map[string]bool)
	}
	w.unasked[kind] = true
}

// Now returns what the session is blocked on; the zero value when it is not.
func (w *Waits) Now() Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// By returns the waits so far, by party, with the one that lasts.
func (w *Waits) By() map[string]Waited {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := make(map[string]Waited)
	maps.Copy(by, w.by)
	if w.now.Peer != "" {
		by[w.now.Peer] = by[w.now.Peer].and(time.Since(w.now.Since))
	}
	return by
}

// Seconds returns how many seconds the waits for each party lasted.
func (w *Waits) Seconds() map[string]float64 {
	seconds := make(map[string]float64)
	for peer, waited := range w.By() {
		seconds[peer] = waited.Time.Seconds()
	}
	return seconds
}

// add counts a wait that is over. The lock is held.
func (w *Waits) add(peer string, took time.Duration) {
	if w.by == nil {
		w.by = make(map[string]Waited)
	}
	w.by[peer] = w.by[peer].and(took)
}

// begin notes that the session blocks until the returned function is called.
func (w *Waits) begin(peer, kind string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unasked[kind] {
		return func() {}
	}
	began := time.Now()
	w.now = Waiting{Peer: peer, Kind: kind, Since: began}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.add(peer, time.Since(began))
		w.now = Waiting{}
	}
}

// and is w with one wait more.
func (w Waited) and(took time.Duration) Waited {
	w.Time += took
	if took >= LongWait {
		w.Long++
	}
	return w
}
