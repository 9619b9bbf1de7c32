package peer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
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

// workers are those of this node: which are let in, and what serves their streams.
type workers struct {
	*base
	admissions *admissions
	strangers  *strangers
	handler    atomic.Pointer[workerHandler]

	mu sync.Mutex
	by map[keys.ID]*link // those who are let in
}

// HandleWorkers sets what serves the streams that workers open (see Config.Worker). Streams that come before are reset.
// serve has the stream to itself until it returns; then the host closes it, with what was written still on its way, or
// resets it if ctx has ended. ctx ends with the connection, and its cause is the *protocol.GoneError then that says
// why, or with the host. serve is called concurrently, once for each stream, and Close of the host waits for it.
func (h *Host) HandleWorkers(serve func(ctx context.Context, from keys.ID, s session.RawStream)) {
	handler := workerHandler(serve)
	h.workers.handler.Store(&handler)
}

// answer serves one stream of a worker.
func (w *workers) answer(s network.Stream) {
	l, serve := w.admissions.await(w.life.ctx, s.Conn()), w.handler.Load()
	if l == nil || serve == nil || !w.lists(l.peer) {
		s.Reset()
		return
	}
	s.SetWriteDeadline(time.Now().Add(session.AnswerTime))
	if _, err := s.Write([]byte{workerIn}); err != nil {
		s.Reset()
		return
	}
	s.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancelCause(w.life.ctx)
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
func (w *workers) lists(id keys.ID) bool { return w.members.inForce().isWorker(id) }

// made reports whether a connection is one that a worker has made.
func (w *workers) made(c network.Conn) bool {
	id, err := memberID(c.RemotePeer())
	return err == nil && c.Stat().Direction == network.DirInbound && w.lists(id)
}

// idleWorkers is how many workers are let in while there is no work for them, to hear that there is none yet, or that
// their shard is done.
const idleWorkers = 8

// places is how many workers are let in at once at this moment.
func (w *workers) places() int {
	if w.cfg.Working != nil && !w.cfg.Working() {
		return min(idleWorkers, w.cfg.Workers)
	}
	return w.cfg.Workers
}

// place takes in a new connection of a worker, whatever it says in its hello, if there is a place for it. One without a
// place is closed, so that it takes none of a member's.
func (w *workers) place(c network.Conn) {
	places := w.places()
	open, ok := w.admissions.add(c, connsPerWorker*places)
	if ok {
		return
	}
	w.life.spawn(func() {
		w.strangers.refuse(c.RemotePeer(), c.RemoteMultiaddr(), fmt.Sprintf(
			"workers have %d connections already, for %d workers at most", open, places))
		c.Close()
	})
}

// weigh looks at a worker's hello beside the workers that are there, and gives it its share.
func (w *workers) weigh(over network.Conn, from keys.ID, instance uint64) verdict {
	places := w.places()
	w.mu.Lock()
	twin, full := w.rivals(from, instance, places)
	w.mu.Unlock()
	switch {
	case twin != nil:
		return refused(fault.Fault{Code: fault.CodeTwin, Names: []string{from.Short()}},
			"another worker with the key of %s is connected from %s: only one may run", from.Short(),
			twin.conn.RemoteMultiaddr())
	case full:
		return refused(fault.Fault{Code: fault.CodeWorkers, Numbers: []int64{int64(places)}},
			"this node has as many workers as it takes at once, which is %d now, and %d while a job in shards is on", places,
			w.cfg.Workers)
	}
	members := len(w.members.inForce().charter.Members)
	if err := grant(w.node.limits, over.RemotePeer(), streamsOfWorker(members), memoryOfWorker(members)); err != nil {
		w.log.Warn("a worker has no more streams than a stranger", "worker", from.Short(), "reason", err)
	}
	return verdict{level: levelWorker}
}

// rivals returns the link of another process with the same key, if there is one that lives, and reports whether others
// have all the places. mu is held.
func (w *workers) rivals(from keys.ID, instance uint64, places int) (twin *link, full bool) {
	old := w.by[from]
	if old.isTwin(instance, w.cfg.Heartbeat) {
		return old, false
	}
	return nil, old == nil && len(w.by) >= places
}

// install lets a worker in, in place of its older connection if it has one.
func (w *workers) install(l *link) error {
	places := w.places()
	w.mu.Lock()
	old := w.by[l.peer]
	twin, full := w.rivals(l.peer, l.theirs.Instance, places) // since the verdict
	if twin == nil && !full {
		l.level.Store(uint32(levelWorker))
		w.by[l.peer] = l
	}
	w.mu.Unlock()
	switch {
	case twin != nil:
		return &refusal{text: "another worker with its key is connected: only one may run"}
	case full:
		return &refusal{text: "all places of workers are taken"}
	}
	w.admissions.decide(l.conn, l)
	if old != nil {
		old.end("replaced by a newer connection")
	}
	return nil
}

// tend runs a worker's link until it ends, which it does too when the worker is not listed any more.
func (w *workers) tend(l *link) {
	w.log.Info("a worker connected", "worker", l.name, "address", l.conn.RemoteMultiaddr().String())
	var watch sync.WaitGroup
	watch.Go(func() {
		if w.cfg.WorkerCame != nil {
			w.cfg.WorkerCame(l.peer, l.conn.RemoteMultiaddr().String())
		}
		ticker := time.NewTicker(w.cfg.Heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-l.over:
				return
			}
			if !w.lists(l.peer) {
				l.leave("it is no worker of this node any longer", fault.Fault{Code: fault.CodeWorker})
				return
			}
		}
	})
	l.run(w.life.ctx, pulse{beat: w.cfg.Heartbeat, silence: w.cfg.Silence}, deaf)
	watch.Wait()
	w.mu.Lock()
	if w.by[l.peer] == l {
		delete(w.by, l.peer)
	}
	w.mu.Unlock()
	w.log.Info("a worker disconnected", "worker", l.name, "reason", l.Lost().Reason)
}
