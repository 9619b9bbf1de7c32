package peer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol/fault"
)

// workerIn is the answer to a worker's stream that is served: frames, or whatever the two speak, follow.
const workerIn = 1

// workerHandler serves a worker's streams.
type workerHandler func(ctx context.Context, from keys.ID, s session.RawStream)

// HandleWorkers sets what serves the streams that workers open (see Config.Worker). Streams that come before are reset.
// serve has the stream to itself until it returns; then the host closes it, with what was written still on its way, or
// resets it if ctx has ended. ctx ends with the connection, and its cause is the *protocol.GoneError then that says
// why, or with the host. serve is called concurrently, once for each stream, and Close of the host waits for it.
func (h *Host) HandleWorkers(serve func(ctx context.Context, from keys.ID, s session.RawStream)) {
	handler := workerHandler(serve)
	h.forWorker.Store(&handler)
}

// answerWorker serves one stream of a worker.
func (h *Host) answerWorker(s network.Stream) {
	l, serve := h.admitted(s.Conn()), h.forWorker.Load()
	if l == nil || serve == nil || !h.lists(l.peer) {
		s.Reset()
		return
	}
	s.SetWriteDeadline(time.Now().Add(session.AnswerTime))
	if _, err := s.Write([]byte{workerIn}); err != nil {
		s.Reset()
		return
	}
	s.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancelCause(h.life)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.over:
			cancel(l.Lost())
		case <-ctx.Done():
		}
	})
	(*serve)(ctx, l.peer, s)
	if ctx.Err() != nil {
		s.Reset()
	} else {
		s.Close()
	}
	cancel(nil)
	watch.Wait()
}

// lists reports whether a key is a worker's at this moment.
func (h *Host) lists(id keys.ID) bool {
	h.mu.Lock()
	j := h.judge
	h.mu.Unlock()
	return j.isWorker(id)
}

// isWorkers reports whether a connection is one that a worker has made.
func (h *Host) isWorkers(c network.Conn) bool {
	id, err := memberID(c.RemotePeer())
	return err == nil && c.Stat().Direction == network.DirInbound && h.lists(id)
}

// idleWorkers is how many workers are let in while there is no work for them, to hear that there is none yet, or that
// their shard is done.
const idleWorkers = 8

// placesOfWorkers is how many workers are let in at once at this moment. Host.mu is not held, as Config.Working may
// take other locks.
func (h *Host) placesOfWorkers() int {
	if h.cfg.Working != nil && !h.cfg.Working() {
		return min(idleWorkers, h.cfg.Workers)
	}
	return h.cfg.Workers
}

// placeForWorker reports whether there is a place for a new connection of a worker, whatever it says in its hello,
// where so many workers have places. One without a place is closed, so that it takes none of a member's. Host.mu is
// held.
func (h *Host) placeForWorker(c network.Conn, places int) bool {
	open := 0
	for _, a := range h.admissions {
		if a.worker {
			open++
		}
	}
	if open < connsPerWorker*places {
		return true
	}
	h.spawnHeld(func() {
		h.refuseStranger(c.RemotePeer(), c.RemoteMultiaddr(), fmt.Sprintf(
			"workers have %d connections already, for %d workers at most", open, places))
		c.Close()
	})
	return false
}

// weighWorker looks at a worker's hello beside the workers that are there, and gives it its share.
func (h *Host) weighWorker(over network.Conn, from keys.ID, instance uint64) verdict {
	places := h.placesOfWorkers()
	h.mu.Lock()
	defer h.mu.Unlock()
	old, members := h.workers[from], len(h.judge.charter.Members)
	switch {
	case h.twins(old, instance):
		return refused(fault.Fault{Code: fault.CodeTwin, Names: []string{from.Short()}},
			"another worker with the key of %s is connected from %s: only one may run", from.Short(),
			old.conn.RemoteMultiaddr())
	case old == nil && len(h.workers) >= places:
		return refused(fault.Fault{Code: fault.CodeWorkers, Numbers: []int64{int64(places)}},
			"this node has as many workers as it takes at once, which is %d now, and %d while a job in shards is on", places,
			h.cfg.Workers)
	}
	if err := grant(h.node.limits, over.RemotePeer(), streamsOfWorker(members), memoryOfWorker(members)); err != nil {
		h.log.Warn("a worker has no more streams than a stranger", "worker", from.Short(), "reason", err)
	}
	return verdict{level: levelWorker}
}

// twins reports whether a link lives whose other end is another process than the one that says this instance. Host.mu
// is held.
func (h *Host) twins(l *link, instance uint64) bool {
	return l != nil && l.theirs.instance != instance && l.quietFor() < 2*h.cfg.Heartbeat
}

// installWorker lets a worker in, in place of its older connection if it has one.
func (h *Host) installWorker(l *link) error {
	places := h.placesOfWorkers()
	h.mu.Lock()
	old, came := h.workers[l.peer], "" // since the verdict
	switch {
	case h.twins(old, l.theirs.instance):
		came = "another worker with its key is connected: only one may run"
	case old == nil && len(h.workers) >= places:
		came = "all places of workers are taken"
	}
	if came != "" {
		h.mu.Unlock()
		return &refusal{text: came}
	}
	l.level.Store(uint32(levelWorker))
	h.workers[l.peer] = l
	h.decide(l.conn, l)
	h.mu.Unlock()
	if old != nil {
		old.end("replaced by a newer connection")
	}
	return nil
}

// tendWorker runs a worker's link until it ends, which it does too when the worker is not listed any more.
func (h *Host) tendWorker(l *link) {
	h.log.Info("a worker connected", "worker", l.name, "address", l.conn.RemoteMultiaddr().String())
	var watch sync.WaitGroup
	watch.Go(func() {
		if h.cfg.WorkerCame != nil {
			h.cfg.WorkerCame(l.peer, l.conn.RemoteMultiaddr().String())
		}
		ticker := time.NewTicker(h.cfg.Heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-l.over:
				return
			}
			if !h.lists(l.peer) {
				l.leave("it is no worker of this node any longer", fault.Fault{Code: fault.CodeWorker})
				return
			}
		}
	})
	l.run(h.life, pulse{beat: h.cfg.Heartbeat, silence: h.cfg.Silence}, deaf)
	watch.Wait()
	h.mu.Lock()
	if h.workers[l.peer] == l {
		delete(h.workers, l.peer)
	}
	h.mu.Unlock()
	h.log.Info("a worker disconnected", "worker", l.name, "reason", l.Lost().Reason)
}
