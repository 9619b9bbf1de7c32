package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// MaxWorkers is the most workers that a node serves at once.
const MaxWorkers = 256

// door tells who is a worker of the node, which comes into being after its host.
type door struct{ node atomic.Pointer[node.Node] }

// isWorker implements peer.Config.Worker.
func (d *door) isWorker(id keys.ID) bool {
	n := d.node.Load()
	return n != nil && n.IsWorker(id)
}

// spent implements peer.Config.Spent.
func (d *door) spent(id keys.ID) (why fault.Fault, ok bool) {
	if n := d.node.Load(); n != nil {
		return n.SpentKey(id)
	}
	return why, false
}

// working implements peer.Config.Working.
func (d *door) working() bool {
	n := d.node.Load()
	return n != nil && n.HasShards()
}

// frames are the frames of a stream. They implement shards.Frames.
type frames struct{ *session.Frames }

// Close implements shards.Frames.
func (f frames) Close() error {
	f.Frames.Close()
	return nil
}

// serveWorker serves a stream that a worker has opened.
func (d *Daemon) serveWorker(ctx context.Context, from keys.ID, s session.RawStream) {
	f := session.NewFrames(s, from, "a worker ("+from.Short()+")", func() *protocol.GoneError {
		gone, _ := errors.AsType[*protocol.GoneError](context.Cause(ctx))
		return gone
	})
	d.node.ServeWorker(ctx, from, frames{f})
}

// DialNode connects a worker to its node.
func DialNode(ctx context.Context, key *keys.PrivateKey, address string, proxy *peer.Proxy) (worker.Conn, error) {
	c, err := peer.DialNode(ctx, key, address, proxy)
	if refused, ok := errors.AsType[*peer.RefusedError](err); ok && refused.Fault.Code == fault.CodeSpent {
		if slices.Equal(refused.Fault.Names, []string{fault.SpentDone}) {
			return nil, worker.ErrDone
		}
		return nil, &worker.RefusedError{Text: refused.Fault.String()}
	}
	if err != nil {
		return nil, fmt.Errorf("the node at %s: %w", address, err)
	}
	return connection{c}, nil
}

// connection is a worker's to its node. It implements worker.Conn.
type connection struct{ *peer.WorkerConn }

// Open implements worker.Conn.
func (c connection) Open(ctx context.Context) (shards.Frames, error) {
	s, err := c.WorkerConn.Open(ctx)
	if err != nil {
		return nil, err
	}
	return frames{session.NewFrames(s, c.Peer(), "the node ("+c.Peer().Short()+")", c.Lost)}, nil
}
