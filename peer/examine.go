package peer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
)

// Address is what a host has heard of where a member is.
type Address struct {
	Text    string // a multiaddr
	Source  string // one of discovery's Source constants
	Dialled bool   // false: it is of a network that this machine is not in
}

// Examination is what a host knows of the way to a member.
type Examination struct {
	Status    PeerStatus
	Addresses []Address
	Attempts  []Attempt // of the latest dial, if it failed and there is no link
	Full      bool      // the link is good for everything
}

// Examine returns what is known of the way to a member, once there is a link or the first attempt to make one has
// ended. From then on a link to the member is kept. The error is that of ctx, or that it is no member.
func (h *Host) Examine(ctx context.Context, id keys.ID) (Examination, error) {
	if err := h.members.want(id); err != nil {
		return Examination{}, err
	}
	for {
		l, tried, changed, err := h.members.lookup(id, levelCharter)
		if err != nil {
			return Examination{}, err
		}
		if l != nil || tried {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Examination{}, ctx.Err()
		}
	}
	if m := h.members.get(id); m != nil { // who has come by itself was not dialled
		_, info, _ := h.members.state(m)
		h.dialler.list(info)
	}
	var e Examination
	for _, s := range h.Status() {
		if s.ID == id {
			e.Status = s
		}
	}
	dialled := h.addresses.Candidates(id)
	for _, k := range h.addresses.Known(id) {
		worth := false
		for _, c := range dialled {
			worth = worth || c.Equal(k.Address)
		}
		e.Addresses = append(e.Addresses, Address{k.Address.String(), k.Source, worth})
	}
	all, _ := h.members.all()
	for _, m := range all {
		switch {
		case m.id != id:
		case m.link == nil:
			e.Attempts = m.attempts
		default:
			e.Full = m.link.may(levelFull)
		}
	}
	return e, nil
}

// Reaches dials the addresses that the charter lists for a member, without a word, and returns what came of each; the
// cause of one that answers is empty. Whoever asks for itself learns whether it can be dialled from here, and nothing
// of the machines around this one: an address is dialled that reaches as far as the link to the member. What leads
// elsewhere, by a name too, gives CauseAround, whatever is there.
func (h *Host) Reaches(ctx context.Context, id keys.ID) ([]Attempt, error) {
	over := discovery.Anywhere
	if h.cfg.onMachine() {
		over = discovery.OnMachine
	}
	if l := h.members.linkOf(id); l != nil {
		over = reachOver(l.conn)
	}
	info, ok := h.members.inForce().charter.Member(id)
	if !ok {
		return nil, errors.New("it is no member of the charter")
	}
	d := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return reachesAsFar(address, over)
	}}
	var all []Attempt
	for _, text := range info.Addresses {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil || isUDP(a) || len(a) != 2 {
			continue
		}
		at := Attempt{Address: text}
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a[0].Value(), a[1].Value()))
		if err != nil {
			at.Cause, at.Text = causeOf(err), explainCause(err)
		} else {
			conn.Close()
		}
		all = append(all, at)
	}
	return all, nil
}

// reachesAsFar refuses an IP address and port, as a name was looked up, that reaches less far than a connection.
func reachesAsFar(address string, over discovery.Reach) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAround
	}
	host, err := manet.FromIP(net.IP(at.Addr().WithZone("").AsSlice()))
	if err != nil || discovery.ReachOf(host) < over {
		return errAround
	}
	return nil
}

// IsPrivate reports whether an address is good in a network of its own alone: loopback, private, link-local.
func IsPrivate(address string) bool {
	a, err := multiaddr.NewMultiaddr(address)
	return err == nil && discovery.ReachOf(a) != discovery.Anywhere
}
