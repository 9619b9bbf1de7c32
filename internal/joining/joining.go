// Package joining is how a newcomer comes into a federation: it fetches its invitation and the proposed charter from
// the inviter's node, shows them to a person, signs, and waits until all members have signed.
package joining

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
)

// Newcomer is who joins.
type Newcomer struct {
	Key     *keys.PrivateKey
	Card    *keys.Card  // that the inviter was given; nil when there is none to compare with
	Inviter keys.ID     // who must answer; zero: whoever answers is taken for the inviter
	Where   string      // the address of the inviter's node, or the file of an invitation, which ends in .toml
	Yes     bool        // sign without asking
	Wait    bool        // for the signatures of the others
	Proxy   *peer.Proxy // nil: none
	Person  terminal.Person
}

// newcomer is one run.
type newcomer struct {
	Newcomer
	who       enrol.Newcomer
	addresses []string // of the inviter's node
	warned    bool     // of clocks that differ
}

// ErrNotSigned says that a person read a text and did not want to sign it.
var ErrNotSigned = errors.New("not signed: nothing was changed")

// Join joins. The charter is nil when the newcomer has signed and the other signatures are not waited for.
func Join(ctx context.Context, who Newcomer) (*keys.SignedCharter, error) {
	n := &newcomer{Newcomer: who, who: enrol.Newcomer{Key: who.Key, Card: who.Card, Inviter: who.Inviter}}
	if err := n.locate(); err != nil {
		return nil, err
	}
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	n.say("connected to %s", conn.Peer())
	charter, err := n.join(ctx, conn)
	if remote := (*protocol.RemoteError)(nil); errors.As(err, &remote) { // without the method that it is an answer to
		err = fmt.Errorf("the inviter's node says: %s", remote.Fault)
	}
	return charter, err
}

// locate takes the inviter's address, or an invitation that names it.
func (n *newcomer) locate() error {
	where := n.Where
	if !strings.HasSuffix(where, ".toml") {
		n.addresses = []string{where}
		return nil
	}
	text, err := textfile.Read(where, charterfile.MaxCard)
	if err != nil {
		return err
	}
	i, _, err := keys.ParseInvitation(text, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if !n.who.Inviter.IsZero() && n.who.Inviter != i.Inviter {
		return fmt.Errorf("%s: it is from %s, not from %s", where, i.Inviter, n.who.Inviter)
	}
	n.who.Inviter, n.addresses = i.Inviter, i.Address
	return nil
}

// dial connects to the inviter's node, at the first address that answers.
func (n *newcomer) dial(ctx context.Context) (enrol.Conn, error) {
	var problems []string
	for _, address := range n.addresses {
		conn, err := peer.DialJoin(ctx, n.who.Key, address, n.Proxy)
		if err == nil {
			if text := conn.ClockTrouble(); text != "" && !n.warned {
				n.say("warning: %s", text)
				n.warned = true
			}
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		problems = append(problems, err.Error())
	}
	return nil, errors.New(strings.Join(problems, "; "))
}

// join fetches, shows, signs and waits. The charter is nil when the other signatures are not waited
// for. It closes conn.
func (n *newcomer) join(ctx context.Context, conn enrol.Conn) (*keys.SignedCharter, error) {
	offer, err := n.who.Fetch(ctx, conn)
	if err == nil && !offer.InForce() && !offer.Proposal.SignedBy(n.who.Key.ID()) {
		err = n.sign(ctx, conn, offer)
	}
	switch {
	case err != nil:
		return nil, errors.Join(err, conn.Close())
	case offer.InForce():
		n.kept(ctx, conn, offer)
		return offer.Proposal, conn.Close()
	case !n.Wait:
		n.say("the same command fetches the charter when the others have signed")
		return nil, conn.Close()
	}
	return n.await(ctx, conn, offer)
}

// sign shows the offer, asks, and hands over the signature.
func (n *newcomer) sign(ctx context.Context, conn enrol.Conn, o *enrol.Offer) error {
	m, _ := o.Proposal.Member(n.who.Key.ID())
	switch {
	case o.Parent == nil:
		n.say("%s proposes a charter to %s\n", o.Inviter.Name, m.Name)
	case o.Expires.IsZero():
		n.say("%s has signed version %d of charter %s, in which %s has this key\n", o.Inviter.Name, o.Proposal.Version,
			o.Proposal.Name, m.Name)
	default:
		n.say("%s invites %s to join, until %s\n", o.Inviter.Name, m.Name, wording.Time(o.Expires))
	}
	if err := charterfile.Show(n.Person.Out, o.Proposal, o.Parent); err != nil {
		return err
	}
	if n.who.Inviter.IsZero() {
		n.say("\ncompare the id of %s with its owner over another channel: nothing else says who answered", o.Inviter.Name)
	}
	if !n.Yes {
		yes, err := n.Person.Agree(ctx, fmt.Sprintf("\nsign this charter as %s?", m.Name))
		if errors.Is(err, terminal.ErrNobody) {
			return fmt.Errorf("%w whether to sign this charter: give --yes to sign it", err)
		}
		if err != nil {
			return err
		}
		if !yes {
			return ErrNotSigned
		}
	}
	if err := n.who.Sign(ctx, conn, o); err != nil {
		return err
	}
	n.say("%s has your signature", o.Inviter.Name)
	return nil
}

// await follows the other signatures.
func (n *newcomer) await(ctx context.Context, conn enrol.Conn, o *enrol.Offer) (*keys.SignedCharter, error) {
	charter, err := enrol.Wait{
		Dial:    n.dial,
		Last:    func(ctx context.Context, conn enrol.Conn) { n.kept(ctx, conn, o) },
		Missing: func(names []string) { n.say("waiting for the signatures of %s", strings.Join(names, ", ")) },
		Trouble: func(err error) { n.say("%s cannot be reached, trying on: %v", o.Inviter.Name, err) },
	}.Until(ctx, conn, o)
	if ctx.Err() != nil {
		n.say("\nyour signature stays with %s: the same command fetches the charter when the others have signed",
			o.Inviter.Name)
	}
	return charter, err
}

// kept lets the maker of a first version know that it need not wait for this member.
func (n *newcomer) kept(ctx context.Context, conn enrol.Conn, o *enrol.Offer) {
	if o.Proposal.Version > 1 {
		return
	}
	if err := n.who.Kept(ctx, conn); err != nil {
		n.say("%s could not be told that the charter is here; it may stop waiting: %v", o.Inviter.Name, err)
	}
}

// say tells the person at the screen.
func (n *newcomer) say(format string, args ...any) {
	fmt.Fprintf(n.Person.Out, format+"\n", args...)
}
