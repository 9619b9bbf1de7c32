package enrol

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Where invitations stand in a node's folder.
const (
	invitationsDir = "invitations"
	invitationFile = "invitation.toml"
	proposalCopy   = "charter.toml" // beside the invitation, to be sent along by mail
	maxInvitation  = 64 << 10       // bytes
)

// Guests says who is invited by whom.
type Guests struct {
	Key       *keys.PrivateKey    // of the inviter
	Charter   *keys.SignedCharter // in force
	Cards     []keys.Card         // of the newcomers
	Roles     map[string][]string // by name: what newcomers may be in jobs over clients; see keys.Charter
	Addresses []string            // of the inviter's node; nil for those in the charter
	Expires   time.Time
}

// Issued is what Invite has put into the node's folder.
type Issued struct {
	Proposal *keys.SignedCharter
	File     string   // the proposal's, where the others' signatures come in
	Folders  []string // one for each card: the invitation and a copy of the proposal
}

// Invite drafts the next version of the charter with the newcomers as members, signs it, and writes
// it and an invitation for each newcomer into the node's folder. A proposal that has been made for
// the same cards before is used again, with new invitations.
func Invite(dir string, g Guests) (*Issued, error) {
	inviter, err := g.check()
	if err != nil {
		return nil, err
	}
	if g.Addresses == nil {
		g.Addresses = inviter.Addresses
	}
	proposal, err := g.propose(dir)
	if err != nil {
		return nil, err
	}
	issued := &Issued{Proposal: proposal}
	for _, card := range g.Cards {
		folder, err := g.invite(dir, proposal, card)
		if err != nil {
			return nil, err
		}
		issued.Folders = append(issued.Folders, folder)
	}
	issued.File, err = Propose(dir, proposal)
	return issued, err
}

// check returns the inviter as a member.
func (g Guests) check() (keys.Member, error) {
	if err := g.Charter.Complete(); err != nil {
		return keys.Member{}, err
	}
	inviter, ok := g.Charter.Member(g.Key.ID())
	if !ok {
		return keys.Member{}, fmt.Errorf("charter %q: the key %s is not that of a member, and only members invite",
			g.Charter.Name, g.Key.ID().Short())
	}
	if len(g.Cards) == 0 {
		return keys.Member{}, errors.New("nobody is invited: give the newcomer's card")
	}
	for _, card := range g.Cards {
		if m, ok := g.Charter.Member(card.ID); ok {
			return keys.Member{}, fmt.Errorf("charter %q: %s is a member already", g.Charter.Name, m.Name)
		}
		if r, ok := g.Charter.RevokedID(card.ID); ok {
			return keys.Member{}, fmt.Errorf("charter %q: the key of %s was revoked: %s; the newcomer needs a new one",
				g.Charter.Name, card.Name, r.Reason)
		}
	}
	if len(g.Addresses) == 0 && len(inviter.Addresses) == 0 {
		var others []string
		for _, m := range g.Charter.Members {
			if len(m.Addresses) > 0 {
				others = append(others, m.Name)
			}
		}
		instead := ""
		if len(others) > 0 {
			instead = ", or have a member invite that can be: " + strings.Join(others, ", ")
		}
		return keys.Member{}, fmt.Errorf("charter %q gives no address of %s, and newcomers do not come through relays: say "+
			"where its node can be dialled%s", g.Charter.Name, inviter.Name, instead)
	}
	return inviter, nil
}

// propose returns the next version, drafted and signed now or before.
func (g Guests) propose(dir string) (*keys.SignedCharter, error) {
	draft := g.Charter.Next()
	draft.Created = time.Now()
	for _, card := range g.Cards {
		draft.Admit(card)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Roles)) {
		if err := draft.SetRoles(name, g.Roles[name]...); err != nil {
			return nil, err
		}
	}
	c, err := keys.NewCharter(draft)
	if err != nil {
		return nil, err
	}
	before, path, err := g.signedBefore(dir)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return c, c.Sign(g.Key)
	}
	if len(c.Changes(before)) > 0 {
		return nil, fmt.Errorf("charter %q: another version %d carries this member's signature, %s: let it come into "+
			"force first, or delete it; several newcomers can be invited at once",
			c.Name, c.Version, path)
	}
	return before, nil
}

// signedBefore returns the next version that the inviter has signed already, nil if there is none.
func (g Guests) signedBefore(dir string) (*keys.SignedCharter, string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, proposalsDir, "*.toml"))
	if err != nil {
		return nil, "", err
	}
	for _, path := range paths {
		c, err := readCharter(path)
		if err == nil && c.Follows(g.Charter) == nil && c.SignedBy(g.Key.ID()) {
			return c, path, nil
		}
	}
	return nil, "", nil
}

// invite writes the invitation for one card.
func (g Guests) invite(dir string, proposal *keys.SignedCharter, card keys.Card) (folder string, err error) {
	invitation := keys.Invitation{
		Charter: proposal.Name, Inviter: g.Key.ID(), Card: card, Proposal: proposal.Digest(),
		Expires: g.Expires.UTC().Truncate(time.Second), Address: g.Addresses,
	}
	doc, err := invitation.Sign(g.Key)
	if err != nil {
		return "", err
	}
	folder = guestDir(dir, card.ID)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return folder, errors.Join(
		textfile.Replace(filepath.Join(folder, proposalCopy), proposal.Text()),
		textfile.Replace(filepath.Join(folder, invitationFile), doc.Text()))
}

// guestDir is the folder of somebody's invitation.
func guestDir(dir string, id keys.ID) string { return filepath.Join(dir, invitationsDir, id.Short()) }

// dropInvitations removes the invitations of those who have become members. f.mu is held.
func (f *files) dropInvitations() {
	for _, m := range f.charter.Members {
		os.RemoveAll(guestDir(f.config.Dir, m.ID)) // one that stays invites nobody who is not in anyway
	}
}

// Invited reports whether somebody may use the join protocol: it holds an invitation from this node that has not
// expired, or has accepted it in time and waits for the other signatures; or, without an invitation, it is a member's
// new key in a version that this node's owner has signed.
func (e *Enrolment) Invited(id keys.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _, err := e.invitation(id)
	return err == nil
}

// invitation returns the invitation of an id and its text, which is empty where the owner's signature on a version that
// gives a member the id as its new key stands for one: who comes in anew is invited, for as long as its invitation
// says. e.mu is held.
func (e *Enrolment) invitation(id keys.ID) (keys.Invitation, []byte, error) {
	if r, ok := e.charter.RevokedID(id); ok {
		return keys.Invitation{}, nil, refusef(fault.CodeInvitation, "the key of %s was revoked: %s", r.Name, r.Reason)
	}
	text, err := textfile.Read(filepath.Join(guestDir(e.config.Dir, id), invitationFile), maxInvitation)
	if errors.Is(err, fs.ErrNotExist) {
		for _, h := range slices.Backward(e.inOrder()) { // the latest, at each call
			c := e.proposals[h].charter
			if m, ok := c.Member(id); ok && replaces(m, e.charter) && c.SignedBy(e.self) {
				return keys.Invitation{Charter: e.charter.Name, Inviter: e.self, Card: keys.Card(m), Proposal: h}, nil, nil
			}
		}
	}
	if err != nil {
		return keys.Invitation{}, nil, refusef(fault.CodeInvitation, "there is no invitation for %s", id.Short())
	}
	i, _, err := keys.ParseInvitation(text, time.Time{}) // expiry is weighed below
	switch {
	case err != nil:
		return keys.Invitation{}, nil, refuse(fault.CodeInvitation, err)
	case i.Card.ID != id || i.Inviter != e.self || i.Charter != e.charter.Name:
		return keys.Invitation{}, nil, refusef(fault.CodeInvitation, "there is no invitation for %s", id.Short())
	case time.Now().Before(i.Expires):
		return i, text, nil
	}
	if p := e.find(i.Proposal); p != nil && p.charter.SignedBy(id) {
		return i, text, nil
	}
	return keys.Invitation{}, nil, refusef(fault.CodeInvitation,
		"the invitation for %s expired at %s: ask %s for a new one", i.Card.Name, wording.Time(i.Expires),
		e.name(e.self))
}
