package audit

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// maxResidues is how many ciphertexts may carry the same numbers, by their remainders.
const maxResidues = 4

// sealedSum is the encrypted sum under way: its ciphertexts are added, the total's polynomials c1 told, the
// decryption shares added, and the total opens at the root, which records it with the number of the shares'
// operation.
type sealedSum struct {
	rule    *rule  // of the ciphertexts; nil when none is under way
	number  uint64 // of the operation of the ciphertexts
	size    uint64 // bytes of the ciphertexts
	told    uint64 // bytes of c1 so far
	same    bool   // the parties have compared what they were told of it
	shared  bool   // its shares are, or were, added
	addends int    // parties whose ciphertexts are in the total
	missing bool   // not all that should be
	roots   []int  // that all records so far fit

	encoding protocol.Encoding
	words    uint64 // bytes of the opened numbers
	opened   uint64 // of these, so far
}

// sealedKinds links the kinds of frames that an encrypted sum takes.
func (s *rules) sealedKinds() {
	for _, r := range s.list {
		if r.class != protocol.ClassHE || r.collective != protocol.CollectiveSum {
			continue
		}
		told, shares := s.byKind[r.kind+he.SuffixC1], s.byKind[r.kind+he.SuffixShare]
		if told == nil || told.collective != protocol.CollectiveBroadcast || shares == nil || shares.class != protocol.ClassHE || shares.collective != protocol.CollectiveSum {
			continue
		}
		r.told, r.shares, told.opens, shares.opens = told, shares, r, r
		r.same = s.byKind[protocol.KindShared]
	}
}

// sealed reports whether the contract has encrypted sums.
func (s *rules) sealed() bool {
	return slices.ContainsFunc(s.list, func(r *rule) bool { return r.shares != nil })
}

// next returns the rule of the operation that must come next; nil when the total must open first.
func (s *sealedSum) next() *rule {
	switch {
	case s.shared:
		return nil
	case s.told < s.size/2:
		return s.rule.told
	case !s.same && s.rule.same != nil:
		return s.rule.same
	}
	return s.rule.shares
}

// seal holds an operation that begins against the encrypted sum under way.
func (c *conformer) seal(r *transcript.Record, rule *rule) {
	s := &c.sealed
	if s.rule != nil && s.next() != rule {
		c.unopened(fmt.Sprintf("record %d: operation %d (%s) begins", r.Number, r.Operation, r.Kind))
	}
	if fault := c.sealedSize(r, rule); fault != "" {
		c.current.off = true
		c.found.fail(checkOperations, "record %d: operation %d (%s): %s", r.Number, r.Operation, r.Kind, fault)
		return
	}
	switch {
	case rule.shares != nil:
		*s = sealedSum{rule: rule, number: r.Operation, size: r.Size}
	case rule.opens == nil:
	case rule == rule.opens.told:
		s.told += r.Size
		c.sameRoot()
	default:
		s.shared = true
		c.sameRoot()
	}
}

// unopened notes that something comes where the sum under way was to go on, which is given up.
func (c *conformer) unopened(what string) {
	s := &c.sealed
	wanted := "its total"
	if next := s.next(); next != nil {
		wanted = next.kind
	}
	c.found.fail(checkOperations, "%s while the encrypted sum of operation %d (%s) of session %d is not open: %s was next", what, s.number, s.rule.kind, c.session, wanted)
	*s = sealedSum{}
}

// sealedSize says what of the size of an operation's vector is wrong, as part of an encrypted sum or of
// the making of the key.
func (c *conformer) sealedSize(r *transcript.Record, rule *rule) string {
	s := &c.sealed
	switch {
	case (rule.kind == he.KindKeyShare && rule.class == protocol.ClassHE || rule.kind == he.KindKey) && r.Size != he.PolySize:
		return fmt.Sprintf("a vector of %d bytes, want a polynomial of %d", r.Size, he.PolySize)
	case rule.shares != nil && (r.Size == 0 || r.Size%he.CiphertextSize != 0):
		return fmt.Sprintf("a vector of %d bytes, want ciphertexts of %d", r.Size, he.CiphertextSize)
	case rule.shares != nil && !c.keyed:
		return "ciphertexts before the parties have made a key and compared it"
	case rule.opens == nil:
		return ""
	case s.rule != rule.opens:
		return "it belongs to no encrypted sum"
	case rule == s.rule.told && (r.Size == 0 || r.Size%he.PolySize != 0 || r.Size > s.size/2-s.told):
		return fmt.Sprintf("%d bytes of c1 of ciphertexts of %d bytes, of which %d were told before", r.Size, s.size, s.told)
	case rule == s.rule.shares && r.Size != s.size/2:
		return fmt.Sprintf("shares of %d bytes for ciphertexts of %d, want half of it", r.Size, s.size)
	}
	return ""
}

// sameRoot leaves of an operation's scripts those to a root of the sum that it is part of.
func (c *conformer) sameRoot() {
	o := &c.current
	o.live = slices.DeleteFunc(o.live, func(p progress) bool { return !slices.Contains(c.sealed.roots, p.root) })
}

// sealedEnd takes in how a part of an encrypted sum, or of the making of the key, ended.
func (c *conformer) sealedEnd() {
	o, s := &c.current, &c.sealed
	whole := !o.off && o.whole()
	switch {
	case o.rule.kind == he.KindKey:
		c.keyTold = c.keyTold || whole
	case o.rule.kind == protocol.KindShared:
		c.keyed = c.keyed || c.keyTold && whole
		s.same = s.same || s.rule != nil && s.told == s.size/2 && whole
	case s.rule == nil:
	case o.rule == s.rule:
		s.begun(o, whole, c.self)
	case o.rule == s.rule.told:
		s.narrow(o, whole)
	case o.rule == s.rule.shares:
		s.narrow(o, whole)
		if !slices.Contains(s.roots, c.self) {
			*s = sealedSum{} // it opens elsewhere
		}
	}
}

// begun notes whose ciphertexts are in the total.
func (s *sealedSum) begun(o *operation, whole bool, self int) {
	for _, p := range o.live {
		if whole && p.whole {
			s.roots, s.addends = append(s.roots, p.root), p.parties
		}
	}
	if whole {
		return
	}
	s.missing = true
	for _, p := range o.live { // a root may go on with what has come
		s.roots = append(s.roots, p.root)
		if p.root == self {
			s.addends = p.heard + 1
		}
	}
}

// narrow leaves of the roots those that a part of the sum went to or came from.
func (s *sealedSum) narrow(o *operation, whole bool) {
	s.roots = slices.DeleteFunc(s.roots, func(root int) bool {
		return !slices.ContainsFunc(o.live, func(p progress) bool { return p.root == root && (p.whole || !whole) })
	})
}

// unseal takes a chunk of what an encrypted sum opened to.
func (c *conformer) unseal(r *transcript.Record, rule *rule) {
	s := &c.sealed
	shares := c.current.rule
	c.finish()
	fault := ""
	switch {
	case s.rule == nil || s.rule != rule || shares != rule.shares || r.Operation != c.number:
		fault = "a total without the shares that decrypt it"
	case !slices.Contains(s.roots, c.self):
		fault = "a total at another party than its root"
	default:
		fault = c.unsealed(r)
	}
	if fault != "" {
		c.found.fail(checkOperations, "record %d: operation %d (%s): %s", r.Number, r.Operation, r.Kind, fault)
		*s = sealedSum{}
	}
}

// unsealed checks a chunk of a total and says what is wrong with it.
func (c *conformer) unsealed(r *transcript.Record) string {
	s := &c.sealed
	if s.opened == 0 {
		s.encoding, s.words = r.Encoding, r.Size
	}
	numbers := r.Size / uint64(max(1, r.Encoding.WordSize()))
	want := min(protocol.DefaultChunk, s.words-s.opened)
	switch {
	case r.Class != protocol.ClassOpening || !isRing(r.Encoding) || r.Encoding != s.encoding:
		return fmt.Sprintf("it is %s %s, want an opening of words of one ring", r.Class, r.Encoding)
	case r.Size != s.words || uint64(r.Chunk) != s.opened/protocol.DefaultChunk || r.Bytes != want || want == 0 || want%uint64(r.Encoding.WordSize()) != 0:
		return fmt.Sprintf("chunk %d of %d bytes of a total of %d, want chunk %d of %d of %d", r.Chunk, r.Bytes, r.Size, s.opened/protocol.DefaultChunk, want, s.words)
	case !holds(s.size, numbers):
		return fmt.Sprintf("a total of %d numbers from ciphertexts of %d bytes", numbers, s.size)
	}
	if s.opened == 0 {
		if s.rule.opened += int64(numbers); s.rule.opened > s.rule.numbers {
			return fmt.Sprintf("%d numbers opened in session %d, %d are agreed", s.rule.opened, c.session, s.rule.numbers)
		}
		c.contributors(r, s.rule, s.addends, s.missing)
	}
	if s.opened += r.Bytes; s.opened == s.words {
		*s = sealedSum{}
	}
	return ""
}

// isRing reports whether an encoding is words of a ring.
func isRing(e protocol.Encoding) bool {
	return e == protocol.Turns16 || e == protocol.Turns32 || e == protocol.Fixed64
}

// holds reports whether so many numbers fill ciphertexts of so many bytes.
func holds(size, numbers uint64) bool {
	groups := (numbers + he.Degree - 1) / he.Degree
	for residues := uint64(1); residues <= maxResidues; residues++ {
		if groups*residues*he.CiphertextSize == size {
			return true
		}
	}
	return false
}
