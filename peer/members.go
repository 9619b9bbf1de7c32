package peer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// member is what a host knows of one other member that it keeps a link with, or that has
// connected by itself. Host.mu guards it.
type member struct {
	id       keys.ID     // never changes, as peer; all else is under Host.mu
	info     keys.Member // what the charter in force says
	peer     libpeer.ID
	kept     bool   // a link is to be kept; the others are forgotten with their link
	link     *link  // nil while there is none
	dialling bool   // this side's hello is on its way
	tried    bool   // the first attempt to connect has ended
	trouble  string // why there is no link, or why it is restricted
	refused  string // why the last connection was refused, by either side
	program  string // the version of its program, as it said last where it spoke another wire
	// otherWire: the last connection was refused because it speaks another wire
	otherWire bool
	lost      time.Time       // when the last link ended; zero before
	attempts  []Attempt       // of the latest dial, if it failed
	said      map[string]bool // why there is no link, as far as it is in the log, since there was one
	// unpunched is when hole punching was last in vain
	unpunched time.Time
	changed   chan struct{}      // closed and replaced at each change of the above
	dismiss   context.CancelFunc // ends the goroutine that keeps the link
}

// notify wakes those who wait for a change of the member, or of any. Host.mu is held.
func (h *Host) notify(m *member) {
	close(m.changed)
	m.changed = make(chan struct{})
	h.notifyAny()
}

// notifyAny wakes those who wait for a change of any kind. Host.mu is held.
func (h *Host) notifyAny() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// programSaid wakes those who watch members: one has said which version its program is.
func (h *Host) programSaid() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notifyAny()
}

// setMembers brings the members in line with the charter in force and returns the links of
// those who are members no longer.
func (h *Host) setMembers() (former []*link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	charter := h.judge.charter
	for key := range h.whereabouts {
		if _, still := charter.Member(key.id); !still {
			delete(h.whereabouts, key)
		}
	}
	for id, m := range h.members {
		if _, still := charter.Member(id); still {
			continue
		}
		delete(h.members, id)
		if m.dismiss != nil {
			m.dismiss()
		}
		if m.link != nil {
			former = append(former, m.link)
		}
		h.notify(m)
	}
	for _, info := range charter.Members {
		if h.members[info.ID] != nil || h.keeps(info.ID) {
			h.setMember(info)
		}
	}
	return former
}

// setMember adds a member, or updates what the charter says of it. It returns nil for this node
// itself and for a key that libp2p has no name for. Host.mu is held.
func (h *Host) setMember(info keys.Member) *member {
	if info.ID == h.self {
		return nil
	}
	m, ok := h.members[info.ID]
	if !ok {
		p, err := peerID(info.ID)
		if err != nil {
			h.log.Error("a member cannot be connected to", "member", info.Name, "reason", err)
			return nil
		}
		m = &member{id: info.ID, peer: p, changed: make(chan struct{})}
		h.members[info.ID] = m
	}
	m.info, m.kept = info, m.kept || h.keeps(info.ID)
	if h.cfg.discovers(DiscoverAddresses) {
		h.addresses.SetCharter(info.ID, info.Addresses)
	}
	return m
}

// visitor returns the member with this id, one that is not kept if it was not known before, or
// nil if the charter has no such member. Host.mu is held.
func (h *Host) visitor(id keys.ID) *member {
	if m := h.members[id]; m != nil {
		return m
	}
	info, ok := h.judge.charter.Member(id)
	if !ok {
		return nil
	}
	return h.setMember(info)
}

// want sees that a link to a member is kept from now on.
func (h *Host) want(id keys.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.visitor(id)
	if m == nil {
		return h.notMember(id)
	}
	if !m.kept {
		m.kept = true
		h.notify(m)
	}
	return nil
}

// supersedes decides between two links to one peer. A restarted peer's links replace those to
// its former self, and a link dialled again by the side that dialled the old one replaces it:
// that side has given the old one up. If both sides dialled at once, the dial of the lower id
// stays. Both sides come to the same decision whatever the order they see the links in.
func (h *Host) supersedes(fresh, old *link) bool {
	if fresh.theirs.instance != old.theirs.instance || fresh.dialled == old.dialled {
		return true
	}
	return fresh.dialled == h.lower(fresh.peer)
}

// weighRival looks at an inbound hello beside the link, or the dial, that there is already. It
// returns v unless the other one is to be kept.
func (h *Host) weighRival(from keys.ID, instance uint64, v verdict) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members[from]
	duplicate := verdict{code: verdictDuplicate}
	switch {
	case m == nil:
		return v
	case m.link == nil && m.dialling && h.lower(from):
		return duplicate
	case m.link == nil:
		return v
	case m.link.theirs.instance == instance && m.link.dialled:
		return duplicate
	case h.twins(m.link, instance):
		// A node that was started again has lost its links, and this one lives.
		return refused(fault.Fault{Code: fault.CodeTwin, Names: []string{m.info.Name}},
			"another node with the key of %s is connected from %s: only one may run",
			m.info.Name, m.link.conn.RemoteMultiaddr())
	default:
		return v
	}
}

// install makes a link the member's link, unless another one is to be kept.
func (h *Host) install(l *link) bool {
	h.mu.Lock()
	m := h.visitor(l.peer)
	if m == nil || m.link != nil && !h.supersedes(l, m.link) {
		h.mu.Unlock()
		return false
	}
	if err := admit(h.node.limits, m.peer); err != nil {
		h.log.Warn("a member has no more streams than a stranger", "member", l.name, "reason", err)
	}
	old := m.link
	m.link, m.tried, m.refused, m.said, m.program, m.otherWire = l, true, "", nil, "", false
	h.meter.of(m.peer).links.Add(1)
	h.weighLink(m, l, l.theirs.charter)
	h.decide(l.conn, l)
	h.notify(m)
	h.mu.Unlock()
	if old != nil {
		old.end("replaced by a newer connection")
	}
	return true
}

// remove takes a link that has ended off its member.
func (h *Host) remove(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members[l.peer]
	if m == nil || m.link != l {
		return
	}
	m.link, m.lost = nil, time.Now()
	m.trouble = l.Lost().Reason
	if !m.kept {
		delete(h.members, l.peer)
		h.addresses.Forget(l.peer)
	}
	h.notify(m)
}

// weighLink sets what a link may be used for from the charters of its two sides. It returns
// the reason to end the link if they exclude each other. Host.mu is held.
func (h *Host) weighLink(m *member, l *link, theirs stance) (exclusion string) {
	v := h.judge.compare(l.peer, hello{charter: theirs})
	l.level.Store(uint32(v.level))
	m.trouble = v.reason
	if v.level == levelCharter {
		m.trouble = fmt.Sprintf(
			"%s is on version %d of the charter and %s on version %d: no data until both have the same",
			l.name, theirs.version, h.judge.self, h.judge.stance.version)
	}
	return v.reason
}

// lookup returns a member's link if it is good for what needs this level, and otherwise a
// channel that is closed when that may have changed.
func (h *Host) lookup(id keys.ID, need level) (l *link, tried bool, changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.members[id]
	if !ok {
		return nil, false, nil, h.notMember(id)
	}
	if m.link != nil && m.link.may(need) {
		return m.link, true, nil, nil
	}
	return nil, m.tried, m.changed, nil
}

// notMember says that an id has no place in the charter. Host.mu is held.
func (h *Host) notMember(id keys.ID) error {
	if id == h.self {
		return &protocol.GoneError{Peer: id, Reason: "it is this node itself"}
	}
	return &protocol.GoneError{Peer: id, Reason: "it is no member in " + h.judge.stance.String()}
}

// awaitLink returns the member's link for what needs this level, once there is one.
func (h *Host) awaitLink(ctx context.Context, id keys.ID, need level) (*link, error) {
	for {
		l, _, changed, err := h.lookup(id, need)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.life.Done():
			return nil, session.ErrClosed
		}
	}
}

// absence says in a clause why a member's link cannot be used at that level.
func (h *Host) absence(id keys.ID, need level) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members[id]
	switch {
	case m == nil:
		return "not a member any longer"
	case m.link != nil && m.link.may(need):
		return ""
	case m.refused != "" || m.trouble != "":
		return cmp.Or(m.refused, m.trouble)
	case m.tried:
		return "not connected"
	default:
		return "not connected yet"
	}
}
