package peer

import (
	"context"
	"fmt"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// mesh is one session's lanes. It implements protocol.Mesh.
type mesh struct {
	room   protocol.Room
	rooms  *rooms
	lanes  map[keys.ID]*lane // fixed once the mesh is open
	absent map[keys.ID]error // by a Gather: who did not come
	closed sync.Once
}

var _ protocol.Mesh = (*mesh)(nil)

// Send writes one frame to a peer. A cancelled Send leaves the link usable unless a part of the
// frame has gone already.
func (m *mesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	a, err := m.lane(to)
	if err != nil {
		return err
	}
	return a.send(ctx, parts)
}

// Receive returns the next frame from a peer. A cancelled Receive leaves the link usable unless
// a part of a frame has been read already.
func (m *mesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	a, err := m.lane(from)
	if err != nil {
		return nil, err
	}
	return a.receive(ctx, buf)
}

// Traffic returns the bytes of all frames to and from a peer with their lengths, zero for
// somebody who is not in the session.
func (m *mesh) Traffic(peer keys.ID) (sent, received int64) {
	a, err := m.lane(peer)
	if err != nil {
		return 0, 0
	}
	return a.sent.Load(), a.received.Load()
}

// Close ends the lanes. The peers can still receive what was sent before; their sends fail.
func (m *mesh) Close() error {
	m.closed.Do(func() {
		m.rooms.close(m.room)
		var parting sync.WaitGroup
		for _, a := range m.lanes {
			parting.Go(func() {
				a.shut()
				a.link.send(kindLeft, m.room[:], newsPatience)
			})
		}
		parting.Wait()
	})
	return nil
}

func (m *mesh) lane(peer keys.ID) (*lane, error) {
	if a, ok := m.lanes[peer]; ok {
		return a, nil
	}
	if err, ok := m.absent[peer]; ok {
		return nil, err
	}
	return nil, fmt.Errorf("%s is not in this session", peer.Short())
}
