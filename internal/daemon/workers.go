package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// WorkerKeyFile is where, in a node's folder, the key lies from which those of its workers follow.
const WorkerKeyFile = "worker.key"

// MaxWorkers is the most workers that a node serves at once.
const MaxWorkers = 256

// domainWorker separates the keys of workers from all other derived keys.
const domainWorker = "hanse worker v1"

// WorkerKey returns the key of the worker of a shard. It lets a process work for its node, and do nothing else.
func WorkerKey(from *keys.PrivateKey, shard int) (*keys.PrivateKey, error) {
	return from.Derive(domainWorker, binary.BigEndian.AppendUint32(nil, uint32(shard)))
}

// OwnWorkerKey reads the key of a node's workers, which is drawn when it is wanted for the first time.
func OwnWorkerKey(dir string) (*keys.PrivateKey, error) {
	path := filepath.Join(dir, WorkerKeyFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		key, err := keys.GenerateKey()
		if err != nil {
			return nil, err
		}
		if err := keys.CreateKeyFile(path, "workers", key, nil); err != nil {
			return nil, err
		}
	}
	file, err := keys.LoadKeyFile(path, nil)
	if err != nil {
		return nil, err
	}
	return file.Key, nil
}

// workerKeys are those of all shards of any job.
type workerKeys struct {
	all func() (map[keys.ID]int, error)
}

// newWorkerKeys derives the keys when somebody asks who is no member.
func newWorkerKeys(from *keys.PrivateKey) workerKeys {
	return workerKeys{sync.OnceValues(func() (map[keys.ID]int, error) {
		all := make(map[keys.ID]int, contract.MaxShards)
		for shard := range contract.MaxShards {
			key, err := WorkerKey(from, shard)
			if err != nil {
				return nil, err
			}
			all[key.ID()] = shard
		}
		return all, nil
	})}
}

// shard returns the shard whose worker has a key.
func (k workerKeys) shard(id keys.ID) (int, bool) {
	all, err := k.all()
	shard, ok := all[id]
	return shard, ok && err == nil
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
