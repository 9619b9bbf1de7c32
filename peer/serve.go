package peer

import (
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/peer/session"
)

// serveStreams registers what this host answers, and makes admissions follow libp2p's connections,
// which libp2p reports before it accepts their first stream. All streams pass through serve, those
// of the DHT too.
func (h *Host) serveStreams() {
	h.node.host.SetStreamHandler(protoHello, h.reception.answer)
	h.node.host.SetStreamHandler(protoCall, h.calls.answer)
	h.node.host.SetStreamHandler(protoSession, h.answerSession)
	h.node.host.SetStreamHandler(protoWorker, h.workers.answer)
	h.node.swarm.SetStreamHandler(h.serve)
	h.node.swarm.Notify(&network.NotifyBundle{
		ConnectedF: func(_ network.Network, c network.Conn) {
			if h.workers.made(c) {
				h.workers.place(c)
			} else {
				h.admissions.add(c, 0)
			}
			h.puncher.came(c)
		},
		DisconnectedF: func(_ network.Network, c network.Conn) { h.admissions.drop(c) },
	})
}

// serve is given every stream that a peer opens. It learns the stream's protocol and, unless
// that is the hello, lets nothing happen before the connection is admitted to it.
func (h *Host) serve(s network.Stream) {
	if !h.life.enter() {
		s.Reset()
		return
	}
	defer h.life.leave()
	select {
	case <-h.life.started:
	case <-h.life.ctx.Done():
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
		l := h.admissions.await(h.life.ctx, s.Conn()) // waits for the verdict on the hello
		switch {
		case l == nil:
			allowed = false
		case l.isWorkers() || proto == protoWorker:
			allowed = l.isWorkers() && proto == protoWorker
		case proto == protoCall:
			allowed = l.may(levelJoin) // which methods, the call says
		case proto != protoSession: // a link that may not carry sessions yet hears so, and asks again
			allowed = h.relays.mayStream(l, proto)
		}
	}
	if !allowed {
		s.Reset()
		return
	}
	s.SetDeadline(time.Time{})
	handle(proto, s)
}
