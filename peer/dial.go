package peer

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"

	"github.com/hanse-project/hanse/keys"
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

// dialler makes the links to members, and makes them anew when they are lost.
type dialler struct {
	*base
	table     *table
	relays    *relays
	puncher   *puncher
	reception *reception
	tending   *tending
}

// keep makes and remakes the link to a member until ctx ends.
func (d *dialler) keep(ctx context.Context, m *member) {
	var failures backoff
	for {
		if !d.awaitAbsence(ctx, m) {
			return
		}
		if failures == 0 && !d.members.lower(m.id) {
			if d.pause(ctx, m, headStart) {
				continue
			}
		}
		l, err := d.dial(ctx, m, failures)
		if err == nil {
			d.tending.tend(l)
			if time.Since(l.since) > longestPause {
				failures = 0
				continue // at once: it may be back already
			}
		} else {
			d.members.noteTrouble(m, err)
		}
		if d.pause(ctx, m, failures.next()) {
			failures = 0
		}
	}
}

// awaitAbsence returns true as soon as there is no link to the member, or false when ctx ends.
func (d *dialler) awaitAbsence(ctx context.Context, m *member) bool {
	for ctx.Err() == nil {
		l, _, changed := d.members.state(m)
		if l == nil {
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
func (d *dialler) pause(ctx context.Context, m *member, length time.Duration) (linked bool) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	found, early := d.addresses.News(m.id), time.NewTimer(min(length, shortestPause))
	defer early.Stop()
	var news <-chan struct{}
	for {
		l, _, changed := d.members.state(m)
		if l != nil {
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

// list has the address book know what the charter says of where a member is, if that is to be dialled.
func (d *dialler) list(info keys.Member) {
	if d.cfg.discovers(DiscoverAddresses) {
		d.addresses.SetCharter(info.ID, info.Addresses)
	}
}

// dial makes one attempt to connect to a member, says hello and installs the link. After a failure it
// asks the other members for addresses first.
func (d *dialler) dial(ctx context.Context, m *member, failures backoff) (*link, error) {
	id := m.id
	if failures > 0 {
		d.table.ask(ctx, id, m.peer)
	}
	_, info, _ := d.members.state(m) // a new charter may say something else
	who := target{name: info.Name, id: id}
	if d.cfg.discovers(DiscoverAddresses) {
		who.listed = info.Addresses
	}
	d.list(info)
	// The swarm waits by itself after a failure, and longer than we want to.
	d.node.swarm.Backoff().Clear(m.peer)
	d.node.host.Peerstore().ClearAddrs(m.peer)
	ways := d.addresses.Candidates(id)
	if d.members.lower(id) || failures >= patientFailures {
		ways = slices.Concat(ways, d.relays.circuits(id))
	}
	d.node.host.Peerstore().AddAddrs(m.peer, ways, peerstore.PermanentAddrTTL)
	direct, release := d.puncher.expect(m.peer)
	defer release()
	conn, err := d.node.swarm.DialPeer(network.WithAllowLimitedConn(ctx, "hanse"), m.peer)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, who.explainDial(err)
	}
	if relayed(conn) && conn.Stat().Direction == network.DirOutbound {
		conn = d.puncher.await(ctx, conn, direct)
	}
	if d.puncher.comesIn(conn) {
		return nil, errIncoming
	}
	j, met := d.members.beginHello(m)
	defer d.members.endHello(m)
	l, err := d.reception.greet(ctx, who, conn, j, met)
	if err != nil {
		return nil, err
	}
	l.source = d.addresses.Source(id, conn.RemoteMultiaddr())
	if err := d.reception.install(l); err != nil {
		conn.Close()
		return nil, err
	}
	if err := d.addresses.Worked(id, conn.RemoteMultiaddr()); err != nil {
		d.log.Warn("a learned address is not kept", "member", who.name, "reason", err)
	}
	return l, nil
}
