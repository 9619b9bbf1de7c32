package peer

import (
	"context"
	"errors"
	"math/rand/v2"
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
		if failures == 0 && !h.lower(m.info.ID) {
			if h.pause(ctx, m, headStart) {
				continue
			}
		}
		l, err := h.dial(ctx, m, failures > 0)
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
// address to try.
func (h *Host) pause(ctx context.Context, m *member, d time.Duration) (linked bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	news := h.book.news(m.info.ID)
	for {
		h.mu.Lock()
		linked, changed := m.link != nil, m.changed
		h.mu.Unlock()
		if linked {
			return true
		}
		select {
		case <-changed:
		case <-news:
			return false
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// dial makes one attempt to connect to a member and to install the link. search asks the other
// members for addresses first.
func (h *Host) dial(ctx context.Context, m *member, search bool) (*link, error) {
	id := m.info.ID
	if f := h.finder.Load(); f != nil && search {
		h.introduceAll(f)
		h.book.found(id, f.find(ctx, m.peer))
	}
	who := target{name: m.info.Name, id: id}
	// The swarm waits by itself after a failure, and longer than we want to.
	h.node.swarm.Backoff().Clear(m.peer)
	h.node.host.Peerstore().ClearAddrs(m.peer)
	h.node.host.Peerstore().AddAddrs(m.peer, h.book.candidates(id), peerstore.PermanentAddrTTL)
	conn, err := h.node.swarm.DialPeer(ctx, m.peer)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, who.explainDial(err)
	case conn.Stat().Direction == network.DirInbound:
		return nil, errIncoming
	}
	return h.greet(ctx, m, who, conn)
}

// greet says hello on a connection just dialled and installs the link.
func (h *Host) greet(ctx context.Context, m *member, who target, conn network.Conn) (*link, error) {
	h.mu.Lock()
	j := h.judge
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
		mine:   h.hello(j),
		weigh:  func(theirs hello) verdict { return j.weigh(who.id, theirs) },
		heard:  h.meter.of(m.peer),
		now:    h.cfg.Now,
	}.exchange(ctx, conn)
	if err != nil {
		return nil, err
	}
	if !h.install(l) {
		conn.Close()
		return nil, errDuplicate
	}
	if err := h.book.worked(who.id, conn.RemoteMultiaddr()); err != nil {
		h.log.Warn("a learned address is not kept", "member", who.name, "reason", err)
	}
	return l, nil
}

// tend runs a link until it ends. It is not called before Run.
func (h *Host) tend(l *link) {
	h.welcome(l)
	l.run(h.life, pulse{beat: h.cfg.Heartbeat, silence: h.cfg.Silence},
		observer{charter: h.charterOf, left: h.rooms.left, clock: h.noteClock})
	h.remove(l)
	h.log.Info("disconnected", "member", l.name, "reason", l.lost().Reason)
}

// welcome does what a new link makes possible.
func (h *Host) welcome(l *link) {
	h.log.Info("connected", "member", l.name, "address", l.conn.RemoteMultiaddr().String())
	if _, differs := l.clock.get(); differs != 0 {
		h.noteClock(l)
	}
	h.mu.Lock()
	now := h.judge.stance
	h.mu.Unlock()
	if now != l.told {
		l.send(kindCharter, encodeCharter(now), newsPatience)
	}
	if !l.may(levelCharter) {
		return
	}
	h.book.told(l.peer, l.theirs.addresses, l.conn.RemoteMultiaddr())
	if f := h.finder.Load(); f != nil && l.theirs.dht {
		f.introduce(l)
	}
}

// noteTrouble keeps why a member cannot be reached, for Status, for calls that wait for the first
// attempt and, when it changes, for the log.
func (h *Host) noteTrouble(m *member, err error) {
	if errors.Is(err, errDuplicate) || errors.Is(err, errIncoming) || errors.Is(err, context.Canceled) {
		return
	}
	if h.keepTrouble(m, err) {
		h.log.Warn("not connected", "member", m.info.Name, "reason", err.Error())
	}
}

// keepTrouble reports whether the trouble is new.
func (h *Host) keepTrouble(m *member, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := &m.trouble
	if _, ok := errors.AsType[*refusal](err); ok {
		last = &m.refused
	}
	if m.link != nil || *last == err.Error() && m.tried {
		return false
	}
	*last, m.tried = err.Error(), true
	h.ring(m)
	return true
}

// sleep waits and reports whether it did to the end, ctx being the other way out.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
