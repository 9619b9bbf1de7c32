package shards

import (
	"errors"
	"sync"

	"github.com/hanse-project/hanse/keys"
)

// desk knows which workers are connected, with which keys, and what each is told next. It has one lock, not one for
// each worker: a key has one session whatever its place, and who comes while a job ends must hear of it. Under the lock
// it calls nobody.
type desk struct {
	mu      sync.Mutex
	workers map[place]*worker
	used    map[keys.ID]bool    // workers' keys that had a session: each has one
	done    map[place]bool      // shards that are done at all parties
	over    map[keys.Hash]order // of contracts that have ended or all of whose shards are done: what workers are told
}

// place is a shard of a job, for which there is one worker at a time.
type place struct {
	contract keys.Hash
	shard    int
}

// worker is one that is connected. Its desk has the lock of what changes.
type worker struct {
	key   keys.ID // that it has drawn for its next session
	waits bool    // for that session; else it has one, or has not said yet that it is ready
	order chan order
	gone  chan struct{} // closed when it is connected no more
}

// order is what a worker is told, and who hears what it says then.
type order struct {
	kind string
	text string // of a refusal
	task []byte
	said func(s Said, data func(most int64) ([]byte, error), file func(path string) error) error
}

// newDesk is a desk to which nobody has come.
func newDesk() *desk {
	return &desk{workers: make(map[place]*worker), used: make(map[keys.ID]bool), done: make(map[place]bool),
		over: make(map[keys.Hash]order)}
}

// come gives a worker its place, nil where another one has it. It is told at once if there is nothing more to do.
func (d *desk) come(at place) *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.workers[at] != nil {
		return nil
	}
	w := &worker{order: make(chan order, 1), gone: make(chan struct{})}
	d.workers[at] = w
	last, ended := d.over[at.contract]
	if !ended && d.done[at] {
		last, ended = order{kind: OrderDone}, true
	}
	if ended {
		w.order <- last
	}
	return w
}

// leave frees a worker's place.
func (d *desk) leave(at place, w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.workers, at)
	close(w.gone)
}

// ready has a worker wait for a session with a new key, and returns whether the key is good.
func (d *desk) ready(w *worker, key keys.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used[key] {
		return false
	}
	w.key, w.waits = key, true
	return true
}

// waiting returns the key of the worker of a shard, if it is there and waits for a session.
func (d *desk) waiting(at place) (key keys.ID, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.workers[at]; w != nil && w.waits {
		return w.key, true
	}
	return key, false
}

// engage begins the one session of a worker's key.
func (d *desk) engage(at place, key keys.ID) (*worker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.workers[at]
	if w == nil || w.key != key {
		return nil, errors.New("its worker has gone")
	}
	if d.used[key] { // at another shard, at the same time
		return nil, errors.New("its worker's key had a session")
	}
	w.waits, d.used[key] = false, true
	return w, nil
}

// send gives a worker an order, if it is there still: one that has come in its place has another key.
func (d *desk) send(at place, w *worker, o order) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.workers[at] == w && w.take(o)
}

// take is send under the lock: a worker has one order at a time.
func (w *worker) take(o order) bool {
	select {
	case w.order <- o:
		return true
	default:
		return false
	}
}

// open takes back that shards of a job are done: another party may have lost the end that an earlier session came to.
func (d *desk) open(contract keys.Hash, undone []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.over, contract)
	for _, i := range undone {
		delete(d.done, place{contract, i})
	}
}

// release tells the worker of a shard, and whoever comes for it later, that there is nothing more to do.
func (d *desk) release(at place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done[at] = true
	if w := d.workers[at]; w != nil {
		w.take(order{kind: OrderDone})
	}
}

// end tells all workers of a job, and whoever comes for it later, their last order.
func (d *desk) end(contract keys.Hash, last order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over[contract] = last
	for at := range d.done {
		if at.contract == contract {
			delete(d.done, at)
		}
	}
	for at, w := range d.workers {
		if at.contract == contract {
			w.take(last)
		}
	}
}

// at returns which of a job's shards have a worker here, and whether all shards are done.
func (d *desk) at(contract keys.Hash, of int) (there []bool, done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	there = make([]bool, of)
	for at := range d.workers {
		if at.contract == contract {
			there[at.shard] = true
		}
	}
	return there, d.over[contract].kind == OrderDone
}
