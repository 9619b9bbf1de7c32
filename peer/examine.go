package peer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
)

// Cause is why a dial failed, for programs.
type Cause string

// The causes. CauseOther is said by the attempt's text alone.
const (
	CauseRefused  Cause = "refused"   // the machine is there, and nothing listens at that port
	CauseSilent   Cause = "silent"    // no answer came: no such machine, or somebody drops what is sent to it
	CauseNoRoute  Cause = "no route"  // this machine has no way to that address
	CauseNoName   Cause = "no name"   // the name of the address cannot be resolved
	CauseOtherKey Cause = "other key" // somebody with another key is there
	CauseClosed   Cause = "closed"    // something is there that does not speak as a node does
	CauseAround   Cause = "around"    // the address leads into the network around this machine, and was not dialled
	CauseOther    Cause = "other"
)

// Attempt is what came of dialling one address of a member.
type Attempt struct {
	Address string // a multiaddr
	Cause   Cause
	Found   keys.ID // with CauseOtherKey: whose key is there; zero when no member can have such a key
	Text    string  // a clause for people
}

// dialError says that none of a member's addresses led to it.
type dialError struct {
	text     string
	attempts []Attempt
}

// Error implements error.
func (e *dialError) Error() string { return e.text }

// causeOf sorts what ended a dial of one address.
func causeOf(err error) Cause {
	var dns *net.DNSError
	_, otherKey := errors.AsType[sec.ErrPeerIDMismatch](err)
	switch {
	case otherKey:
		return CauseOtherKey
	case errors.Is(err, errAround):
		return CauseAround
	case errors.As(err, &dns):
		return CauseNoName
	case errors.Is(err, syscall.ECONNREFUSED):
		return CauseRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return CauseNoRoute
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), timedOut(err):
		return CauseSilent
	case ended(err):
		return CauseClosed
	}
	return CauseOther
}

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
	if err := h.want(id); err != nil {
		return Examination{}, err
	}
	for {
		l, tried, changed, err := h.lookup(id, levelCharter)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.members[id]; m != nil && m.link == nil {
		e.Attempts = m.attempts
	} else if m != nil {
		e.Full = m.link.may(levelFull)
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
	h.mu.Lock()
	info, ok := h.judge.charter.Member(id)
	if m := h.members[id]; m != nil && m.link != nil {
		over = reachOver(m.link.conn)
	}
	h.mu.Unlock()
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

// errAround says that an address leads into the network around this machine.
var errAround = errors.New("it leads into the network around this machine, from where the member did not call")

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
