package protocol

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// MaxFrame is the largest frame a Mesh carries, in bytes. A longer one announced by a peer ends
// the mesh with an error that names the peer, before anything is allocated for it.
const MaxFrame = 4<<20 + 4096

// MaxCall is the largest request or response of a Call, in bytes.
const MaxCall = 8 << 20

// SessionID names one session to the transport: the parties that ask for the same session meet.
type SessionID [32]byte

// NewSessionID names a session of a contract; closes is 0 but in a closing session. Parties that keep the parts of
// different sessions do not meet.
func NewSessionID(contract keys.Hash, number, closes uint32) SessionID {
	domain, session := "hanse room v1", binary.BigEndian.AppendUint32(nil, number)
	if closes != 0 {
		domain, session = "hanse closing room v1", binary.BigEndian.AppendUint32(session, closes)
	}
	return SessionID(keys.HashOf(domain, contract[:], session))
}

// Transport brings links between members into being. All methods may be called concurrently.
type Transport interface {
	// Self returns the id of the member that owns this end.
	Self() keys.ID
	// Open joins a session and returns when there is a link to each of the peers, who must open
	// the same session, or when ctx ends; the error then names the peers that did not come.
	// A session is opened at most once.
	Open(ctx context.Context, session SessionID, peers []keys.ID) (Mesh, error)
	// Gather is Open that does without the peers who have not come when ctx ends, or who cannot
	// come; it returns the mesh of those who came, and names the absent with the reason. Send to
	// and Receive from an absent peer give a *GoneError. With nobody there it is an error.
	Gather(ctx context.Context, session SessionID, peers []keys.ID) (Mesh, map[keys.ID]error, error)
	// Call sends one control request to a member and returns its response.
	// A handler's fault comes back as a *RemoteError; an absent member as a *GoneError.
	Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error)
	// Handle sets what answers the other members' calls. It is set once, before the first call.
	Handle(h Handler)
}

// Handler answers a control request. from is authenticated by the transport. What is wrong goes back as a fault: no
// error does.
type Handler func(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault)

// Mesh is one session's links: frames to and from each peer, authenticated, in order, each at
// most once. Send and Receive for different peers may run concurrently, and a Send may run
// beside a Receive for the same peer; two Sends to the same peer may not.
type Mesh interface {
	// Send writes one frame, the concatenation of parts, and returns when the transport has
	// taken it; parts may be reused then. It blocks while the peer does not read.
	Send(ctx context.Context, to keys.ID, parts ...[]byte) error
	// Receive returns the next frame from the peer, in buf when it is large enough.
	// A broken link gives a *GoneError.
	Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error)
	// Traffic returns the bytes sent to and received from the peer so far, length prefixes included.
	Traffic(peer keys.ID) (sent, received int64)
	// Close ends the links. Frames sent before it still arrive; after them the peers get a
	// *GoneError.
	Close() error
}

// GoneError says that a member cannot be reached, or is no longer there.
type GoneError struct {
	Peer   keys.ID
	Reason string        // one clause, lower case: "connection reset", "no heartbeat for 4s"
	Silent time.Duration // how long nothing was heard, when known
}

// Error implements error. Callers that know the member's name wrap it.
func (e *GoneError) Error() string {
	return fmt.Sprintf("%s is gone: %s", e.Peer.Short(), e.Reason)
}

// RemoteError is what the other side's handler, or its network, answered instead of a response.
type RemoteError struct {
	Peer   keys.ID
	Method string
	Fault  *fault.Fault
}

// Error implements error.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("%s answered %q: %s", e.Peer.Short(), e.Method, e.Fault)
}
