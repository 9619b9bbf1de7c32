package shards

import (
	"context"
	"sync"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// relay passes frames between the worker of a shard's session and the other parties' nodes.
type relay struct {
	at    place
	ctx   context.Context // ends with the session
	mesh  protocol.Mesh
	peers []keys.ID // by party; the own is zero

	mu    sync.Mutex
	taken []bool         // by party: the worker has a stream for it
	out   sync.WaitGroup // what is passed from the worker to the others; mu is held when one is added
}

// take reports whether the worker has no stream for a party yet, and has one from now on.
func (r *relay) take(party int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken[party] {
		return false
	}
	r.taken[party] = true
	r.out.Add(1)
	return true
}

// serve passes frames of the worker's stream for a party until one of its ends, or the session, is over.
func (r *relay) serve(ctx context.Context, f Frames, party int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	peer := r.peers[party]
	var both sync.WaitGroup
	both.Go(func() { // from the other node to the worker; what it sent before it left still comes
		defer cancel()
		r.pass(func(buf []byte) ([]byte, error) { return r.mesh.Receive(ctx, peer, buf) },
			func(frame []byte) error { return f.Send(ctx, frame) })
	})
	both.Go(func() { // from the worker to the other node
		defer r.out.Done()
		r.pass(func(buf []byte) ([]byte, error) { return f.Receive(ctx, buf) },
			func(frame []byte) error { return r.mesh.Send(ctx, peer, frame) })
	})
	both.Wait()
	return f.Close()
}

// pass passes frames on until there are no more, or they cannot be passed on.
func (r *relay) pass(receive func(buf []byte) ([]byte, error), send func(frame []byte) error) {
	var buf []byte
	for {
		frame, err := receive(buf)
		if err != nil || send(frame) != nil {
			return
		}
		buf = frame
	}
}

// drainTime is how long frames of a worker that has ended its session may take to be passed on.
const drainTime = 10 * time.Second

// drain returns when all that the worker has sent is passed on. It has closed its streams by then.
func (r *relay) drain(ctx context.Context) {
	passed := make(chan struct{})
	go func() { // ends with the streams, which end with the session
		r.mu.Lock()
		for i := range r.taken {
			r.taken[i] = true // no more of them
		}
		r.mu.Unlock()
		r.out.Wait()
		close(passed)
	}()
	wait := time.NewTimer(drainTime)
	defer wait.Stop()
	select {
	case <-passed:
	case <-wait.C:
	case <-ctx.Done():
	}
}
