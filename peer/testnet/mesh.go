package testnet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// errClosed is what a mesh answers to its own side after Close.
var errClosed = errors.New("the mesh is closed")

// mesh is one member's end of a session.
type mesh struct {
	owner   *Transport
	session protocol.SessionID
	peers   []keys.ID
	ready   chan struct{} // closed when there is a link to every peer
	lost    chan error    // what ends the wait for ready early; of capacity 1

	// Guarded by Network.mu; the maps no longer change once ready is closed, or a Gather has ended.
	out    map[keys.ID]*link
	in     map[keys.ID]*link
	absent map[keys.ID]error // by a Gather: who did not come
	cause  error             // why the mesh ended, for its own side
}

// link joins two ends of a session, unless one does not want the other, the two are cut off from each
// other, or they were joined before. n.mu is held.
func (n *Network) link(a, b *mesh) {
	x, y := a.owner.member, b.owner.member
	if !slices.Contains(a.peers, y.id) || !slices.Contains(b.peers, x.id) || n.cuts[pairOf(x.id, y.id)] ||
		a.out[y.id] != nil {
		return
	}
	there, back := newLink(n, a, b), newLink(n, b, a)
	a.out[y.id], b.in[x.id] = there, there
	b.out[x.id], a.in[y.id] = back, back
	a.checkReady()
	b.checkReady()
}

// checkReady ends the wait for the peers when all have come. Network.mu is held.
func (m *mesh) checkReady() {
	if len(m.out) < len(m.peers) {
		return
	}
	select {
	case <-m.ready:
	default:
		close(m.ready)
	}
}

// notLinked says why there is no link to a peer.
func (m *mesh) notLinked(peer keys.ID) error {
	if err := m.absent[peer]; err != nil {
		return err
	}
	return fmt.Errorf("%s is not a peer of this mesh", peer.Short())
}

// Send implements protocol.Mesh.
func (m *mesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	l := m.out[to]
	if l == nil {
		return m.notLinked(to)
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > protocol.MaxFrame {
		return fmt.Errorf("frame of %d bytes to %s: at most %d are allowed", size, to.Short(), protocol.MaxFrame)
	}
	return m.explain(l.send(ctx, size, parts), to, l)
}

// Receive implements protocol.Mesh. Frames sent before the peer closed its mesh still come;
// those of a peer that was killed or cut off do not.
func (m *mesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	l := m.in[from]
	if l == nil {
		return nil, m.notLinked(from)
	}
	e, err := l.take(ctx)
	if err != nil {
		return nil, m.explain(err, from, l)
	}
	if size := e.size(); size > protocol.MaxFrame {
		err := &oversize{peer: from, size: size}
		m.owner.net.mu.Lock()
		defer m.owner.net.mu.Unlock()
		m.end(err, reasonClosed)
		return nil, err
	}
	return l.accept(e, buf), nil
}

// oversize is the error about a frame that a peer announced too large; it is a deviation.
type oversize struct {
	peer keys.ID
	size int64
}

func (o *oversize) Error() string {
	return fmt.Sprintf("%s announced a frame of %d bytes: at most %d are allowed", o.peer.Short(), o.size,
		protocol.MaxFrame)
}

func (o *oversize) Unwrap() error { return contract.ErrDeviation }

// explain turns errBroken into what the owner of this end is told.
func (m *mesh) explain(err error, peer keys.ID, l *link) error {
	if err != errBroken {
		return err
	}
	m.owner.net.mu.Lock()
	defer m.owner.net.mu.Unlock()
	if m.cause != nil {
		return m.cause
	}
	return &protocol.GoneError{Peer: peer, Reason: l.reason()}
}

// Traffic implements protocol.Mesh.
func (m *mesh) Traffic(peer keys.ID) (sent, received int64) {
	if m.out[peer] == nil {
		return 0, 0
	}
	return m.out[peer].sent.Load(), m.in[peer].received.Load()
}

// Close implements protocol.Mesh. What the peers were sent before stays theirs to receive.
func (m *mesh) Close() error {
	m.owner.net.mu.Lock()
	defer m.owner.net.mu.Unlock()
	m.end(errClosed, reasonClosed)
	return nil
}

// end closes this side: cause is for the owner, reason for the peers. Network.mu is held.
func (m *mesh) end(cause error, reason string) {
	if !m.leave(cause) {
		return
	}
	for _, l := range m.out {
		l.finish(reason, m.owner.net.due())
	}
	for _, l := range m.in {
		l.sever(reason)
	}
}

// breakOff ends this side without warning; a peer that is still opening the session is told at
// once. Network.mu is held.
func (m *mesh) breakOff(cause error, reason string) {
	if !m.leave(cause) {
		return
	}
	for _, l := range m.out {
		l.reader.lose(m, reason)
	}
}

// leave takes the mesh out of its session, the first time.
func (m *mesh) leave(cause error) bool {
	if m.cause != nil {
		return false
	}
	m.cause = cause
	m.stopOpening(cause)
	delete(m.owner.meshes, m)
	session := m.owner.net.sessions[m.session]
	delete(session, m.owner.member.id)
	if len(session) == 0 {
		delete(m.owner.net.sessions, m.session)
	}
	return true
}

// lose breaks the links with a peer's mesh. Network.mu is held.
func (m *mesh) lose(other *mesh, reason string) {
	id := other.owner.member.id
	m.out[id].sever(reason)
	m.in[id].sever(reason)
	m.stopOpening(&protocol.GoneError{Peer: id, Reason: reason})
}

// stopOpening ends a wait for peers with err, if there is one.
func (m *mesh) stopOpening(err error) {
	select {
	case m.lost <- err:
	default:
	}
}
