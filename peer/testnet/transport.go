package testnet

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
	opened  map[protocol.SessionID]bool
	meshes  map[*mesh]bool
}

var _ protocol.Transport = (*Transport)(nil)

// newTransport begins a life.
func newTransport(n *Network, m *member) *Transport {
	return &Transport{net: n, member: m, opened: make(map[protocol.SessionID]bool), meshes: make(map[*mesh]bool)}
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
func (t *Transport) Open(ctx context.Context, session protocol.SessionID, peers []keys.ID) (protocol.Mesh, error) {
	m, err := t.join(session, peers)
	if err != nil {
		return nil, err
	}
	select {
	case <-m.ready:
	case err = <-m.lost:
	case <-ctx.Done():
	}
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	var missing []string
	for _, id := range m.peers {
		if m.out[id] == nil {
			missing = append(missing, id.Short())
		}
	}
	switch {
	case m.cause != nil:
		return nil, m.cause
	case len(missing) == 0: // even when the last peer came just as ctx ended
		return m, nil
	case err == nil:
		err = fmt.Errorf("session %x: %s did not come: %w", session[:4], strings.Join(missing, ", "), ctx.Err())
	}
	m.end(err, reasonLeft)
	return nil, err
}

// Gather implements protocol.Transport. A peer that is down or cut off is waited for until ctx ends;
// one that came and is gone since is in the mesh, and its link says so.
func (t *Transport) Gather(ctx context.Context, session protocol.SessionID, peers []keys.ID) (protocol.Mesh,
	map[keys.ID]error, error) {
	m, err := t.join(session, peers)
	if err != nil {
		return nil, nil, err
	}
	t.net.mu.Lock()
	for over := false; !over && m.cause == nil; {
		t.net.mu.Unlock()
		select {
		case <-m.lost: // of the mesh itself, or of one peer that came: its cause says which
		case <-m.ready:
			over = true
		case <-ctx.Done():
			over = true
		}
		t.net.mu.Lock()
	}
	defer t.net.mu.Unlock()
	switch {
	case m.cause != nil:
		return nil, nil, m.cause
	case len(m.out) == 0:
		err := fmt.Errorf("session %x: none of %d peers came: %w", session[:4], len(m.peers), ctx.Err())
		if len(m.peers) == 0 {
			err = fmt.Errorf("session %x: nobody is asked for", session[:4])
		}
		m.end(err, reasonLeft)
		return nil, nil, err
	}
	m.absent = make(map[keys.ID]error)
	for _, id := range m.peers {
		if m.out[id] != nil {
			continue
		}
		gone := &protocol.GoneError{Peer: id, Reason: reasonNeverCame}
		switch other := t.net.members[id]; {
		case other == nil:
			gone.Reason = reasonUnknown
		case t.net.cuts[pairOf(t.member.id, id)]:
			gone.Reason = reasonNoRoute
		case other.transport.dead:
			gone.Reason = reasonRefused
		}
		m.absent[id] = gone
	}
	// Those who came are all who count from now on.
	m.peers = slices.DeleteFunc(m.peers, func(id keys.ID) bool { return m.absent[id] != nil })
	return m, maps.Clone(m.absent), nil
}

// join enters a session and links up with the peers that are in it already.
func (t *Transport) join(session protocol.SessionID, peers []keys.ID) (*mesh, error) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if t.dead {
		return nil, ErrKilled
	}
	if t.opened[session] {
		return nil, fmt.Errorf("session %x was opened before: a session is opened at most once", session[:4])
	}
	for i, id := range peers {
		if id == t.member.id || slices.Contains(peers[:i], id) {
			return nil, fmt.Errorf("session %x: %s is named twice: peers are the others, each once", session[:4], id.Short())
		}
	}
	m := &mesh{
		owner:   t,
		session: session,
		peers:   slices.Clone(peers),
		ready:   make(chan struct{}),
		lost:    make(chan error, 1),
		out:     make(map[keys.ID]*link, len(peers)),
		in:      make(map[keys.ID]*link, len(peers)),
	}
	t.opened[session] = true
	t.meshes[m] = true
	if t.net.sessions[session] == nil {
		t.net.sessions[session] = make(map[keys.ID]*mesh)
	}
	t.net.sessions[session][t.member.id] = m
	for _, id := range peers {
		if other := t.net.sessions[session][id]; other != nil {
			t.net.link(m, other)
		}
	}
	m.checkReady()
	return m, nil
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
