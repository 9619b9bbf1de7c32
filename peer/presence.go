package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol/fault"
)

// setCharter puts a later version of the charter into force. It returns the links of those who are members no longer,
// and those that stay, which are weighed again.
func (ms *members) setCharter(c *keys.SignedCharter) (former, stay []*link, err error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	now := ms.judge.stance
	if c.Name != now.Name || uint32(c.Version) <= now.Version {
		return nil, nil, fmt.Errorf("charter %q version %d cannot follow %s: want the same name and a later version", c.Name,
			c.Version, now)
	}
	former = ms.setMembers(c)
	close(ms.charterChanged)
	ms.charterChanged = make(chan struct{})
	for _, m := range ms.by {
		if m.link != nil {
			stay = append(stay, m.link)
			ms.weighLink(m, m.link, m.link.theirs.Charter)
		}
		ms.notify(m)
	}
	return former, stay, nil
}

// supersedes decides between two links to one peer, whose id is lower than this side's, or not. A restarted peer's
// links replace those to its former self, and a link dialled again by the side that dialled the old one replaces it:
// that side has given the old one up. If both sides dialled at once, the dial of the lower id
// stays. Both sides come to the same decision whatever the order they see the links in.
func supersedes(fresh, old *link, lower bool) bool {
	if fresh.theirs.Instance != old.theirs.Instance || fresh.dialled == old.dialled {
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
	case m.link.theirs.Instance == instance && m.link.dialled:
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
	case m.link.isTwin(l.theirs.Instance, ms.cfg.Heartbeat):
		return nil, &refusal{text: "another node with its key is connected: only one may run"}
	case m.link != nil && !supersedes(l, m.link, ms.lower(l.peer)):
		return nil, errDuplicate
	}
	old = m.link
	m.link, m.tried, m.refused, m.said, m.program, m.otherWire = l, true, "", nil, "", false
	l.heard.links.Add(1)
	ms.weighLink(m, l, l.theirs.Charter)
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
	v := ms.judge.compare(l.peer, hello{Charter: theirs})
	l.level.Store(uint32(v.level))
	m.trouble = v.reason
	if v.level == levelCharter {
		m.trouble = fmt.Sprintf(
			"%s is on version %d of the charter and %s on version %d: no data until both have the same",
			l.name, theirs.Version, ms.judge.self, ms.judge.stance.Version)
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
	l.theirs.Charter = s
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
