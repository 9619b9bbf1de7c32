package peer

import (
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// admission is a connection's way from its handshake to the verdict on its hello. Streams that
// come before that wait for it.
type admission struct {
	decided chan struct{} // closed by the verdict
	link    *link         // set before; nil after a refusal
	limit   *time.Timer   // closes a connection that does not say hello in time
}

// watchConns makes admissions follow libp2p's connections. libp2p reports a connection before
// it accepts its first stream.
func (h *Host) watchConns() {
	h.node.swarm.Notify(&network.NotifyBundle{
		ConnectedF: func(_ network.Network, c network.Conn) {
			h.mu.Lock()
			defer h.mu.Unlock()
			limit := time.AfterFunc(helloTimeout, func() { h.expire(c) })
			h.admissions[c] = &admission{decided: make(chan struct{}), limit: limit}
		},
		DisconnectedF: func(_ network.Network, c network.Conn) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.decide(c, nil)
			delete(h.admissions, c)
		},
	})
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

// expire closes a connection on which no verdict has come in time.
func (h *Host) expire(c network.Conn) {
	h.mu.Lock()
	a := h.admissions[c]
	undecided := a != nil && a.link == nil
	h.decide(c, nil)
	h.mu.Unlock()
	if undecided {
		c.Close()
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
