package peer

import (
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/keys"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
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
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []PeerStatus
	clocks := h.viewClocks()
	for _, info := range h.judge.charter.Members {
		m, ok := h.members[info.ID]
		if !ok {
			continue
		}
		s := PeerStatus{
			Name:    m.info.Name,
			ID:      m.info.ID,
			Kept:    m.kept,
			Since:   m.lost,
			Links:   h.meter.of(m.peer).links.Load(),
			Trouble: m.trouble,
			Refused: m.refused,
			Program: m.program, OtherWire: m.otherWire,
		}
		if last := h.meter.of(m.peer).lastHeard(); !last.IsZero() {
			s.Heard = time.Now().Add(-time.Since(last)) // by the clock as it is set now
		}
		if l := m.link; l != nil {
			s.Connected = true
			s.Address, s.Source = l.conn.RemoteMultiaddr().String(), l.source
			if p := l.program.Load(); p != nil {
				s.Program = *p
			}
			if id, ok := relayOf(l.conn); ok {
				s.Relay = nameIn(h.judge.charter, id)
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

// Limits of what strangers can make a host write: they may come with a new key each time.
const (
	strangersKept = 16          // refusals kept for Strangers
	strangerPause = time.Second // between two log lines about strangers
)

// Stranger is somebody who is no member and was refused.
type Stranger struct {
	ID      keys.ID // zero when its key is not even of our kind
	Address string  // where it came from
	Reason  string
	Last    time.Time
}

// strangerLog keeps the latest refusals of those who are no members.
type strangerLog struct {
	mu     sync.Mutex
	latest []Stranger // by time, the oldest first
	said   time.Time  // when the last line was written
	unsaid int        // refusals since then without a line
}

// refuseStranger notes a refusal for Strangers, Watch and the log.
func (h *Host) refuseStranger(p libpeer.ID, from multiaddr.Multiaddr, reason string) {
	id, err := memberID(p)
	name := id.String()
	if err != nil {
		name = p.String()
	}
	s := Stranger{ID: id, Address: from.String(), Reason: reason, Last: time.Now()}
	others, say := h.strangers.add(s)
	if !say {
		return
	}
	h.log.Warn("refused a connection", "from", s.Address, "id", name, "reason", reason, "others", others)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notifyAny()
}

// add keeps a refusal. It reports whether it is time to say so, and how many were kept since the
// last time without a word.
func (s *strangerLog) add(entry Stranger) (others int, say bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = slices.DeleteFunc(s.latest, func(old Stranger) bool { return old.ID == entry.ID })
	s.latest = append(s.latest, entry)
	if len(s.latest) > strangersKept {
		s.latest = slices.Delete(s.latest, 0, 1)
	}
	if entry.Last.Sub(s.said) < strangerPause {
		s.unsaid++
		return 0, false
	}
	others = s.unsaid
	s.said, s.unsaid = entry.Last, 0
	return others, true
}

// Strangers returns the latest refusals of those who are no members, the newest first: somebody
// who mistyped a charter, was revoked, or tries the door.
func (h *Host) Strangers() []Stranger {
	h.strangers.mu.Lock()
	defer h.strangers.mu.Unlock()
	out := slices.Clone(h.strangers.latest)
	slices.Reverse(out)
	return out
}
