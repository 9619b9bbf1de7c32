package peer

import (
	"time"

	"github.com/hanse-project/hanse/keys"
)

// PeerStatus is what a host can say of one other member.
type PeerStatus struct {
	Name      string
	ID        keys.ID
	Kept      bool // a link to it is kept; one that is not is gone from Status when its link is
	Connected bool
	Address   string        // the peer's end of the connection, or "" without one
	Source    string        // how that address was found, one of the discovery.Source constants, or SourceDialled
	Relay     string        // the name of the member that relays the connection, or "" for a direct one
	RTT       time.Duration // of the last heartbeat; 0 before the first
	Since     time.Time     // when the link was made; without one, when the last one ended, zero if there was none
	Program   string        // the version of its program, by its own word, cleaned; empty before it has said
	Links     int64         // made with it since the host was
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
	// OtherWire says that Refused is for the versions of the two programs: one of them must be updated.
	OtherWire bool
}

// SourceDialled is the source of the address of a member that has dialled this node.
const SourceDialled = "it dialled"

// Status returns the state of every other member, in the order of the charter; with
// Config.Neighbours, of those alone that a link is kept with or that have connected.
func (h *Host) Status() []PeerStatus {
	var out []PeerStatus
	clocks := h.clocks.view()
	all, j := h.members.all()
	for _, m := range all {
		met := h.meter.of(m.peer)
		s := PeerStatus{
			Name:    m.info.Name,
			ID:      m.info.ID,
			Kept:    m.kept,
			Since:   m.lost,
			Links:   met.links.Load(),
			Trouble: m.trouble,
			Refused: m.refused,
			Program: m.program, OtherWire: m.otherWire,
		}
		if last := met.lastHeard(); !last.IsZero() {
			s.Heard = time.Now().Add(-time.Since(last)) // by the clock as it is set now
		}
		if l := m.link; l != nil {
			s.Connected = true
			s.Address, s.Source = l.conn.RemoteMultiaddr().String(), l.source
			if p := l.program.Load(); p != nil {
				s.Program = *p
			}
			if id, ok := relayOf(l.conn); ok {
				s.Relay = nameIn(j.charter, id)
			}
			s.RTT = time.Duration(l.rtt.Load())
			s.Since = l.since
			s.ClockAhead, _ = l.clock.get()
			s.ClockTrouble = clocks.of(m.info.Name, s.ClockAhead, h.cfg.Now())
		}
		out = append(out, s)
	}
	return out
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
func (h *Host) Watch() <-chan struct{} { return h.members.watch() }

// Traffic returns the bytes exchanged with each member since the host was made.
func (h *Host) Traffic() map[keys.ID]Traffic {
	all, _ := h.members.all()
	out := make(map[keys.ID]Traffic, len(all))
	for _, m := range all {
		t := h.meter.of(m.peer)
		out[m.id] = Traffic{In: t.in.Load(), Out: t.out.Load()}
	}
	return out
}

// Strangers returns the latest refusals of those who are no members, the newest first: somebody
// who mistyped a charter, was revoked, or tries the door.
func (h *Host) Strangers() []Stranger { return h.strangers.list() }

// ClockDifference returns how far a member's clock is ahead of this node's, negative when it is
// behind, as last measured. It is false without a connection to the member. What a member says
// of its clock is its own claim: good for a sentence, and for nothing that must be right.
func (h *Host) ClockDifference(id keys.ID) (time.Duration, bool) {
	l := h.members.linkOf(id)
	if l == nil {
		return 0, false
	}
	ahead, _ := l.clock.get()
	return ahead, true
}

// ClockTrouble returns a sentence when it is likely this node's own clock that is wrong, since
// most connected members agree with each other on another time; it is empty otherwise. Status has
// a sentence for each member whose clock differs.
func (h *Host) ClockTrouble() string { return h.clocks.view().own(h.cfg.Now()) }

// Segments returns those of the connection to a member; false where there is none over TCP, or the system does not say.
func (h *Host) Segments(id keys.ID) (Segments, bool) {
	l := h.members.linkOf(id)
	if l == nil {
		return Segments{}, false
	}
	return h.node.tcp.segments(l.conn)
}
