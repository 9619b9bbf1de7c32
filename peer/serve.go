package peer

import (
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
)

// serveStreams registers what this host answers. All streams pass through serve, those of the
// DHT too.
func (h *Host) serveStreams() {
	h.node.host.SetStreamHandler(protoHello, h.answer)
	h.node.host.SetStreamHandler(protoCall, h.answerCall)
	h.node.host.SetStreamHandler(protoSession, h.answerSession)
	h.node.swarm.SetStreamHandler(h.serve)
	h.watchConns()
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
	s.SetDeadline(time.Now().Add(streamTimeout))
	proto, handle, err := h.node.host.Mux().Negotiate(s)
	if err != nil || s.SetProtocol(proto) != nil || !h.allows(proto, s.Conn()) {
		s.Reset()
		return
	}
	s.SetDeadline(time.Time{})
	handle(proto, s)
}

// allows reports whether a connection may use a protocol; it waits for the verdict on its hello.
func (h *Host) allows(proto libproto.ID, c network.Conn) bool {
	if proto == protoHello {
		return true
	}
	l := h.admitted(c)
	if l == nil {
		return false
	}
	switch proto {
	case protoCall:
		return l.may(levelJoin) // which methods, the call says
	case protoSession:
		return true // a link that may not carry it yet hears so, and asks again
	default:
		return l.may(levelCharter)
	}
}
