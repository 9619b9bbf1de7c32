package peer

import (
	"context"
	"log/slog"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
)

// hostState is how far a Host has come.
type hostState int

const (
	stateNew hostState = iota
	stateRunning
	stateClosed
)

// lifetime is how far a host has come, and what must end before it has ended.
type lifetime struct {
	ctx     context.Context // ends with Run or Close
	end     context.CancelFunc
	started chan struct{}  // closed when Run begins
	stopped chan struct{}  // closed when nothing is left running
	serving sync.WaitGroup // stream handlers and other work outside Run's own goroutines

	mu    sync.Mutex
	state hostState
}

func newLifetime() *lifetime {
	l := &lifetime{started: make(chan struct{}), stopped: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// reach moves on to a state, unless a later one is reached already, and returns the one before.
func (l *lifetime) reach(next hostState) (before hostState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.state
	l.state = max(before, next)
	return before
}

// enter lets work begin that wait must wait for; leave ends it.
func (l *lifetime) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.serving.Add(1)
	return true
}

func (l *lifetime) leave() { l.serving.Done() }

// spawn runs work that wait waits for, unless the host is closing.
func (l *lifetime) spawn(work func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() == nil {
		l.serving.Go(work)
	}
}

// wait returns when all work has ended, once ctx has.
func (l *lifetime) wait() {
	l.reach(stateClosed) // nobody enters after this: the lock orders enter's look at ctx against the wait
	l.serving.Wait()
}

// base is what the parts of a host stand on. None of it is replaced once the host is made.
type base struct {
	cfg       Config
	self      keys.ID
	life      *lifetime
	node      *node
	meter     *meter
	members   *members
	addresses *discovery.AddressBook
	log       *slog.Logger
}
