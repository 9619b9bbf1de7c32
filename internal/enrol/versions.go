package enrol

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// versions are the charter in force and those that are to follow it.
type versions struct {
	config *Config
	self   keys.ID
	wake   chan struct{} // of capacity 1: something has come in

	mu        sync.Mutex
	charter   *keys.SignedCharter
	proposals map[keys.Hash]*proposal // that follow the charter in force
	settled   *proposal               // how the charter in force was agreed on; nil since the start
}

// name returns what the charter in force calls a member, or the short form of its id. v.mu is held.
func (v *versions) name(id keys.ID) string {
	if m, ok := v.charter.Member(id); ok {
		return m.Name
	}
	return id.Short()
}

// notify makes Run take another turn now.
func (v *versions) notify() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// isMember returns an error unless the caller is a member. v.mu is held.
func (v *versions) isMember(from keys.ID) error {
	if _, ok := v.charter.Member(from); !ok {
		return refusef(fault.CodeMember, "%s is not a member of charter %q, version %d",
			from.Short(), v.charter.Name, v.charter.Version)
	}
	return nil
}

// find returns an open proposal, or the one in force while it still goes round; nil if there is
// none. v.mu is held.
func (v *versions) find(h keys.Hash) *proposal {
	if p := v.proposals[h]; p != nil {
		return p
	}
	if v.settled != nil && v.settled.charter.Digest() == h {
		return v.settled
	}
	return nil
}

// mayOpen says whether a version can come into force after the charter here. v.mu is held.
func (v *versions) mayOpen(c *keys.SignedCharter) error {
	if err := c.Follows(v.charter); err != nil {
		return fmt.Errorf("%w; version %d is in force here", err, v.charter.Version)
	}
	if _, ok := c.Member(v.self); !ok {
		return fmt.Errorf("charter %q: %s is not a member in version %d: its node takes no part in it", c.Name,
			v.name(v.self), c.Version)
	}
	if !slices.ContainsFunc(v.charter.Members, func(m keys.Member) bool { return c.SignedBy(m.ID) }) {
		return fmt.Errorf("charter %q: no member has signed version %d with the hash %s: whoever proposes it signs first",
			c.Name, c.Version, c.Digest().Short())
	}
	return nil
}

// open begins to carry a version; its signatures come by accept. v.mu is held.
func (v *versions) open(c *keys.SignedCharter, path string, from keys.ID) *proposal {
	p := newProposal(c, path, from)
	v.proposals[c.Digest()] = p
	v.notify()
	return p
}

// drop carries a version no further. v.mu is held.
func (v *versions) drop(h keys.Hash) { delete(v.proposals, h) }

// settle puts a proposal into force and returns all that were open. v.mu is held.
func (v *versions) settle(p *proposal) map[keys.Hash]*proposal {
	were := v.proposals
	v.charter, v.settled, v.proposals = p.charter, p, make(map[keys.Hash]*proposal)
	return were
}

// accept adds those signatures that count to a proposal and returns who of them is new. A bad one
// is an error, and nothing is added then. v.mu is held.
func (v *versions) accept(p *proposal, signatures map[keys.ID][]byte) (news []keys.ID, err error) {
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
		v.notify()
	}
	return news, nil
}

// install opens a version that all have signed; adopt puts it into force. v.mu is held.
func (v *versions) install(c *keys.SignedCharter) error {
	if err := v.mayOpen(c); err != nil {
		return err
	}
	c.After(v.charter)
	if err := c.Complete(); err != nil {
		return err
	}
	p := v.proposals[c.Digest()]
	if p == nil {
		p = v.open(c, "", keys.ID{})
	}
	_, err := v.accept(p, c.Signatures)
	return err
}

// holdBack takes the owner's signature out of signatures that were found on the disk, or brought by
// others, if it stands on another proposal of this version already. v.mu is held.
func (v *versions) holdBack(p *proposal, signatures map[keys.ID][]byte) map[keys.ID][]byte {
	if signatures[v.self] == nil || p.charter.SignedBy(v.self) {
		return signatures
	}
	for _, other := range v.proposals {
		if other == p || !other.charter.SignedBy(v.self) {
			continue
		}
		v.config.Log.Warn(fmt.Sprintf("your signature on %s is held back: you have signed another version %d, %s, and two "+
			"of them cannot both come into force; delete that file first if the others have given it up",
			p.path, p.charter.Version, other.path))
		signatures = maps.Clone(signatures)
		delete(signatures, v.self)
		return signatures
	}
	return signatures
}

// counting returns the signatures that count of those on a text that another member brings. One
// that all have signed is in force, whatever the owner has signed besides. v.mu is held.
func (v *versions) counting(p *proposal, c *keys.SignedCharter) map[keys.ID][]byte {
	if c.Complete() == nil {
		return c.Signatures
	}
	return v.holdBack(p, c.Signatures)
}

// inOrder lists the proposals, the oldest draft first. v.mu is held.
func (v *versions) inOrder() []keys.Hash {
	var all []keys.Hash
	for h := range v.proposals {
		all = append(all, h)
	}
	sort.Slice(all, func(i, k int) bool {
		a, b := v.proposals[all[i]].charter.Created, v.proposals[all[k]].charter.Created
		return cmp.Or(a.Compare(b), bytes.Compare(all[i][:], all[k][:])) < 0
	})
	return all
}

// announce tells the owner of a proposal that waits for its signature, in the name of the first
// member that has signed it, whoever passed it on. v.mu is held.
func (v *versions) announce(p *proposal) {
	if len(p.charter.Signatures) == 0 || p.charter.SignedBy(v.self) {
		return
	}
	v.config.Log.Info(fmt.Sprintf("%s proposes charter version %d: %s; see it with: hanse charter show %s; sign it "+
		"with: hanse charter sign --key FILE.key %s",
		v.proposer(p), p.charter.Version, v.changes(p), p.path, p.path))
}

// proposer names the first member that has signed a version, or the one whose node brought it. v.mu is held.
func (v *versions) proposer(p *proposal) string {
	for _, m := range v.charter.Members {
		if p.charter.SignedBy(m.ID) {
			return m.Name
		}
	}
	return v.name(p.from)
}

// report tells the owner who has signed. v.mu is held.
func (v *versions) report(p *proposal, news []keys.ID) {
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
	v.config.Log.Info(fmt.Sprintf("charter version %d is signed by %s; %s", p.charter.Version, strings.Join(names, ", "),
		waits))
}

// changes says in one line what a proposal changes in the charter in force. v.mu is held.
func (v *versions) changes(p *proposal) string {
	lines := p.charter.Changes(v.charter)
	if len(lines) == 0 {
		return "changes nothing"
	}
	return strings.Join(lines, "; ")
}
