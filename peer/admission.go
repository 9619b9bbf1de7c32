package peer

import (
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

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

// mayDial is the gater's question before a dial.
func (h *Host) mayDial(p libpeer.ID) bool {
	id, err := memberID(p)
	if err != nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.judge.charter.Member(id)
	return ok
}

// mayReach is the gater's question before each address is dialled.
func (h *Host) mayReach(p libpeer.ID, at multiaddr.Multiaddr) bool {
	id, err := memberID(p)
	return err == nil && h.addresses.MayDial(id, at)
}

// mayCall is the gater's question after the handshake of an inbound connection: may the caller say
// hello at all?
func (h *Host) mayCall(p libpeer.ID, from multiaddr.Multiaddr) bool {
	id, err := memberID(p)
	h.mu.Lock()
	j := h.judge
	h.mu.Unlock()
	_, member := j.charter.Member(id)
	_, revoked := j.charter.RevokedID(id) // may hear why it is refused
	reason := fmt.Sprintf("it is neither a member of %s nor invited", j.stance)
	switch {
	case err != nil:
		reason = err.Error()
	case id == h.self:
		reason = "it has this node's own key: only one node may run with it"
	case member || revoked || j.invites(id) || j.isWorker(id):
		return true
	}
	if _, ok := j.isSpent(id); ok { // may hear why, too
		return true
	}
	h.refuseStranger(p, from, reason)
	return false
}

// admission is a connection's way from its handshake to the verdict on its hello. Streams that
// come before that wait for it.
type admission struct {
	decided chan struct{} // closed by the verdict
	link    *link         // set before; nil after a refusal
	limit   *time.Timer   // closes a connection that does not say hello in time
	worker  bool          // its key is a worker's
}

// serveStreams registers what this host answers, and makes admissions follow libp2p's connections,
// which libp2p reports before it accepts their first stream. All streams pass through serve, those
// of the DHT too.
func (h *Host) serveStreams() {
	h.node.host.SetStreamHandler(protoHello, h.answer)
	h.node.host.SetStreamHandler(protoCall, h.answerCall)
	h.node.host.SetStreamHandler(protoSession, h.answerSession)
	h.node.host.SetStreamHandler(protoWorker, h.answerWorker)
	h.node.swarm.SetStreamHandler(h.serve)
	h.node.swarm.Notify(&network.NotifyBundle{
		ConnectedF: func(_ network.Network, c network.Conn) {
			worker, places := h.isWorkers(c), 0
			if worker {
				places = h.placesOfWorkers()
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.cameDirect(c)
			a := &admission{decided: make(chan struct{}), worker: worker && h.placeForWorker(c, places)}
			a.limit = time.AfterFunc(session.AnswerTime, func() {
				h.mu.Lock()
				undecided := a.link == nil
				h.decide(c, nil)
				h.mu.Unlock()
				if undecided {
					c.Close()
				}
			})
			h.admissions[c] = a
		},
		DisconnectedF: func(_ network.Network, c network.Conn) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.decide(c, nil)
			delete(h.admissions, c)
		},
	})
}

// serve is given every stream that a peer opens. It learns the stream's protocol and, unless
// that is the hello, lets nothing happen before the connection is admitted to it.
func (h *Host) serve(s network.Stream) {
	if !h.enter() {
		s.Reset()
		return
	}
	defer h.leave()
	select {
	case <-h.started:
	case <-h.life.Done():
		s.Reset()
		return
	}
	s.SetDeadline(time.Now().Add(session.AnswerTime))
	proto, handle, err := h.node.host.Mux().Negotiate(s)
	allowed := err == nil && s.SetProtocol(proto) == nil
	switch {
	case proto == protoPunch: // before the hello, over the relay's connection that this side has asked for
		allowed = allowed && relayed(s.Conn()) && s.Conn().Stat().Direction == network.DirOutbound
	case allowed && proto != protoHello:
		l := h.admitted(s.Conn()) // waits for the verdict on the hello
		switch {
		case l == nil:
			allowed = false
		case l.isWorkers() || proto == protoWorker:
			allowed = l.isWorkers() && proto == protoWorker
		case proto == protoCall:
			allowed = l.may(levelJoin) // which methods, the call says
		case proto != protoSession: // a link that may not carry sessions yet hears so, and asks again
			allowed = h.mayStream(l, proto)
		}
	}
	if !allowed {
		s.Reset()
		return
	}
	s.SetDeadline(time.Time{})
	handle(proto, s)
}

// decide records the verdict on a connection; the first one stays. Host.mu is held.
func (h *Host) decide(c network.Conn, l *link) {
	a := h.admissions[c]
	if a == nil {
		return
	}
	select {
	case <-a.decided:
	default:
		a.link = l
		a.limit.Stop()
		close(a.decided)
	}
}

// admitted waits for the verdict on a connection and returns its link, nil after a refusal.
func (h *Host) admitted(c network.Conn) *link {
	h.mu.Lock()
	a := h.admissions[c]
	h.mu.Unlock()
	if a == nil {
		return nil
	}
	select {
	case <-a.decided:
		return a.link
	case <-h.life.Done():
		return nil
	}
}
