package peer

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"
)

// Pauses between attempts to connect.
const (
	shortestPause = 200 * time.Millisecond
	longestPause  = 5 * time.Second
	// headStart is how long the higher id leaves the dialling to the lower one, after the
	// start and after a loss, so that the two seldom dial each other at once.
	headStart = time.Second
	// patientFailures is after how many attempts the higher id calls through a relay too.
	patientFailures = 3
)

// backoff counts the attempts that failed in a row.
type backoff int

// next returns how long to pause: twice as long each time up to the longest, give or take a
// quarter, so that members who lost each other at once do not come back at once.
func (b *backoff) next() time.Duration {
	pause := min(shortestPause<<min(*b, 10), longestPause)
	*b++
	return time.Duration(float64(pause) * (0.75 + rand.Float64()/2))
}

// keep makes and remakes the link to a member until ctx ends.
func (h *Host) keep(ctx context.Context, m *member) {
	var failures backoff
	for {
		if !h.awaitAbsence(ctx, m) {
			return
		}
		if failures == 0 && !h.lower(m.id) {
			if h.pause(ctx, m, headStart) {
				continue
			}
		}
		l, err := h.dial(ctx, m, failures)
		if err == nil {
			h.tend(l)
			if time.Since(l.since) > longestPause {
				failures = 0
				continue // at once: it may be back already
			}
		} else {
			h.noteTrouble(m, err)
		}
		if h.pause(ctx, m, failures.next()) {
			failures = 0
		}
	}
}

// awaitAbsence returns true as soon as there is no link to the member, or false when ctx ends.
func (h *Host) awaitAbsence(ctx context.Context, m *member) bool {
	for ctx.Err() == nil {
		h.mu.Lock()
		absent, changed := m.link == nil, m.changed
		h.mu.Unlock()
		if absent {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

// pause waits, and returns true at once when a link appears. It ends early when there is a new
// address to try, though not before the shortest pause: whoever tells new ones all the time makes nobody dial all the
// time.
func (h *Host) pause(ctx context.Context, m *member, d time.Duration) (linked bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	found, early := h.addresses.News(m.id), time.NewTimer(min(d, shortestPause))
	defer early.Stop()
	var news <-chan struct{}
	for {
		h.mu.Lock()
		linked, changed := m.link != nil, m.changed
		h.mu.Unlock()
		if linked {
			return true
		}
		select {
		case <-changed:
		case <-early.C:
			news = found
		case <-news:
			return false
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// dial makes one attempt to connect to a member, says hello and installs the link. After a failure it
// asks the other members for addresses first.
func (h *Host) dial(ctx context.Context, m *member, failures backoff) (*link, error) {
	id := m.id
	if d := h.dht.Load(); d != nil && failures > 0 {
		// Asks the other members for a member's addresses. Before, it introduces those to the table whose
		// introduction came to nothing.
		h.mu.Lock()
		var links []*link
		for _, other := range h.members {
			if l := other.link; l != nil && l.theirs.dht && !d.Has(other.peer) {
				links = append(links, l)
			}
		}
		h.mu.Unlock()
		for _, l := range links {
			d.Introduce(l.conn, h.tellable(l.theirs.addresses))
		}
		h.addresses.SetTold(m.id, d.Find(ctx, m.peer))
	}
	h.mu.Lock()
	who, listed := target{name: m.info.Name, id: id}, m.info.Addresses // a new charter may say something else
	h.mu.Unlock()
	if h.cfg.discovers(DiscoverAddresses) {
		who.listed = listed
	}
	// The swarm waits by itself after a failure, and longer than we want to.
	h.node.swarm.Backoff().Clear(m.peer)
	h.node.host.Peerstore().ClearAddrs(m.peer)
	ways := h.addresses.Candidates(id)
	if h.lower(id) || failures >= patientFailures {
		ways = slices.Concat(ways, h.circuits(id))
	}
	h.node.host.Peerstore().AddAddrs(m.peer, ways, peerstore.PermanentAddrTTL)
	direct, release := h.awaitsDirect(m.peer)
	defer release()
	conn, err := h.node.swarm.DialPeer(network.WithAllowLimitedConn(ctx, "hanse"), m.peer)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, who.explainDial(err)
	}
	if relayed(conn) && conn.Stat().Direction == network.DirOutbound {
		conn = h.awaitPunch(ctx, m, conn, direct)
	}
	h.mu.Lock()
	if h.comesIn(conn) {
		h.mu.Unlock()
		return nil, errIncoming
	}
	j, met := h.judge, !m.lost.IsZero()
	m.dialling = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		m.dialling = false
		h.mu.Unlock()
	}()
	l, err := greeting{
		target: who,
		self:   h.self,
		mine:   h.hello(j, conn),
		runs:   program{j.self, WireVersion, h.cfg.Program},
		weigh:  func(theirs hello) verdict { return j.weigh(id, theirs) },
		heard:  h.meter.of(m.peer),
		now:    h.cfg.Now,
		met:    met,
	}.exchange(ctx, conn)
	if err != nil {
		return nil, err
	}
	l.source = h.addresses.Source(id, conn.RemoteMultiaddr())
	if !h.install(l) {
		conn.Close()
		return nil, errDuplicate
	}
	if err := h.addresses.Worked(id, conn.RemoteMultiaddr()); err != nil {
		h.log.Warn("a learned address is not kept", "member", who.name, "reason", err)
	}
	return l, nil
}

// tend runs a link until it ends. It is not called before Run.
func (h *Host) tend(l *link) {
	if id, ok := relayOf(l.conn); ok {
		h.mu.Lock()
		relay := nameIn(h.judge.charter, id)
		h.mu.Unlock()
		h.log.Info("connected", "member", l.name, "relay", relay)
	} else {
		h.log.Info("connected", "member", l.name, "address", l.conn.RemoteMultiaddr().String())
	}
	if _, differs := l.clock.get(); differs != 0 {
		h.noteClock(l)
	}
	h.mu.Lock()
	now := h.judge.stance
	h.mu.Unlock()
	if now != l.told {
		l.send(kindCharter, now.encode(), newsPatience)
	}
	if l.may(levelCharter) {
		if h.cfg.Program != "" {
			l.send(kindProgram, encodeProgram(h.cfg.Program), newsPatience)
		}
		h.addresses.SetOwn(l.peer, l.theirs.addresses, reachOver(l.conn))
		if d := h.dht.Load(); d != nil && l.theirs.dht {
			d.Introduce(l.conn, h.tellable(l.theirs.addresses))
		}
	}
	h.spawn(func() {
		if !relayed(l.conn) {
			l.send(kindSeen, encodeSeen(l.conn.RemoteMultiaddr().String()), newsPatience)
		}
		if !l.dialled || relayed(l.conn) { // otherwise the peer says first at which address it sees this host
			h.sendWhereabouts(l)
		}
		h.holdPlace(h.life, l)
	})
	l.run(h.life, pulse{beat: h.cfg.Heartbeat, silence: h.cfg.Silence},
		observer{charter: h.charterOf, left: h.sessions.Left, clock: h.noteClock, program: h.programSaid,
			seen: h.receiveSeen, where: h.receiveWhereabouts})
	h.remove(l)
	h.log.Info("disconnected", "member", l.name, "reason", l.Lost().Reason)
}

// maxSaid is how many reasons why there is no link to a member stand in the log between two links.
const maxSaid = 8

// noteTrouble keeps why a member cannot be reached, for Status and for calls that wait for the first attempt. The log
// has each reason once, and so many, until there is a link again: some take turns.
func (h *Host) noteTrouble(m *member, err error) {
	if errors.Is(err, errDuplicate) || errors.Is(err, errIncoming) || errors.Is(err, context.Canceled) {
		return
	}
	h.mu.Lock()
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
			reason = apart(program{h.judge.self, WireVersion, h.cfg.Program}, program{m.info.Name, r.other.wire, m.program})
		}
	}
	news := m.link == nil && (*last != reason || !m.tried)
	if news {
		*last, m.tried = reason, true
		h.notify(m)
	}
	say := m.link == nil && !m.said[reason] && len(m.said) < maxSaid
	if say {
		if m.said == nil {
			m.said = make(map[string]bool)
		}
		m.said[reason] = true
	}
	name := m.info.Name
	h.mu.Unlock()
	if say {
		h.log.Warn("not connected", "member", name, "reason", reason)
	}
}
