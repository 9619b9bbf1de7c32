package peer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/peer/session"
)

// gater is asked by libp2p about every connection. It implements connmgr.ConnectionGater.
//
// A stranger is cut as soon as TLS has shown its key, before it can open a stream. Those who may
// hear why they are refused (revoked members) pass here and are refused in the hello.
type gater struct {
	dials    func(libpeer.ID) bool                      // may this identity be dialled?
	receives func(libpeer.ID, multiaddr.Multiaddr) bool // may this identity, calling from there, say hello?
	reaches  func(libpeer.ID, multiaddr.Multiaddr) bool // may it be dialled at this address, which a name may have led to?
}

// InterceptPeerDial is asked before an identity is dialled.
func (g gater) InterceptPeerDial(p libpeer.ID) bool { return g.dials(p) }

// InterceptAddrDial is asked before each address of it is dialled, when names have been looked up.
func (g gater) InterceptAddrDial(p libpeer.ID, a multiaddr.Multiaddr) bool { return g.reaches(p, a) }

// InterceptAccept is asked before the handshake of an inbound connection, when nothing is known.
func (g gater) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured is asked when the handshake has shown who is there.
func (g gater) InterceptSecured(dir network.Direction, p libpeer.ID, at network.ConnMultiaddrs) bool {
	return dir == network.DirOutbound || g.receives(p, at.RemoteMultiaddr())
}

// InterceptUpgraded is asked when the stream multiplexer stands.
func (g gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }

// newGater asks what the gater of a member's host asks.
func newGater(ms *members, addresses *discovery.AddressBook, refusals *strangers) gater {
	return gater{
		dials: ms.isMember,
		receives: func(p libpeer.ID, from multiaddr.Multiaddr) bool {
			reason := mayCall(ms.self, ms.inForce(), p)
			if reason != "" {
				refusals.refuse(p, from, reason)
			}
			return reason == ""
		},
		reaches: func(p libpeer.ID, at multiaddr.Multiaddr) bool {
			id, err := memberID(p)
			return err == nil && addresses.MayDial(id, at)
		},
	}
}

// mayCall says why a caller, whose key the handshake has shown, may not even say hello; it is empty if it may.
func mayCall(self keys.ID, j judge, p libpeer.ID) (reason string) {
	id, err := memberID(p)
	_, member := j.charter.Member(id)
	_, revoked := j.charter.RevokedID(id) // may hear why it is refused
	switch {
	case err != nil:
		return err.Error()
	case id == self:
		return "it has this node's own key: only one node may run with it"
	case member || revoked || j.invites(id) || j.isWorker(id):
		return ""
	}
	if _, ok := j.isSpent(id); ok { // may hear why, too
		return ""
	}
	return fmt.Sprintf("it is neither a member of %s nor invited", j.stance)
}

// admission is a connection's way from its handshake to the verdict on its hello. Streams that
// come before that wait for it.
type admission struct {
	decided chan struct{} // closed by the verdict
	link    *link         // set before; nil after a refusal
	limit   *time.Timer   // closes a connection that does not say hello in time
	worker  bool          // it has one of the places of workers' connections
}

// admissions holds the verdicts on the connections that there are.
type admissions struct {
	mu sync.Mutex
	by map[network.Conn]*admission
}

func newAdmissions() *admissions { return &admissions{by: make(map[network.Conn]*admission)} }

// add takes in a new connection, which has a time to say hello. It has one of so many places of workers' connections if
// workers is above 0. It returns how many of these were taken, and whether one was left for it.
func (as *admissions) add(c network.Conn, workers int) (taken int, ok bool) {
	a := &admission{decided: make(chan struct{})}
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, other := range as.by {
		if other.worker {
			taken++
		}
	}
	a.worker = taken < workers
	a.limit = time.AfterFunc(session.AnswerTime, func() {
		if as.decide(c, nil) == nil {
			c.Close()
		}
	})
	as.by[c] = a
	return taken, a.worker
}

// decide records the verdict on a connection; the first one stays, and is returned: the link, nil for a refusal.
func (as *admissions) decide(c network.Conn, l *link) *link {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.by[c]
	if a == nil {
		return nil
	}
	select {
	case <-a.decided:
	default:
		a.link = l
		a.limit.Stop()
		close(a.decided)
	}
	return a.link
}

// drop ends what waits for the verdict on a connection that is closed.
func (as *admissions) drop(c network.Conn) {
	as.decide(c, nil) // for those who hold the admission
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.by, c)
}

// await waits for the verdict on a connection and returns its link, nil after a refusal.
func (as *admissions) await(ctx context.Context, c network.Conn) *link {
	as.mu.Lock()
	a := as.by[c]
	as.mu.Unlock()
	if a == nil {
		return nil
	}
	select {
	case <-a.decided:
		return a.link
	case <-ctx.Done():
		return nil
	}
}

// links returns the links of those who were let in.
func (as *admissions) links() []*link {
	as.mu.Lock()
	defer as.mu.Unlock()
	var out []*link
	for _, a := range as.by {
		if a.link != nil {
			out = append(out, a.link)
		}
	}
	return out
}

// stop ends the times to say hello.
func (as *admissions) stop() {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, a := range as.by {
		a.limit.Stop()
	}
}
