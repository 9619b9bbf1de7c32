package simnet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Transport is one life of one member; it implements protocol.Transport.
type Transport struct {
	net    *Network
	member *member

	// Guarded by Network.mu.
	dead    bool
	handler protocol.Handler
	opened  map[protocol.Room]bool
	meshes  map[*mesh]bool
}

var _ protocol.Gatherer = (*Transport)(nil)

// newTransport begins a life.
func newTransport(n *Network, m *member) *Transport {
	return &Transport{net: n, member: m, opened: make(map[protocol.Room]bool), meshes: make(map[*mesh]bool)}
}

// Self implements protocol.Transport.
func (t *Transport) Self() keys.ID { return t.member.id }

// Handle implements protocol.Transport.
func (t *Transport) Handle(h protocol.Handler) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	t.handler = h
}

// Open implements protocol.Transport. A peer that dies or is cut off after it came and before
// everybody else did ends the wait with a *protocol.GoneError; one that is down or cut off from the
// start is waited for.
func (t *Transport) Open(ctx context.Context, room protocol.Room, peers []keys.ID) (protocol.Mesh, error) {
	m, err := t.join(room, peers)
	if err != nil {
		return nil, err
	}
	select {
	case <-m.ready:
	case err = <-m.lost:
	case <-ctx.Done():
	}
	return t.conclude(ctx, m, err)
}

// conclude settles an Open whose wait is over; lost is the fault that ended it, if one did.
func (t *Transport) conclude(ctx context.Context, m *mesh, lost error) (protocol.Mesh, error) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	missing := m.missing()
	switch {
	case m.cause != nil:
		return nil, m.cause
	case len(missing) == 0: // even when the last peer came just as ctx ended
		return m, nil
	case lost == nil:
		lost = fmt.Errorf("room %x: %s did not come: %w", m.room[:4], strings.Join(missing, ", "), ctx.Err())
	}
	m.end(lost, reasonLeft)
	return nil, lost
}

// Gather implements protocol.Gatherer. A peer that is down or cut off is waited for until ctx ends;
// one that came and is gone since is in the mesh, and its link says so.
func (t *Transport) Gather(ctx context.Context, room protocol.Room, peers []keys.ID) (protocol.Mesh, map[keys.ID]error, error) {
	m, err := t.join(room, peers)
	if err != nil {
		return nil, nil, err
	}
	for !t.ended(m) {
		select {
		case <-m.lost: // of the mesh itself, or of one peer that came: ended tells
			continue
		case <-m.ready:
		case <-ctx.Done():
		}
		break
	}
	return t.settle(ctx, m)
}

// ended reports whether a mesh has ended on its own side.
func (t *Transport) ended(m *mesh) bool {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	return m.cause != nil
}

// settle makes do with the peers who have come to a Gather.
func (t *Transport) settle(ctx context.Context, m *mesh) (protocol.Mesh, map[keys.ID]error, error) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	switch {
	case m.cause != nil:
		return nil, nil, m.cause
	case len(m.out) == 0:
		err := fmt.Errorf("room %x: none of %d peers came: %w", m.room[:4], len(m.peers), ctx.Err())
		if len(m.peers) == 0 {
			err = fmt.Errorf("room %x: nobody is asked for", m.room[:4])
		}
		m.end(err, reasonLeft)
		return nil, nil, err
	}
	m.seal()
	return m, maps.Clone(m.absent), nil
}

// join enters a room and links up with the peers that are in it already.
func (t *Transport) join(room protocol.Room, peers []keys.ID) (*mesh, error) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if err := t.mayOpen(room, peers); err != nil {
		return nil, err
	}
	m := newMesh(t, room, peers)
	t.opened[room] = true
	t.meshes[m] = true
	if t.net.rooms[room] == nil {
		t.net.rooms[room] = make(map[keys.ID]*mesh)
	}
	t.net.rooms[room][t.member.id] = m
	for _, id := range peers {
		if other := t.net.rooms[room][id]; other != nil {
			t.net.link(m, other)
		}
	}
	m.checkReady()
	return m, nil
}

// mayOpen refuses what no caller should ask for.
func (t *Transport) mayOpen(room protocol.Room, peers []keys.ID) error {
	if t.dead {
		return ErrKilled
	}
	if t.opened[room] {
		return fmt.Errorf("room %x was opened before: a room is opened at most once", room[:4])
	}
	for i, id := range peers {
		if id == t.member.id || slices.Contains(peers[:i], id) {
			return fmt.Errorf("room %x: %s is named twice: peers are the others, each once", room[:4], id.Short())
		}
	}
	return nil
}

// Close is Kill of this life; it never fails.
func (t *Transport) Close() error {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	t.kill()
	return nil
}

// kill ends the transport; its member may have another one later. Network.mu is held.
func (t *Transport) kill() {
	if t.dead {
		return
	}
	t.dead = true
	for m := range t.meshes {
		m.breakOff(ErrKilled, reasonReset)
	}
	for c := range t.net.active {
		switch t {
		case c.from:
			c.fail(ErrKilled)
		case c.to:
			c.fail(&protocol.GoneError{Peer: t.member.id, Reason: reasonReset})
		}
	}
}
