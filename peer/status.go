package peer

import (
	"time"

	"github.com/hanse-project/hanse/keys"
)

// PeerStatus is what a host can say of one other member.
type PeerStatus struct {
	Name      string
	ID        keys.ID
	Connected bool
	Address   string        // the peer's end of the connection, or "" without one
	RTT       time.Duration // of the last heartbeat; 0 before the first
	Since     time.Time     // when the link was made
	Heard     time.Time     // when the last byte came; zero if none ever did
	// Trouble says why there is no link, or what it is restricted to; it is empty when all is
	// well, and before the first attempt to connect has ended.
	Trouble string
	// ClockAhead is how far the member's clock is ahead of this node's, negative when it is
	// behind; 0 without a connection.
	ClockAhead time.Duration
	// ClockTrouble says that the two clocks differ, what that breaks and which one is likely
	// wrong; it is empty when all is well. The connection is good for everything all the same.
	ClockTrouble string
	// Refused says why this node or the member last refused a connection of the other; a
	// connection that is not refused clears it.
	Refused string
}

// Status returns the state of every other member, in the order of the charter; with
// Config.Neighbours, of those alone that a link is kept with or that have connected.
func (h *Host) Status() []PeerStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []PeerStatus
	clocks := h.viewClocks()
	for _, info := range h.judge.charter.Members {
		if m, ok := h.members[info.ID]; ok {
			out = append(out, h.statusOf(m, clocks))
		}
	}
	return out
}

func (h *Host) statusOf(m *member, clocks clockView) PeerStatus {
	s := PeerStatus{
		Name:    m.info.Name,
		ID:      m.info.ID,
		Trouble: m.trouble,
		Refused: m.refused,
	}
	if last := h.meter.of(m.peer).lastHeard(); !last.IsZero() {
		s.Heard = time.Now().Add(-time.Since(last)) // by the clock as it is set now
	}
	if l := m.link; l != nil {
		s.Connected = true
		s.Address = l.conn.RemoteMultiaddr().String()
		s.RTT = time.Duration(l.rtt.Load())
		s.Since = l.since
		s.ClockAhead, _ = l.clock.get()
		s.ClockTrouble = clocks.of(m.info.Name, s.ClockAhead, h.cfg.Now())
	}
	return s
}

// Watch returns a channel that is closed at the next change of a member's presence, and when a stranger is refused,
// though at most once a second for that. To miss nothing, take the channel first, then look at Status, then wait:
//
//	for {
//		change := host.Watch()
//		show(host.Status())
//		<-change
//	}
//
// The channel is also closed when the host has ended.
func (h *Host) Watch() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Traffic returns the bytes exchanged with each member since the host was made.
func (h *Host) Traffic() map[keys.ID]Traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[keys.ID]Traffic, len(h.members))
	for id, m := range h.members {
		t := h.meter.of(m.peer)
		out[id] = Traffic{In: t.in.Load(), Out: t.out.Load()}
	}
	return out
}
