package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// stream is one session's stream to one peer: its frames, and the link that carries them.
type stream struct {
	*Frames
	link Link
}

func newStream(l Link, raw RawStream) *stream { return &stream{newFrames(l, raw, "session"), l} }

// mesh is one session's streams. It implements protocol.Mesh.
type mesh struct {
	id      protocol.SessionID
	matcher *matcher
	streams map[keys.ID]*stream // fixed once the mesh is open
	absent  map[keys.ID]error   // by a Gather: who did not come
	closed  sync.Once
}

// Send writes one frame to a peer. A cancelled Send leaves the stream usable unless a part of the
// frame has gone already.
func (m *mesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	s, err := m.to(to)
	if err != nil {
		return err
	}
	return s.Send(ctx, parts...)
}

// Receive returns the next frame from a peer. A cancelled Receive leaves the stream usable unless
// a part of a frame has been read already.
func (m *mesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	s, err := m.to(from)
	if err != nil {
		return nil, err
	}
	return s.Receive(ctx, buf)
}

// Traffic returns the bytes of all frames to and from a peer with their lengths, zero for
// somebody who is not in the session.
func (m *mesh) Traffic(peer keys.ID) (sent, received int64) {
	s, err := m.to(peer)
	if err != nil {
		return 0, 0
	}
	return s.Traffic()
}

// Close ends the streams. The peers can still receive what was sent before; their sends fail.
func (m *mesh) Close() error {
	m.closed.Do(func() {
		m.matcher.close(m.id)
		var parting sync.WaitGroup
		for _, s := range m.streams {
			parting.Go(func() {
				s.Close()
				s.link.SendLeft(m.id)
			})
		}
		parting.Wait()
	})
	return nil
}

// to returns the stream to a peer.
func (m *mesh) to(peer keys.ID) (*stream, error) {
	if s, ok := m.streams[peer]; ok {
		return s, nil
	}
	if err, ok := m.absent[peer]; ok {
		return nil, err
	}
	return nil, fmt.Errorf("%s is not in this session", peer.Short())
}
