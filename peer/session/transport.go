// Package session joins members into sessions, over the links that package peer keeps. It is the
// part of protocol.Transport that opens sessions, and implements protocol.Mesh.
//
// A session has one stream for each pair of its members. The lower id opens it, over as many links
// as it takes, and the higher one answers once it has opened the session itself; a stream that
// comes before that waits. Then frames go both ways until one side closes the session.
//
//	Transport   Open and Gather: meets all peers at once, and says who did not come
//	 └─ matcher   brings together what this side opens and the streams that others opened
//	mesh        one session's streams
//	 └─ Frames    frames on one stream, of a session or not, and what broke it
//
// Links and streams are known here by what sessions need of them. Nothing of libp2p is imported,
// so that what a session does to a frame can be read without it. Package peer describes the bytes
// on the wire.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// ErrClosed is what waits for something on a host that ends.
var ErrClosed = errors.New("the host is closed")

// Network is what sessions need of the host that keeps the links. Its methods may be called
// concurrently.
type Network interface {
	// Want has a link to a member kept from now on. The error says why there can be none.
	Want(id keys.ID) error
	// Link returns the member's link that may carry sessions, once there is one.
	Link(ctx context.Context, id keys.ID) (Link, error)
	// Absence says in a clause why there is no such link; it is empty if there is one.
	Absence(id keys.ID) string
	// Called names a member for people.
	Called(id keys.ID) string
}

// Link is a connection to a member that both sides have accepted. Its methods may be called
// concurrently.
type Link interface {
	Peer() keys.ID
	// String names the member as Network.Called does.
	String() string
	// CarriesSessions reports whether both sides stand under the same charter.
	CarriesSessions() bool
	// Open opens a session stream and sends its first bytes. It returns when the other side has
	// taken the stream.
	Open(ctx context.Context, first []byte) (RawStream, error)
	// SendLeft tells the member that this side has closed a session.
	SendLeft(id protocol.SessionID)
	// Over is closed when the link has ended; Lost then says why, and is nil before.
	Over() <-chan struct{}
	Lost() *protocol.GoneError
	// Explain says in a clause what an error of one of the link's streams means.
	Explain(err error) string
}

// RawStream carries bytes both ways, under flow control of its own.
type RawStream interface {
	io.ReadWriteCloser
	// Reset ends the stream at once; what is on its way is lost.
	Reset() error
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Transport opens a host's sessions. Its methods may be called concurrently.
type Transport struct {
	self    keys.ID
	life    context.Context
	network Network
	matcher *matcher
}

// NewTransport makes the transport of the member self. When life ends nobody waits any longer.
func NewTransport(life context.Context, self keys.ID, network Network) *Transport {
	return &Transport{self: self, life: life, network: network, matcher: newMatcher()}
}

// Open joins a session with the peers and returns when all are in. Of each pair the lower id opens
// the stream, and the other one answers it once it has opened the session itself. If ctx ends
// first, or a peer cannot come any more, the error names those who are missing, and why; it
// wraps a *protocol.GoneError for each.
func (t *Transport) Open(ctx context.Context, id protocol.SessionID, peers []keys.ID) (protocol.Mesh, error) {
	m, err := t.meet(ctx, id, peers, true)
	if err != nil {
		return nil, err
	}
	absent := m.never
	if len(absent) == 0 {
		absent = m.late
	}
	if len(absent) > 0 {
		m.mesh.Close()
		return nil, t.explainOpen(ctx, id, absent)
	}
	return m.mesh, nil
}

// Gather is Open that makes do with the peers who have come when ctx ends. Those who have not, or
// cannot come any more, are named with a *protocol.GoneError each. With nobody there it fails as
// Open does.
func (t *Transport) Gather(ctx context.Context, id protocol.SessionID, peers []keys.ID) (
	protocol.Mesh, map[keys.ID]error, error,
) {
	m, err := t.meet(ctx, id, peers, false)
	if err != nil {
		return nil, nil, err
	}
	absent := m.late
	maps.Copy(absent, m.never)
	if len(m.mesh.streams) == 0 {
		m.mesh.Close()
		return nil, nil, t.explainOpen(ctx, id, absent)
	}
	for peer, err := range absent {
		absent[peer] = t.explainAbsent(peer, err)
	}
	m.mesh.absent = maps.Clone(absent)
	return m.mesh, absent, nil
}

// meeting is what came of an attempt to meet peers.
type meeting struct {
	mesh  *mesh             // of those who came
	late  map[keys.ID]error // who did not come by the end
	never map[keys.ID]error // who cannot come any more
}

// meet opens a session and meets the peers, as far as they come. If all must come, the first
// who never can ends the wait for the others, who are not to blame then.
func (t *Transport) meet(ctx context.Context, id protocol.SessionID, peers []keys.ID, all bool) (meeting, error) {
	m := meeting{
		mesh:  &mesh{id: id, matcher: t.matcher, streams: make(map[keys.ID]*stream, len(peers))},
		late:  make(map[keys.ID]error),
		never: make(map[keys.ID]error),
	}
	listed := make(map[keys.ID]bool, len(peers))
	var members, callers []keys.ID
	for _, peer := range peers {
		if listed[peer] {
			return m, fmt.Errorf("%s is listed twice among the peers of a session", peer.Short())
		}
		listed[peer] = true
		if err := t.network.Want(peer); err != nil {
			m.never[peer] = err
			continue
		}
		members = append(members, peer)
		if !t.opensTo(peer) {
			callers = append(callers, peer)
		}
	}
	if all {
		for _, err := range m.never {
			return m, err
		}
	}
	if err := t.matcher.begin(id, callers); err != nil {
		return m, err
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var meetings sync.WaitGroup
	for _, peer := range members {
		meetings.Go(func() {
			s, err := t.meetOne(waiting, end{peer, id})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				m.mesh.streams[peer] = s
			case waiting.Err() != nil:
				m.late[peer] = err
			default:
				m.never[peer] = err
				if all {
					stop()
				}
			}
		})
	}
	meetings.Wait()
	return m, nil
}

// explainOpen names those who did not come.
func (t *Transport) explainOpen(ctx context.Context, id protocol.SessionID, absent map[keys.ID]error) error {
	e := &openError{}
	var clauses []string
	for _, peer := range slices.SortedFunc(maps.Keys(absent), keys.ID.Compare) {
		gone := t.explainAbsent(peer, absent[peer])
		e.causes = append(e.causes, gone)
		clauses = append(clauses, fmt.Sprintf("%s: %s", t.network.Called(peer), gone.Reason))
	}
	e.text = fmt.Sprintf("session %x did not start without %s", id[:4], strings.Join(clauses, "; "))
	if err := ctx.Err(); err != nil {
		e.causes = append(e.causes, err)
		e.text += ": " + err.Error()
	}
	return e
}

// explainAbsent says why a peer did not come to a session.
func (t *Transport) explainAbsent(peer keys.ID, err error) *protocol.GoneError {
	if gone, ok := errors.AsType[*protocol.GoneError](err); ok {
		return gone
	}
	reason := cmp.Or(t.network.Absence(peer), "connected, but it has not opened the session")
	return &protocol.GoneError{Peer: peer, Reason: reason}
}

// openError says who is missing in a session.
type openError struct {
	text   string
	causes []error
}

func (e *openError) Error() string   { return e.text }
func (e *openError) Unwrap() []error { return e.causes }
