package peer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// members is the charter in force and the other members under it: who may be there, and what the host knows of each,
// its link first of all. A link is weighed against the charter, so one lock guards both.
type members struct {
	cfg  Config
	self keys.ID
	near func(keys.ID) bool // is it one of Config.Neighbours?
	log  *slog.Logger

	mu             sync.Mutex
	judge          judge
	by             map[keys.ID]*member
	changed        chan struct{} // closed and replaced at each change of presence
	charterChanged chan struct{} // closed and replaced when another charter comes into force
}

// member is what a host knows of one other member that it keeps a link with, or that has
// connected by itself. The lock of members guards it.
type member struct {
	id       keys.ID     // never changes, as peer
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
	lost      time.Time          // when the last link ended; zero before
	attempts  []Attempt          // of the latest dial, if it failed
	said      map[string]bool    // why there is no link, as far as it is in the log, since there was one
	changed   chan struct{}      // closed and replaced at each change of the above
	dismiss   context.CancelFunc // ends the goroutine that keeps the link
}

// newMembers puts the first charter into force.
func newMembers(cfg Config) *members {
	ms := &members{
		cfg:            cfg,
		self:           cfg.Key.ID(),
		near:           cfg.neighbourhood(),
		log:            cfg.Log,
		by:             make(map[keys.ID]*member),
		changed:        make(chan struct{}),
		charterChanged: make(chan struct{}),
	}
	ms.setMembers(cfg.Charter)
	return ms
}

// lower reports whether this side has the lower id, and so dials first.
func (ms *members) lower(other keys.ID) bool { return ms.self.Compare(other) < 0 }

// inForce returns what hellos are weighed against at this moment.
func (ms *members) inForce() judge {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.judge
}

// charterNews returns a channel that is closed when another charter comes into force.
func (ms *members) charterNews() <-chan struct{} {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.charterChanged
}

// watch returns a channel that is closed at the next change of presence.
func (ms *members) watch() <-chan struct{} {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.changed
}

// notify wakes those who wait for a change of the member, or of any. mu is held.
func (ms *members) notify(m *member) {
	close(m.changed)
	m.changed = make(chan struct{})
	ms.notifyAny()
}

// notifyAny wakes those who wait for a change of any kind. mu is held.
func (ms *members) notifyAny() {
	close(ms.changed)
	ms.changed = make(chan struct{})
}

// wake wakes those who watch: there is news that stands elsewhere.
func (ms *members) wake() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.notifyAny()
}

// wakeFor wakes those who wait for a change of a link's member too, if it is the member's link still.
func (ms *members) wakeFor(l *link) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.by[l.peer]; m != nil && m.link == l {
		ms.notify(m)
	}
}

// wakeAll wakes everybody who waits for anything.
func (ms *members) wakeAll() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.by {
		ms.notify(m)
	}
	ms.notifyAny()
}

// setMembers brings the members in line with a charter and returns the links of those who are members no longer. mu is
// held, or the members are not shared yet.
func (ms *members) setMembers(c *keys.SignedCharter) (former []*link) {
	ms.judge = newJudge(ms.self, c, ms.cfg)
	for id, m := range ms.by {
		if _, still := c.Member(id); still {
			continue
		}
		delete(ms.by, id)
		if m.dismiss != nil {
			m.dismiss()
		}
		if m.link != nil {
			former = append(former, m.link)
		}
		ms.notify(m)
	}
	for _, info := range c.Members {
		if ms.by[info.ID] != nil || ms.keeps(info) {
			ms.setMember(info)
		}
	}
	return former
}

// keeps reports whether a link with a member is kept from the start: with relays too, through them the neighbours call.
func (ms *members) keeps(info keys.Member) bool { return info.Relay || ms.near(info.ID) }

// setMember adds a member, or updates what the charter says of it. It returns nil for this node
// itself and for a key that libp2p has no name for. mu is held.
func (ms *members) setMember(info keys.Member) *member {
	if info.ID == ms.self {
		return nil
	}
	m, ok := ms.by[info.ID]
	if !ok {
		p, err := peerID(info.ID)
		if err != nil {
			ms.log.Error("a member cannot be connected to", "member", info.Name, "reason", err)
			return nil
		}
		m = &member{id: info.ID, peer: p, changed: make(chan struct{})}
		ms.by[info.ID] = m
	}
	m.info, m.kept = info, m.kept || ms.keeps(info)
	return m
}

// visitor returns the member with this id, one that is not kept if it was not known before, or
// nil if the charter has no such member. mu is held.
func (ms *members) visitor(id keys.ID) *member {
	if m := ms.by[id]; m != nil {
		return m
	}
	info, ok := ms.judge.charter.Member(id)
	if !ok {
		return nil
	}
	return ms.setMember(info)
}

// want sees that a link to a member is kept from now on.
func (ms *members) want(id keys.ID) error {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.visitor(id)
	if m == nil {
		return ms.notMember(id)
	}
	if !m.kept {
		m.kept = true
		ms.notify(m)
	}
	return nil
}

// tended is a member whose link is to be kept until ctx ends.
type tended struct {
	*member
	ctx context.Context
}

// untended returns the members whose link is to be kept and whom nobody keeps it with yet, and a channel that is closed
// when there may be more. They are to be kept until ctx ends at the latest.
func (ms *members) untended(ctx context.Context) (fresh []tended, changed <-chan struct{}) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.by {
		if m.kept && m.dismiss == nil {
			t := tended{member: m}
			t.ctx, m.dismiss = context.WithCancel(ctx)
			fresh = append(fresh, t)
		}
	}
	return fresh, ms.changed
}

// get returns the member with this id, nil if it is not known.
func (ms *members) get(id keys.ID) *member {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.by[id]
}

// all returns what is known of each member, in the order of the charter, and that charter's judge.
func (ms *members) all() ([]member, judge) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	out := make([]member, 0, len(ms.by))
	for _, info := range ms.judge.charter.Members {
		if m, ok := ms.by[info.ID]; ok {
			out = append(out, *m)
		}
	}
	return out, ms.judge
}

// links returns the links that there are.
func (ms *members) links() []*link {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	var out []*link
	for _, m := range ms.by {
		if m.link != nil {
			out = append(out, m.link)
		}
	}
	return out
}

// linkOf returns a member's link, or nil.
func (ms *members) linkOf(id keys.ID) *link {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.by[id]; m != nil {
		return m.link
	}
	return nil
}

// state returns a member's link, nil while there is none, what the charter says of it, and a channel that is closed
// when either has changed.
func (ms *members) state(m *member) (l *link, info keys.Member, changed <-chan struct{}) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return m.link, m.info, m.changed
}

// notMember says that an id has no place in the charter. mu is held.
func (ms *members) notMember(id keys.ID) error {
	if id == ms.self {
		return &protocol.GoneError{Peer: id, Reason: "it is this node itself"}
	}
	return &protocol.GoneError{Peer: id, Reason: "it is no member in " + ms.judge.stance.String()}
}

// isMember reports whether the charter in force has a member whom libp2p calls so.
func (ms *members) isMember(p libpeer.ID) bool {
	id, err := memberID(p)
	if err != nil {
		return false
	}
	_, ok := ms.inForce().charter.Member(id)
	return ok
}
