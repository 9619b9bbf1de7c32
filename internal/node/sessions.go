package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// sessions is which jobs have a session on here, and the memory and disk that there is for them.
type sessions struct {
	config     *Config
	disk       *folder
	algorithms *algorithms
	roster     *roster
	began      atomic.Int64 // sessions since the node started

	mu sync.Mutex
	on map[keys.Hash]*activeSession
}

// activeSession is a session that is on.
type activeSession struct {
	cancel context.CancelFunc
	done   chan struct{}
	memory int64  // bytes that it takes, about
	pause  func() // ends a server's session in good order, before its next round; nil elsewhere
}

// enterSession notes that a session is on, in place of an older one. leaveSession must follow.
func (n *sessions) enterSession(parent context.Context, s *jobState) (ctx context.Context, active, old *activeSession) {
	h, takes := s.Contract().Hash(), n.algorithms.memoryOf(s.Contract()).Takes
	n.mu.Lock()
	defer n.mu.Unlock()
	old = n.on[h]
	ctx, cancel := context.WithCancel(parent)
	active = &activeSession{cancel: cancel, done: make(chan struct{}), memory: takes}
	n.on[h] = active
	return ctx, active, old
}

// Times of sessions.
const (
	openTime = 10 * time.Second // for the links of a session over columns, between members who are there
	meetTime = 20 * time.Second // for those of a session over clients, of those who are there
	// for a session to end in good order, once another one is to start: a round of a sum, and a bit
	pauseTime  = 12 * time.Second
	returnTime = 3 * time.Second // how often a server looks for clients that have come back
)

// endSession ends an older session. One over clients is given time to end in good order, so that no row is lost to it:
// a server pauses, and its clients hear of it from the server.
func (n *sessions) endSession(ctx context.Context, s *jobState, old *activeSession) {
	defer func() {
		old.cancel()
		<-old.done
	}()
	if !s.Contract().Job.OverClients() {
		return
	}
	n.mu.Lock()
	pausing := old.pause
	n.mu.Unlock()
	if pausing != nil {
		pausing()
	}
	patience := time.NewTimer(pauseTime)
	defer patience.Stop()
	select {
	case <-old.done:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// leaveSession notes that a session has ended.
func (n *sessions) leaveSession(s *jobState, active *activeSession) {
	h := s.Contract().Hash()
	n.mu.Lock()
	active.cancel()
	close(active.done)
	if n.on[h] == active {
		delete(n.on, h)
	}
	n.mu.Unlock()
}

// stopSession stops the session that is on.
func (n *sessions) stopSession(s *jobState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if active := n.on[s.Contract().Hash()]; active != nil {
		active.cancel()
	}
}

// pausable notes how the session of the job that is on is ended in good order.
func (n *sessions) pausable(s *jobState, pause func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if active := n.on[s.Contract().Hash()]; active != nil {
		active.pause = pause
	}
}

// inSession reports whether a session of the job is on here.
func (n *sessions) inSession(s *jobState) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.on[s.Contract().Hash()] != nil
}

// sessionsBegun is how many sessions have begun since the node started.
func (n *sessions) sessionsBegun() int64 { return n.began.Load() }

// meterSession begins to count what a session of a job sends; waits has for whom it waits.
func (n *sessions) meterSession(s *jobState, waits *protocol.Waits) (*sessionMeter, error) {
	c := s.Contract()
	m, err := newSessionMeter(c, c.Job.Index(s.Self()))
	if err != nil {
		return nil, err
	}
	n.began.Add(1)
	s.watched.session(m, waits)
	return m, nil
}

// tidy deletes the payloads of jobs that ended longer ago than the policy keeps them. Chain, digests and signatures
// stay, so that an audit verifies all but the payloads, and says so.
func (n *sessions) tidy() error {
	keep, limited := n.config.Policy.KeepsPayloads()
	if !limited {
		return nil
	}
	now := n.config.Now()
	var errs []error
	for _, s := range n.roster.allJobs() {
		r := s.Record()
		ended := r.Ended
		if ended.IsZero() { // its record was damaged
			ended = s.endedAt()
		}
		if s.Ending() == nil || n.inSession(s) || ended.IsZero() || now.Before(ended.Add(keep)) {
			continue
		}
		if there, err := s.dropPayloads(); err != nil {
			errs = append(errs, fmt.Errorf("job %q: %w", s.Contract().Job.Name, err))
		} else if there {
			n.config.Log.Info("payloads were deleted, as the policy says", "job", s.Contract().Job.Name, "contract",
				s.Contract().Hash().Short(), "keep_payloads", n.config.Policy.KeepPayloads)
		}
	}
	return errors.Join(errs...)
}
