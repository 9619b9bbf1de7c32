package peer

import (
	"context"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
)

// Open joins a session with the peers and returns when all are in. If ctx ends first, or a peer
// cannot come any more, the error names those who are missing, and why; it wraps a
// *protocol.GoneError for each.
func (h *Host) Open(ctx context.Context, id protocol.SessionID, peers []keys.ID) (protocol.Mesh, error) {
	if !h.life.enter() {
		return nil, session.ErrClosed
	}
	defer h.life.leave()
	return h.sessions.Open(ctx, id, peers)
}

// Gather is Open that makes do with the peers who have come when ctx ends. Those who have not, or
// cannot come any more, are named with a *protocol.GoneError each. With nobody there it fails as
// Open does.
func (h *Host) Gather(ctx context.Context, id protocol.SessionID, peers []keys.ID) (
	protocol.Mesh, map[keys.ID]error, error,
) {
	if !h.life.enter() {
		return nil, nil, session.ErrClosed
	}
	defer h.life.leave()
	return h.sessions.Gather(ctx, id, peers)
}

// answerSession hands a session stream that a peer has opened to the sessions.
func (h *Host) answerSession(s network.Stream) {
	if l := h.admissions.await(h.life.ctx, s.Conn()); l != nil {
		h.sessions.Accept(l, s)
	} else {
		s.Reset()
	}
}

// sessionNetwork is the host as its sessions see it. It implements session.Network.
type sessionNetwork struct {
	life    *lifetime
	members *members
}

func (n sessionNetwork) Want(id keys.ID) error { return n.members.want(id) }

func (n sessionNetwork) Link(ctx context.Context, id keys.ID) (session.Link, error) {
	l, err := n.members.awaitLink(ctx, n.life, id, levelFull)
	if err != nil {
		return nil, err // not a nil *link, which would be no nil Link
	}
	return l, nil
}

func (n sessionNetwork) Absence(id keys.ID) string { return n.members.absence(id, levelFull) }

func (n sessionNetwork) Called(id keys.ID) string {
	return called(nameIn(n.members.inForce().charter, id), id)
}

// What sessions see of a link. These methods implement session.Link.

// Peer returns the member at the other end.
func (l *link) Peer() keys.ID { return l.peer }

// CarriesSessions reports whether both sides stand under the same charter.
func (l *link) CarriesSessions() bool { return l.may(levelFull) }

// Open opens a session stream and returns it when the other side has taken it.
func (l *link) Open(ctx context.Context, first []byte) (session.RawStream, error) {
	s, err := openNegotiated(ctx, l.conn, protoSession, first)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// SendLeft tells the member that this side has closed a session.
func (l *link) SendLeft(id protocol.SessionID) { l.send(kindLeft, encode(left{id}), newsPatience) }

// Over is closed when the link has ended.
func (l *link) Over() <-chan struct{} { return l.over }

// Explain says in a clause what an error of a session stream means.
func (l *link) Explain(err error) string {
	switch {
	case l.conn.IsClosed():
		return "connection closed"
	case ended(err):
		return "it broke the session off"
	default:
		return explainCause(err)
	}
}
