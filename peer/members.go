package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
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

// setCharter puts a later version of the charter into force. It returns the links of those who are members no longer,
// and those that stay, which are weighed again.
func (ms *members) setCharter(c *keys.SignedCharter) (former, stay []*link, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	now := ms.judge.stance
	if c.Name != now.name || uint32(c.Version) <= now.version {
		return nil, nil, fmt.Errorf("charter %q version %d cannot follow %s: want the same name and a later version", c.Name,
			c.Version, now)
	}
	former = ms.setMembers(c)
	close(ms.charterChanged)
	ms.charterChanged = make(chan struct{})
	for _, m := range ms.by {
		if m.link != nil {
			stay = append(stay, m.link)
			ms.weighLink(m, m.link, m.link.theirs.charter)
		}
		ms.notify(m)
	}
	return former, stay, nil
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

// supersedes decides between two links to one peer, whose id is lower than this side's, or not. A restarted peer's
// links replace those to its former self, and a link dialled again by the side that dialled the old one replaces it:
// that side has given the old one up. If both sides dialled at once, the dial of the lower id
// stays. Both sides come to the same decision whatever the order they see the links in.
func supersedes(fresh, old *link, lower bool) bool {
	if fresh.theirs.instance != old.theirs.instance || fresh.dialled == old.dialled {
		return true
	}
	return fresh.dialled == lower
}

// beginHello notes that this side says hello to a member, until endHello is called. It returns what the answer is to be
// weighed against, and whether there was a link before.
func (ms *members) beginHello(m *member) (j judge, met bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.dialling = true
	return ms.judge, !m.lost.IsZero()
}

func (ms *members) endHello(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.dialling = false
}

// weighRival looks at an inbound hello beside the link, or the dial, that there is already. It
// returns v unless the other one is to be kept.
func (ms *members) weighRival(from keys.ID, instance uint64, v verdict) verdict {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.by[from]
	duplicate := verdict{code: verdictDuplicate}
	switch {
	case m == nil:
		return v
	case m.link == nil && m.dialling && ms.lower(from):
		return duplicate
	case m.link == nil:
		return v
	case m.link.theirs.instance == instance && m.link.dialled:
		return duplicate
	case m.link.isTwin(instance, ms.cfg.Heartbeat):
		// A node that was started again has lost its links, and this one lives.
		return refused(fault.Fault{Code: fault.CodeTwin, Names: []string{m.info.Name}},
			"another node with the key of %s is connected from %s: only one may run",
			m.info.Name, m.link.conn.RemoteMultiaddr())
	default:
		return v
	}
}

// install makes a link the member's link, unless another one is to be kept: of two processes that have said hello at
// once, the one that was in first, too. It returns the link that it replaces.
func (ms *members) install(l *link) (old *link, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.visitor(l.peer)
	switch {
	case m == nil:
		return nil, errDuplicate
	case m.link.isTwin(l.theirs.instance, ms.cfg.Heartbeat):
		return nil, &refusal{text: "another node with its key is connected: only one may run"}
	case m.link != nil && !supersedes(l, m.link, ms.lower(l.peer)):
		return nil, errDuplicate
	}
	old = m.link
	m.link, m.tried, m.refused, m.said, m.program, m.otherWire = l, true, "", nil, "", false
	l.heard.links.Add(1)
	ms.weighLink(m, l, l.theirs.charter)
	ms.notify(m)
	return old, nil
}

// remove takes a link that has ended off its member. It reports whether the member is forgotten with it.
func (ms *members) remove(l *link) (forgotten bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.by[l.peer]
	if m == nil || m.link != l {
		return false
	}
	m.link, m.lost = nil, time.Now()
	m.trouble = l.Lost().Reason
	if !m.kept {
		delete(ms.by, l.peer)
	}
	ms.notify(m)
	return !m.kept
}

// weighLink sets what a link may be used for from the charters of its two sides. It returns
// the reason to end the link if they exclude each other. mu is held.
func (ms *members) weighLink(m *member, l *link, theirs stance) (exclusion string) {
	v := ms.judge.compare(l.peer, hello{charter: theirs})
	l.level.Store(uint32(v.level))
	m.trouble = v.reason
	if v.level == levelCharter {
		m.trouble = fmt.Sprintf(
			"%s is on version %d of the charter and %s on version %d: no data until both have the same",
			l.name, theirs.version, ms.judge.self, ms.judge.stance.version)
	}
	return v.reason
}

// charterOf handles a member's news that it stands under another charter than in its hello.
func (ms *members) charterOf(l *link, s stance) {
	ms.mu.Lock()
	m := ms.by[l.peer]
	if m == nil || m.link != l {
		ms.mu.Unlock()
		return
	}
	l.theirs.charter = s
	exclusion := ms.weighLink(m, l, s)
	ms.notify(m)
	ms.mu.Unlock()
	if exclusion != "" {
		l.end(exclusion)
	}
}

// maxSaid is how many reasons why there is no link to a member stand in the log between two links.
const maxSaid = 8

// noteTrouble keeps why a member cannot be reached, for Status and for calls that wait for the first attempt. The log
// has each reason once, and so many, until there is a link again: some take turns.
func (ms *members) noteTrouble(m *member, err error) {
	if errors.Is(err, errDuplicate) || errors.Is(err, errIncoming) || errors.Is(err, context.Canceled) {
		return
	}
	ms.mu.Lock()
	m.attempts = nil
	if failed, ok := errors.AsType[*dialError](err); ok {
		m.attempts = failed.attempts
	}
	last, reason := &m.trouble, err.Error()
	if r, ok := errors.AsType[*refusal](err); ok {
		last = &m.refused
		if m.link == nil {
			m.otherWire = r.other != nil
		}
		if r.other != nil { // what it has said of its program, in one of the two directions, counts in both
			m.program = cmp.Or(r.other.version, m.program)
			reason = apart(program{ms.judge.self, WireVersion, ms.cfg.Program},
				program{m.info.Name, r.other.wire, m.program})
		}
	}
	news := m.link == nil && (*last != reason || !m.tried)
	if news {
		*last, m.tried = reason, true
		ms.notify(m)
	}
	say := m.link == nil && !m.said[reason] && len(m.said) < maxSaid
	if say {
		if m.said == nil {
			m.said = make(map[string]bool)
		}
		m.said[reason] = true
	}
	name := m.info.Name
	ms.mu.Unlock()
	if say {
		ms.log.Warn("not connected", "member", name, "reason", reason)
	}
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

// lookup returns a member's link if it is good for what needs this level, and otherwise a
// channel that is closed when that may have changed.
func (ms *members) lookup(id keys.ID, need level) (l *link, tried bool, changed <-chan struct{}, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m, ok := ms.by[id]
	if !ok {
		return nil, false, nil, ms.notMember(id)
	}
	if m.link != nil && m.link.may(need) {
		return m.link, true, nil, nil
	}
	return nil, m.tried, m.changed, nil
}

// notMember says that an id has no place in the charter. mu is held.
func (ms *members) notMember(id keys.ID) error {
	if id == ms.self {
		return &protocol.GoneError{Peer: id, Reason: "it is this node itself"}
	}
	return &protocol.GoneError{Peer: id, Reason: "it is no member in " + ms.judge.stance.String()}
}

// awaitLink returns the member's link for what needs this level, once there is one.
func (ms *members) awaitLink(ctx context.Context, life *lifetime, id keys.ID, need level) (*link, error) {
	for {
		l, _, changed, err := ms.lookup(id, need)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-life.ctx.Done():
			return nil, session.ErrClosed
		}
	}
}

// absence says in a clause why a member's link cannot be used at that level.
func (ms *members) absence(id keys.ID, need level) string {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.by[id]
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

// isMember reports whether the charter in force has a member whom libp2p calls so.
func (ms *members) isMember(p libpeer.ID) bool {
	id, err := memberID(p)
	if err != nil {
		return false
	}
	_, ok := ms.inForce().charter.Member(id)
	return ok
}
