package peer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	circuit "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	circuitproto "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
)

// The protocols of libp2p's relays: who wants a place or a circuit opens a stream of the first to the relay, which
// opens one of the second to the other end.
const (
	protoHop  libproto.ID = circuitproto.ProtoIDv2Hop
	protoStop libproto.ID = circuitproto.ProtoIDv2Stop
)

// What a relay's limits come to where the charter has none. A place ends with the link that it was asked for over, so
// that nothing hangs on a clock.
const (
	forever      = 10 * 365 * 24 * time.Hour
	placePause   = time.Minute // between two requests for the same place: the relay may have been set up anew
	placeRetry   = 2 * time.Second
	relayBuffers = 64 << 10 // bytes, for each direction of a circuit
)

// overDirect opens streams over links that no relay carries.
func overDirect(ms *members) func(context.Context, libpeer.ID, libproto.ID) (network.Stream, error) {
	return func(ctx context.Context, p libpeer.ID, proto libproto.ID) (network.Stream, error) {
		id, err := memberID(p)
		if err != nil {
			return nil, err
		}
		l, _, _, err := ms.lookup(id, levelCharter)
		switch {
		case err != nil:
			return nil, err
		case l == nil || relayed(l.conn):
			return nil, errors.New("there is no direct link to it")
		}
		return openNegotiated(ctx, l.conn, proto, nil)
	}
}

// relays is what this host does as a relay, and with those of others. Run's goroutine alone uses service and limits.
type relays struct {
	*base
	service *relay.Relay // nil while this host does not relay
	limits  keys.RelayLimits
}

// mayStream reports whether a stream of libp2p's own protocols may come over a link: a member of the charter may ask a
// relay, over a direct link, and only relays of the charter bring calls.
func (r *relays) mayStream(l *link, proto libproto.ID) bool {
	if !l.may(levelCharter) || relayed(l.conn) && (proto == protoHop || proto == protoStop) {
		return false
	}
	from, _ := r.members.inForce().charter.Member(l.peer)
	return proto != protoStop || from.Relay
}

// circuits lists the ways to a member through relays that this host has a direct link with. Whether the member holds a
// place there, the relay says.
func (r *relays) circuits(id keys.ID) []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, at := range r.members.inForce().charter.Relays() {
		l := r.members.linkOf(at.ID)
		if l == nil || at.ID == id || !l.may(levelCharter) || relayed(l.conn) {
			continue
		}
		if a, err := multiaddr.NewMultiaddr(fmt.Sprintf("/p2p/%s/p2p-circuit", l.conn.RemotePeer())); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// gate is who may use this host as a relay: members of the charter in force alone. It implements relay.ACLFilter.
type gate struct{ members *members }

// AllowReserve reports whether a place may be held.
func (g gate) AllowReserve(p libpeer.ID, _ multiaddr.Multiaddr) bool { return g.members.isMember(p) }

// AllowConnect reports whether a circuit may be made.
func (g gate) AllowConnect(src libpeer.ID, _ multiaddr.Multiaddr, dest libpeer.ID) bool {
	return g.members.isMember(src) && g.members.isMember(dest)
}

// set has this host relay, or no longer, as the charter in force says. Circuits that it carries go on. Run's goroutine
// alone calls it.
func (r *relays) set() {
	charter := r.members.inForce().charter
	mine, _ := charter.Member(r.self)
	if r.service != nil && (!mine.Relay || r.limits != charter.Relay) {
		r.close()
	}
	if !mine.Relay || r.service != nil {
		return
	}
	limits := charter.Relay
	service, err := relay.New(overLinks{r.node.host, overDirect(r.members)}, relay.WithACL(gate{r.members}),
		relay.WithResources(resources(limits, len(charter.Members))))
	if err != nil {
		r.log.Warn("this node does not relay", "reason", err)
		return
	}
	r.service, r.limits = service, limits
	r.log.Info("this node relays for members that cannot reach each other", "limits", limits.String())
}

// close ends relaying. Run's goroutine alone calls it, or whoever ends a host that was not run.
func (r *relays) close() {
	if r.service != nil {
		r.service.Close()
		r.service = nil
	}
}

// resources are a charter's limits as libp2p's relay has them.
func resources(l keys.RelayLimits, members int) relay.Resources {
	r := relay.Resources{
		ReservationTTL:  forever,
		MaxReservations: members,
		MaxCircuits:     2 * members, // to each other member, while an old one of it ends
		BufferSize:      relayBuffers,
	}
	if l.Reservations > 0 {
		r.MaxReservations = l.Reservations
	}
	if l.Circuits > 0 {
		r.MaxCircuits = l.Circuits
	}
	// A site is one address, and a federation may be one site.
	r.MaxReservationsPerIP, r.MaxReservationsPerASN = r.MaxReservations, r.MaxReservations
	if l.Minutes > 0 || l.MiB > 0 {
		r.Limit = &relay.RelayLimit{Duration: forever, Data: math.MaxInt64}
	}
	if l.Minutes > 0 {
		r.Limit.Duration = min(forever, time.Duration(l.Minutes)*time.Minute)
	}
	if l.MiB > 0 {
		r.Limit.Data = int64(l.MiB) << 20
	}
	return r
}

// holdPlace holds a place at a relay as long as the link to it lives, so that others can call through it. It does
// nothing while the member at the other end does not relay, or this node does.
func (r *relays) holdPlace(ctx context.Context, l *link) {
	var held bool
	var last string
	for {
		changed := r.members.charterNews() // before the charter is looked at
		charter := r.members.inForce().charter
		other, _ := charter.Member(l.peer)
		mine, _ := charter.Member(r.self)
		again := make(<-chan time.Time)
		timer := time.NewTimer(placePause)
		if other.Relay && !mine.Relay && l.may(levelCharter) && !relayed(l.conn) {
			pause := placePause
			asking, cancel := context.WithTimeout(ctx, session.AnswerTime)
			_, err := circuit.Reserve(asking, overLinks{r.node.host, overDirect(r.members)},
				libpeer.AddrInfo{ID: l.conn.RemotePeer()})
			cancel()
			switch {
			case err == nil && !held:
				r.log.Info("others can call through a relay", "relay", l.name)
				held, last = true, ""
			case err != nil && ctx.Err() == nil:
				pause = placeRetry
				held = false
				if reason := explainRelay(err); reason != last {
					r.log.Warn("no place at a relay: others behind NAT cannot call through it", "relay", l.name, "reason", reason)
					last = reason
				}
			}
			timer.Reset(pause)
			again = timer.C
		}
		select {
		case <-again:
		case <-changed:
		case <-l.over:
		case <-ctx.Done():
		}
		timer.Stop()
		if l.Lost() != nil || ctx.Err() != nil {
			return
		}
	}
}
