package keys

import (
	"errors"
	"fmt"
	"time"
)

const (
	invitationDomain = "hanse invitation v1"
	invitationFormat = "hanse-invitation-v1"
)

// Invitation asks the owner of a card to join a charter: it says who asks, what the charter will
// be and where the inviter's node is.
type Invitation struct {
	Charter  string    // the name of the charter
	Inviter  ID        // who signs the invitation
	Card     Card      // who is invited
	Proposal Hash      // the digest of the charter with the invited as a member
	Expires  time.Time // whole seconds; no longer good from then on
	Address  []string  // where the inviter can be dialled, at least one; see CheckAddress
}

// invitationText is the body of an invitation.
//
// Evolution: a key is never renamed and never changes its meaning. Readers refuse keys they do
// not know, so that a new key needs the format "hanse-invitation-v2" and a domain of its own.
type invitationText struct {
	Format   string     `toml:"format"`
	Charter  string     `toml:"charter"`
	Inviter  string     `toml:"inviter"`
	Proposal string     `toml:"proposal"`
	Expires  string     `toml:"expires"`
	Address  []string   `toml:"addresses"`
	Card     memberText `toml:"card"`
}

// Sign returns the invitation as a text signed by k, which must be the inviter's key.
func (i Invitation) Sign(k *PrivateKey) (*Document, error) {
	if err := i.check(); err != nil {
		return nil, fmt.Errorf("invitation: %w", err)
	}
	if k.ID() != i.Inviter {
		return nil, fmt.Errorf("invitation: the inviter %s is not the owner of the key, %s", i.Inviter.Short(),
			k.ID().Short())
	}
	d := NewDocument(invitationDomain, i.body())
	d.Sign(k)
	return d, nil
}

// ParseInvitation reads an invitation. It must be signed by its inviter, and by nobody else, and
// must not have expired at now.
func ParseInvitation(text []byte, now time.Time) (Invitation, *Document, error) {
	d, err := splitDocument(invitationDomain, text)
	if err != nil {
		return Invitation{}, nil, err
	}
	var t invitationText
	if err := decodeBody("invitation", invitationFormat, d.Body, &t, &t.Format); err != nil {
		return Invitation{}, nil, err
	}
	i, err := t.parse()
	if err == nil {
		err = i.check()
	}
	if err != nil {
		return Invitation{}, nil, fmt.Errorf("invitation: %w", err)
	}
	if err := d.verifyOnly(i.Inviter, "the inviter, "+i.Inviter.Short()+","); err != nil {
		return Invitation{}, nil, err
	}
	if !now.Before(i.Expires) {
		return Invitation{}, nil, fmt.Errorf("invitation: expired at %s, and the clock here says %s: ask %s for a new "+
			"one, or set the clock if it is wrong",
			stamp(i.Expires), stamp(now), i.Inviter.Short())
	}
	return i, d, nil
}

// parse reads what is not plain text; check must follow.
func (t invitationText) parse() (Invitation, error) {
	inviter, err := ParseID(t.Inviter)
	if err != nil {
		return Invitation{}, fmt.Errorf("inviter: %w", err)
	}
	var proposal Hash
	if err := proposal.UnmarshalText([]byte(t.Proposal)); err != nil {
		return Invitation{}, fmt.Errorf("proposal: %w", err)
	}
	if proposal.String() != t.Proposal {
		return Invitation{}, errors.New("proposal: write the hash in lower case")
	}
	expires, err := parseStamp("expires", t.Expires)
	if err != nil {
		return Invitation{}, err
	}
	card, err := t.Card.parse()
	if err != nil {
		return Invitation{}, fmt.Errorf("card: %w", err)
	}
	return Invitation{t.Charter, inviter, Card(card), proposal, expires, copied(t.Address)}, nil
}

// check holds an invitation against every rule but that of time.
func (i Invitation) check() error {
	if err := CheckName(i.Charter); err != nil {
		return fmt.Errorf("charter: %w", err)
	}
	if err := checkID(i.Inviter); err != nil {
		return fmt.Errorf("inviter: %w", err)
	}
	if err := Member(i.Card).check(); err != nil {
		return fmt.Errorf("card: %w", err)
	}
	if i.Inviter == i.Card.ID {
		return fmt.Errorf("%s invites itself", i.Card.Name)
	}
	if i.Proposal.IsZero() {
		return errors.New("the proposal is missing")
	}
	if err := checkStamp("expires", i.Expires); err != nil {
		return err
	}
	if len(i.Address) == 0 {
		return errors.New("no address of the inviter: give one the invited can dial")
	}
	return checkAddresses(i.Address)
}

// body renders the invitation.
func (i Invitation) body() []byte {
	var p page
	p.comment("An invitation for "+i.Card.Name+" to join the charter \""+i.Charter+"\".", "",
		"The inviter's node, at the addresses below, hands out the proposed charter: read it, compare",
		"its hash with the proposal, and sign it if you agree. It is in force when all have signed.")
	p.gap()
	p.text("format", invitationFormat)
	p.text("charter", i.Charter)
	p.text("inviter", i.Inviter.String())
	p.text("proposal", i.Proposal.String())
	p.text("expires", stamp(i.Expires))
	p.list("addresses", i.Address)
	p.gap()
	p.comment("Who is invited, as its own card says.")
	p.table("[card]")
	Member(i.Card).write(&p)
	p.gap()
	return p.bytes()
}
