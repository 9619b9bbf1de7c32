package peer

import (
	"github.com/hanse-project/hanse/peer/session"
)

// tending is what a link to a member goes through from when it is installed until it has ended.
type tending struct {
	*base
	sessions *session.Transport
	clocks   *clocks
	table    *table
	relays   *relays
	puncher  *puncher
	bearings *bearings
}

// tend runs a link until it ends. It is not called before Run.
func (t *tending) tend(l *link) {
	if id, ok := relayOf(l.conn); ok {
		t.log.Info("connected", "member", l.name, "relay", nameIn(t.members.inForce().charter, id))
	} else {
		t.log.Info("connected", "member", l.name, "address", l.conn.RemoteMultiaddr().String())
	}
	if _, differs := l.clock.get(); differs != 0 {
		t.clocks.note(l)
	}
	if now := t.members.inForce().stance; now != l.told {
		l.send(kindCharter, encode(now), newsPatience)
	}
	if l.may(levelCharter) {
		if t.cfg.Program != "" {
			l.send(kindProgram, encodeProgram(t.cfg.Program), newsPatience)
		}
		t.addresses.SetOwn(l.peer, l.theirs.Addresses, reachOver(l.conn))
		t.table.introduce(l)
	}
	t.life.spawn(func() {
		if !relayed(l.conn) {
			l.send(kindSeen, encode(seen{l.conn.RemoteMultiaddr().String()}), newsPatience)
		}
		if !l.dialled || relayed(l.conn) { // otherwise the peer says first at which address it sees this host
			t.bearings.sendTo(l)
		}
		t.relays.holdPlace(t.life.ctx, l)
	})
	l.run(t.life.ctx, pulse{beat: t.cfg.Heartbeat, silence: t.cfg.Silence},
		observer{charter: t.members.charterOf, left: t.sessions.Left, clock: t.clocks.note, program: t.members.wake,
			seen: t.seen, where: t.bearings.receive})
	if t.members.remove(l) {
		t.addresses.Forget(l.peer)
	}
	t.log.Info("disconnected", "member", l.name, "reason", l.Lost().Reason)
}

// seen handles a member's word at which address it sees this host, and tells the member where this host is: before, it
// is not known whether that is news there.
func (t *tending) seen(from *link, text string) {
	if relayed(from.conn) || !from.dialled {
		return // who has dialled this host knows an address of it already
	}
	if from.keepSeen(text) {
		t.puncher.start()
	}
	t.bearings.sendTo(from)
}
