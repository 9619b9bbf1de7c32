package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// mesh is a session's streams to the node, one for each other party. It implements protocol.Mesh.
type mesh struct {
	streams map[keys.ID]*stream
	closed  sync.Once
}

// stream is the way to and from one other party.
type stream struct {
	frames         shards.Frames
	sent, received atomic.Int64
}

// openMesh opens the streams of a session.
func openMesh(ctx context.Context, conn Conn, task shards.Task, c *contract.Contract) (m *mesh, err error) {
	m = &mesh{streams: make(map[keys.ID]*stream)}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	for i, p := range c.Parties {
		if i == task.Self {
			continue
		}
		f, err := conn.Open(ctx)
		if err != nil {
			return m, err
		}
		m.streams[p.ID] = &stream{frames: f}
		hello := shards.Hello{Version: shards.Version, Relay: &shards.Relay{Session: task.Session, Party: i}}
		if err := shards.SendMessage(ctx, f, hello); err != nil {
			return m, err
		}
	}
	return m, nil
}

// to returns the stream to a party's worker.
func (m *mesh) to(id keys.ID) (*stream, error) {
	s := m.streams[id]
	if s == nil {
		return nil, fmt.Errorf("%s is not in this session", id.Short())
	}
	return s, nil
}

// lengthSize is what a frame's length takes, in bytes.
const lengthSize = 4

// Send implements protocol.Mesh.
func (m *mesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	s, err := m.to(to)
	if err != nil {
		return err
	}
	if err := s.frames.Send(ctx, parts...); err != nil {
		return gone(ctx, to, err)
	}
	size := lengthSize
	for _, p := range parts {
		size += len(p)
	}
	s.sent.Add(int64(size))
	return nil
}

// Receive implements protocol.Mesh.
func (m *mesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	s, err := m.to(from)
	if err != nil {
		return nil, err
	}
	frame, err := s.frames.Receive(ctx, buf)
	if err != nil {
		return nil, gone(ctx, from, err)
	}
	s.received.Add(int64(lengthSize + len(frame)))
	return frame, nil
}

// gone is the error of a stream that is broken: the other party's worker has left, or the way to it is no more.
func gone(ctx context.Context, peer keys.ID, err error) error {
	if ctx.Err() != nil || errors.Is(err, contract.ErrDeviation) {
		return err
	}
	return &protocol.GoneError{Peer: peer, Reason: "its worker has left the session, or the way to it broke"}
}

// Traffic implements protocol.Mesh.
func (m *mesh) Traffic(peer keys.ID) (sent, received int64) {
	s := m.streams[peer]
	if s == nil {
		return 0, 0
	}
	return s.sent.Load(), s.received.Load()
}

// Close implements protocol.Mesh.
func (m *mesh) Close() error {
	m.closed.Do(func() {
		for _, s := range m.streams {
			s.frames.Close()
		}
	})
	return nil
}
