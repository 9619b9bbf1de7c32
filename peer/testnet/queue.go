package testnet

import (
	"errors"
	"sync"
	"time"

	"github.com/hanse-project/hanse/protocol"
)

// A queue takes frames until it holds this many of them, or this many bytes; then Send blocks.
const (
	maxQueued      = 64
	maxQueuedBytes = 16 << 20
)

// errBroken says within the package that a link carries nothing any more.
var errBroken = errors.New("link broken")

// queue holds the frames under way on a link, in their order. One sender waits on space and one
// receiver on arrival, channels of capacity 1 on which a change is signalled.
type queue struct {
	space, arrival chan struct{}

	mu      sync.Mutex
	entries []entry
	bytes   int
	closed  bool // to the sender
	because string
}

// entry is a frame in a link's queue, or the end of all frames.
type entry struct {
	data      []byte
	buffer    *[]byte // what data was taken from, nil when it is not from the pool
	announced int64
	due       time.Time
	end       bool
}

// size returns the length the receiver is told before it reads the frame.
func (e *entry) size() int64 {
	if e.announced > protocol.MaxFrame {
		return e.announced
	}
	return int64(len(e.data))
}

// signal wakes whoever waits on c, now or next.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// full reports whether a frame of size bytes has to wait. An empty queue takes any frame.
func (q *queue) full(size int) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, errBroken
	}
	return len(q.entries) >= maxQueued || len(q.entries) > 0 && q.bytes+size > maxQueuedBytes, nil
}

// push appends to the queue unless the queue is closed, and says whether it did.
func (q *queue) push(entries ...entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	for _, e := range entries {
		q.entries = append(q.entries, e)
		q.bytes += len(e.data)
	}
	signal(q.arrival)
	return true
}

// forever is the wait for a frame that nobody has sent yet.
const forever = time.Duration(-1)

// pop takes the first frame off the queue, or says how long to wait before trying again.
func (q *queue) pop() (e entry, wait time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == 0 {
		return entry{}, forever, nil
	}
	e = q.entries[0]
	if !e.due.IsZero() {
		if wait = time.Until(e.due); wait > 0 {
			return entry{}, wait, nil
		}
	}
	if e.end { // it stays, for the calls to come
		return entry{}, 0, errBroken
	}
	q.entries[0] = entry{}
	q.entries = q.entries[1:]
	q.bytes -= len(e.data)
	signal(q.space)
	return e, 0, nil
}

// finish closes the queue behind the frames already in it; the receiver sees the end when due.
func (q *queue) finish(reason string, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.entries = append(q.entries, entry{end: true, due: due})
	q.close(reason)
}

// sever closes the queue and drops the frames in it.
func (q *queue) sever(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries, q.bytes = []entry{{end: true}}, 0
	q.close(reason)
}

// close marks the queue closed, for the reason given first, and wakes both sides. q.mu is held.
func (q *queue) close(reason string) {
	if !q.closed {
		q.closed, q.because = true, reason
	}
	signal(q.space)
	signal(q.arrival)
}

// reason returns why the queue was closed.
func (q *queue) reason() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.because
}
