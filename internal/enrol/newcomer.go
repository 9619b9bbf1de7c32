package enrol

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/keys"
)

// Conn is a newcomer's connection to the inviter's node.
type Conn interface {
	// Peer returns who answers, as the connection has proved it.
	Peer() keys.ID
	// Call makes one call; see protocol.Transport.
	Call(ctx context.Context, method string, request []byte) ([]byte, error)
	Close() error
}

// Newcomer is somebody with a key file who has been invited.
type Newcomer struct {
	Key     *keys.PrivateKey
	Card    *keys.Card // the card that the inviter was given; nil when it is not at hand
	Inviter keys.ID    // who must answer; zero when only the address is known
}

// Offer is what a newcomer is asked to sign. Everything in it has been held against the rest.
type Offer struct {
	Inviter  keys.Member
	Expires  time.Time // zero: as long as the proposal is open
	Proposal *keys.SignedCharter
	Parent   *keys.SignedCharter // the charter in force; nil of a first version, and when the proposal is in force already
}

// InForce reports whether all have signed already, the newcomer included.
func (o *Offer) InForce() bool { return o.Proposal.Complete() == nil }

// Fetch asks the inviter's node for the invitation and the proposed charter. It is an error when
// they are not for this newcomer, do not come from who answers, or do not fit together.
func (n *Newcomer) Fetch(ctx context.Context, conn Conn) (*Offer, error) {
	if !n.Inviter.IsZero() && conn.Peer() != n.Inviter {
		return nil, fmt.Errorf("%s answers instead of the inviter, %s: the address is wrong, or somebody is in between",
			conn.Peer(), n.Inviter)
	}
	var reply offerReply
	if err := call(ctx, conn, methodJoinFetch, nothing{}, &reply); err != nil {
		return nil, err
	}
	proposal, err := keys.ParseCharter([]byte(reply.Proposal))
	if err != nil {
		return nil, err
	}
	m, ok := proposal.Member(n.Key.ID())
	if !ok {
		return nil, fmt.Errorf("charter %q, version %d, does not have the key %s as a member",
			proposal.Name, proposal.Version,
			n.Key.ID().Short())
	}
	if n.Card != nil && !sameMember(m, keys.Member(*n.Card)) {
		return nil, fmt.Errorf("charter %q, version %d, says of this member: %s; its card says: %s", proposal.Name,
			proposal.Version, describe(m), describe(keys.Member(*n.Card)))
	}
	if proposal.Complete() == nil {
		inviter, _ := proposal.Member(conn.Peer())
		return &Offer{Inviter: inviter, Proposal: proposal}, nil
	}
	return n.checkOffer(conn.Peer(), proposal, reply)
}

// sameMember compares members.
func sameMember(a, b keys.Member) bool {
	return a.Name == b.Name && a.ID == b.ID && slices.Equal(a.Addresses, b.Addresses)
}

// describe says what a charter or a card says of a member whose id is known.
func describe(m keys.Member) string { return fmt.Sprintf("%s at %v", m.Name, m.Addresses) }

// checkOffer holds invitation, proposal and parent against each other: the invitation is from the inviter, for the
// newcomer and to the proposal. Of a later version than the first none is needed: the inviter has signed it, and the
// newcomer is in it.
func (n *Newcomer) checkOffer(peer keys.ID, proposal *keys.SignedCharter, reply offerReply) (*Offer, error) {
	m, _ := proposal.Member(n.Key.ID())
	i := keys.Invitation{Charter: proposal.Name, Inviter: peer, Card: keys.Card(m), Proposal: proposal.Digest()}
	var err error
	if reply.Invitation != "" || proposal.Version == 1 {
		if i, _, err = keys.ParseInvitation([]byte(reply.Invitation), time.Now()); err != nil {
			return nil, err
		}
	}
	var parent *keys.SignedCharter
	among := proposal // a first version follows none, and its maker is among those that it names
	if proposal.Version > 1 || reply.Parent != "" {
		if parent, err = keys.ParseCharter([]byte(reply.Parent)); err != nil {
			return nil, fmt.Errorf("the charter in force: %w", err)
		}
		if err := proven(parent, reply.Proof); err != nil {
			return nil, fmt.Errorf("the charter in force: %w", err)
		}
		if err := proposal.Follows(parent); err != nil {
			return nil, err
		}
		among = parent
	}
	inviter, ok := among.Member(peer)
	if !ok {
		return nil, fmt.Errorf("invitation: %s is not a member of charter %q, version %d, and only members invite",
			peer.Short(), among.Name, among.Version)
	}
	switch {
	case i.Inviter != inviter.ID:
		return nil, fmt.Errorf("invitation: it is from %s, but %s answers", i.Inviter.Short(), inviter.Name)
	case i.Card.ID != n.Key.ID():
		return nil, fmt.Errorf("invitation: it is for %s with the key %s, not for the key %s", i.Card.Name, i.Card.ID.Short(),
			n.Key.ID().Short())
	case i.Charter != proposal.Name || i.Proposal != proposal.Digest():
		return nil, fmt.Errorf("invitation: it is to charter %q with the hash %s, but %s hands out %q with the hash %s",
			i.Charter,
			i.Proposal.Short(), inviter.Name, proposal.Name, proposal.Digest().Short())
	case !sameMember(m, keys.Member(i.Card)):
		return nil, fmt.Errorf("invitation: it is for %s, but the proposed charter has %s", describe(keys.Member(i.Card)),
			describe(m))
	case !proposal.SignedBy(inviter.ID):
		return nil, fmt.Errorf("charter %q, version %d: %s, who invites to it, has not signed it", proposal.Name,
			proposal.Version,
			inviter.Name)
	}
	return &Offer{Inviter: inviter, Expires: i.Expires, Proposal: proposal, Parent: parent}, nil
}

// proven checks that a version is in force, as all have signed it or as the versions before it show, the latest first.
func proven(c *keys.SignedCharter, before []string) error {
	if c.Complete() == nil || len(before) == 0 || len(before) > maxProof {
		return c.Complete()
	}
	parent, err := keys.ParseCharter([]byte(before[0]))
	if err != nil {
		return err
	}
	if err := proven(parent, before[1:]); err != nil {
		return err
	}
	c.After(parent)
	return c.Complete()
}

// Kept tells the maker of a first version that this newcomer has it with all signatures: the maker's program need not
// wait for it any longer. It is a courtesy, and its loss costs the newcomer nothing.
func (n *Newcomer) Kept(ctx context.Context, conn Conn) error {
	return call(ctx, conn, methodJoinKept, nothing{}, &nothing{})
}

// Sign signs the proposal and hands the signature to the inviter's node.
func (n *Newcomer) Sign(ctx context.Context, conn Conn, o *Offer) error {
	if conn.Peer() != o.Inviter.ID {
		return fmt.Errorf("%s answers instead of %s", conn.Peer().Short(), o.Inviter.Name)
	}
	if err := o.Proposal.Sign(n.Key); err != nil {
		return err
	}
	r := signRequest{o.Proposal.Digest().String(), o.Proposal.Signatures[n.Key.ID()]}
	return call(ctx, conn, methodJoinSign, r, &nothing{})
}

// call makes one call to the inviter's node.
func call(ctx context.Context, conn Conn, method string, request, response any) error {
	data, err := cbor.Marshal(request)
	if err != nil {
		return err
	}
	if data, err = conn.Call(ctx, method, data); err != nil {
		return err
	}
	return control.Decode(data, response)
}
