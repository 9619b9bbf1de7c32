package shards

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// serveRelay passes frames of one stream until one of its ends, or the session, is over.
func (s *Service) serveRelay(ctx context.Context, from keys.ID, f Frames, to *Relay) error {
	s.mu.Lock()
	r := s.relays[to.Session]
	s.mu.Unlock()
	if r == nil || to.Party < 0 || to.Party >= len(r.peers) || r.peers[to.Party].IsZero() {
		return fmt.Errorf("a stream for party %d of session %x, which is not under way", to.Party, to.Session[:4])
	}
	if err := s.serves(from, r.at); err != nil {
		return fmt.Errorf("a stream for party %d of session %x: %w", to.Party, to.Session[:4], err)
	}
	r.mu.Lock()
	second := r.taken[to.Party]
	r.taken[to.Party] = true
	if !second {
		r.out.Add(1)
	}
	r.mu.Unlock()
	if second {
		return fmt.Errorf("a second stream for party %d of session %x", to.Party, to.Session[:4])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	peer := r.peers[to.Party]
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

// receiveFile receives a file that is not there yet.
func receiveFile(ctx context.Context, f Frames, path string, size int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = ReceiveData(ctx, f, file, size)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
