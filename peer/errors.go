package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
)

// What ends an attempt to connect without anything being wrong.
var (
	errDuplicate = errors.New("connected already, by a connection from the other side")
	errIncoming  = errors.New("a connection from the other side is being set up")
)

// ended reports whether err says that the other side, or the network, ended a stream or a
// connection, rather than that it took too long or carried something wrong.
func ended(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, network.ErrReset,
		swarm.ErrConnClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

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

// errAround says that an address leads into the network around this machine.
var errAround = errors.New("it leads into the network around this machine, from where the member did not call")

// target is a member about to be dialled, as error sentences name it.
type target struct {
	name   string
	id     keys.ID
	listed []string // the addresses that the charter has of it
}

// explainDial turns libp2p's account of a failed dial, one line per address, into a sentence.
func (t target) explainDial(err error) error {
	var dial *swarm.DialError
	errors.As(err, &dial)
	none := errors.Is(err, swarm.ErrNoAddresses) ||
		errors.Is(err, swarm.ErrNoGoodAddresses) && (dial == nil || len(dial.DialErrors) == 0)
	switch {
	case none && len(t.listed) > 0:
		return fmt.Errorf("no address is known that leads to %s from here: %s is good on its own machine, or in its own "+
			"network, alone", t.name, strings.Join(t.listed, ", "))
	case none:
		return fmt.Errorf("no address is known for %s: the charter lists none, and discovery has found none", t.name)
	case dial == nil || len(dial.DialErrors) == 0:
		return fmt.Errorf("cannot dial %s: %s", t.name, explainCause(err))
	}
	var clauses []string
	var attempts []Attempt
	for _, attempt := range dial.DialErrors {
		clause := fmt.Sprintf("%s: %s", attempt.Address, explainCause(attempt.Cause))
		at := Attempt{Address: attempt.Address.String(), Cause: causeOf(attempt.Cause), Text: explainCause(attempt.Cause)}
		if _, err := attempt.Address.ValueForProtocol(multiaddr.P_CIRCUIT); err == nil {
			at.Text = explainRelay(attempt.Cause)
			clause = "through a relay: " + at.Text
		}
		if wrong, ok := errors.AsType[sec.ErrPeerIDMismatch](attempt.Cause); ok {
			who := "somebody whose key is not Ed25519"
			if id, err := memberID(wrong.Actual); err == nil {
				who, at.Found = id.String(), id
			}
			clause = fmt.Sprintf("expected %s (%s) at %s, found %s: the address or the key in the charter is wrong",
				t.name, t.id, attempt.Address, who)
		}
		clauses, attempts = append(clauses, clause), append(attempts, at)
	}
	return &dialError{fmt.Sprintf("cannot reach %s: %s", t.name, strings.Join(clauses, "; ")), attempts}
}

// errorDated is what crypto/x509 says of a certificate whose dates do not fit the clock here, and
// errorBadCertificate what crypto/tls says when the other side has refused ours. libp2p passes
// both on as texts alone.
const (
	errorDated          = "certificate has expired or is not yet valid"
	errorBadCertificate = "tls: bad certificate"
)

// refusesCertificate reports whether err says that the other side has refused this node's
// certificate.
func refusesCertificate(err error) bool { return strings.Contains(err.Error(), errorBadCertificate) }

// explainCertificate says what it means when a certificate that is valid at all times is refused.
func (t target) explainCertificate() error {
	return &refusal{text: fmt.Sprintf("%s refused this node's TLS certificate: its clock may be far off, or its program "+
		"another "+
		"version: compare the clocks of both machines (%s) and the versions of hanse on them", t.name, clockCheck)}
}

// explainCause puts the usual network errors into plain words.
func explainCause(err error) string {
	var dns *net.DNSError
	switch {
	case strings.Contains(err.Error(), errorDated):
		return fmt.Sprintf("its TLS certificate is not valid at the time that this machine's clock says: the two clocks "+
			"differ, and the program there is older than this one: set the clock that is wrong (%s), and update that program",
			clockCheck)
	case refusesCertificate(err):
		return "it refused this machine's TLS certificate: compare the clocks of both machines and the versions of hanse " +
			"on them"
	case errors.Is(err, swarm.ErrDialToSelf), errors.Is(err, swarm.ErrGaterDisallowedConnection):
		return "it leads to this machine, to none, or into a network that this machine is not in: the name, or the " +
			"address, means another one where the member is"
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s cannot be resolved", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to that address"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), timedOut(err):
		return "no answer: the host is down, or a firewall drops the connection"
	case ended(err):
		return "the connection was closed during the handshake: the other side may be at its limit, does not " +
			"know this key, or is no hanse node"
	default:
		first, _, _ := strings.Cut(err.Error(), "\n")
		return clip(plain(first), maxReason)
	}
}

// explainListen says why an address cannot be listened on, and what to do.
func explainListen(at multiaddr.Multiaddr, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("cannot listen on %s: the port is in use, perhaps by another hanse node on this machine: stop "+
			"it or choose another port", at)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("cannot listen on %s: no interface of this machine has that address", at)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("cannot listen on %s: ports below 1024 need privileges: choose a higher one", at)
	case errors.Is(err, swarm.ErrNoTransport):
		return fmt.Errorf("cannot listen on %s: it is neither a TCP address nor, with QUIC switched on, a UDP one", at)
	default:
		return fmt.Errorf("cannot listen on %s: %s", at, explainCause(err))
	}
}

// explainRelay puts a relay's refusals into words.
func explainRelay(err error) string {
	text := err.Error()
	for _, known := range []struct{ part, words string }{
		{"does not serve", "it does not relay: the charter in force there does not say so"},
		{"no direct link", "there is no direct link to the relay"},
		{"NO_RESERVATION", "the relay holds no place for it: it is not connected to the relay"},
		{"PERMISSION_DENIED", "the relay serves members of its charter only"},
		{"RESERVATION_REFUSED", "the relay has no place left: the charter bounds its reservations"},
		{"RESOURCE_LIMIT_EXCEEDED", "the relay is at its limit of circuits"},
		{"CONNECTION_FAILED", "the relay cannot reach it"},
	} {
		if strings.Contains(text, known.part) {
			return known.words
		}
	}
	return explainCause(err)
}
