package enrol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// proposal is a version of the charter on its way round.
type proposal struct {
	charter *keys.SignedCharter          // with the signatures that count
	path    string                       // its file; "" for none
	from    keys.ID                      // the member whose node brought it; zero for none
	told    map[keys.ID]map[keys.ID]bool // by member: the signers its node knows of; no entry when it has not the text
	refused map[keys.ID]time.Time        // by member: when its node last did not want what it was told
}

// newProposal begins to carry a version, with no signature yet.
func newProposal(c *keys.SignedCharter, path string, from keys.ID) *proposal {
	return &proposal{
		charter: c.Unsigned(), path: path, from: from,
		told: make(map[keys.ID]map[keys.ID]bool), refused: make(map[keys.ID]time.Time),
	}
}

// noteSent notes that a member's node has the text and the signatures of some.
func (p *proposal) noteSent(to keys.ID, signers []keys.ID) {
	if p.told[to] == nil {
		p.told[to] = make(map[keys.ID]bool)
	}
	for _, id := range signers {
		p.told[to][id] = true
	}
	delete(p.refused, to)
}

// untold lists the signers that a member's node does not know of, in the order of the ids.
func (p *proposal) untold(to keys.ID) []keys.ID {
	var ids []keys.ID
	for _, id := range signers(p.charter) {
		if !p.told[to][id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// signers lists who has signed, in the order of the ids.
func signers(c *keys.SignedCharter) []keys.ID {
	return slices.SortedFunc(maps.Keys(c.Signatures), keys.ID.Compare)
}

// find returns an open proposal, or the one in force while it still goes round; nil if there is
// none. e.mu is held.
func (e *Enrolment) find(h keys.Hash) *proposal {
	if p := e.proposals[h]; p != nil {
		return p
	}
	if e.settled != nil && e.settled.charter.Digest() == h {
		return e.settled
	}
	return nil
}

// mayOpen says whether a version can come into force after the charter here. e.mu is held.
func (e *Enrolment) mayOpen(c *keys.SignedCharter) error {
	if err := c.Follows(e.charter); err != nil {
		return fmt.Errorf("%w; version %d is in force here", err, e.charter.Version)
	}
	if _, ok := c.Member(e.self); !ok {
		return fmt.Errorf("charter %q: %s is not a member in version %d: its node takes no part in it", c.Name,
			e.name(e.self), c.Version)
	}
	if !slices.ContainsFunc(e.charter.Members, func(m keys.Member) bool { return c.SignedBy(m.ID) }) {
		return fmt.Errorf("charter %q: no member has signed version %d with the hash %s: whoever proposes it signs first",
			c.Name, c.Version, c.Digest().Short())
	}
	return nil
}

// open begins to carry a version; its signatures come by accept. e.mu is held.
func (e *Enrolment) open(c *keys.SignedCharter, path string, from keys.ID) *proposal {
	p := newProposal(c, path, from)
	e.proposals[c.Digest()] = p
	e.notify()
	return p
}

// accept adds those signatures that count to a proposal and returns who of them is new. A bad one
// is an error, and nothing is added then. e.mu is held.
func (e *Enrolment) accept(p *proposal, signatures map[keys.ID][]byte) (news []keys.ID, err error) {
	before := maps.Clone(p.charter.Signatures)
	for _, id := range slices.SortedFunc(maps.Keys(signatures), keys.ID.Compare) {
		if p.charter.SignedBy(id) {
			continue
		}
		if err := p.charter.AddSignature(id, signatures[id]); err != nil {
			p.charter.Signatures = before
			return nil, err
		}
		news = append(news, id)
	}
	if len(news) > 0 {
		e.notify()
	}
	return news, nil
}

// holdBack takes the owner's signature out of signatures that were found on the disk, or brought by
// others, if it stands on another proposal of this version already. e.mu is held.
func (e *Enrolment) holdBack(p *proposal, signatures map[keys.ID][]byte) map[keys.ID][]byte {
	if signatures[e.self] == nil || p.charter.SignedBy(e.self) {
		return signatures
	}
	for _, other := range e.proposals {
		if other == p || !other.charter.SignedBy(e.self) {
			continue
		}
		e.config.Log.Warn(fmt.Sprintf("your signature on %s is held back: you have signed another version %d, %s, and two "+
			"of them cannot both come into force; delete that file first if the others have given it up",
			p.path, p.charter.Version, other.path))
		signatures = maps.Clone(signatures)
		delete(signatures, e.self)
		return signatures
	}
	return signatures
}

// announce tells the owner of a proposal that waits for its signature, in the name of the first
// member that has signed it, whoever passed it on. e.mu is held.
func (e *Enrolment) announce(p *proposal) {
	if len(p.charter.Signatures) == 0 || p.charter.SignedBy(e.self) {
		return
	}
	e.config.Log.Info(fmt.Sprintf("%s proposes charter version %d: %s; see it with: hanse charter show %s; sign it "+
		"with: hanse charter sign --key FILE.key %s",
		e.proposer(p), p.charter.Version, e.changes(p), p.path, p.path))
}

// proposer names the first member that has signed a version, or the one whose node brought it. e.mu is held.
func (e *Enrolment) proposer(p *proposal) string {
	for _, m := range e.charter.Members {
		if p.charter.SignedBy(m.ID) {
			return m.Name
		}
	}
	return e.name(p.from)
}

// report tells the owner who has signed. e.mu is held.
func (e *Enrolment) report(p *proposal, news []keys.ID) {
	names := make([]string, len(news))
	for i, id := range news {
		m, _ := p.charter.Member(id)
		names[i] = m.Name
	}
	waits := "all have"
	if missing := missingNames(p.charter); len(missing) > 0 {
		waits = "missing: " + strings.Join(missing, ", ")
		if p.charter.Complete() == nil {
			waits = "they are enough to revoke a member, without " + strings.Join(missing, ", ")
		}
	}
	e.config.Log.Info(fmt.Sprintf("charter version %d is signed by %s; %s", p.charter.Version, strings.Join(names, ", "),
		waits))
}

// missingNames lists those who have not signed, in the order of the charter.
func missingNames(c *keys.SignedCharter) []string {
	var names []string
	for _, m := range c.Members {
		if !c.SignedBy(m.ID) {
			names = append(names, m.Name)
		}
	}
	return names
}

// changes says in one line what a proposal changes in the charter in force. e.mu is held.
func (e *Enrolment) changes(p *proposal) string {
	lines := p.charter.Changes(e.charter)
	if len(lines) == 0 {
		return "changes nothing"
	}
	return strings.Join(lines, "; ")
}
