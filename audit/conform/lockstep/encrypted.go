package lockstep

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// maxResidues is how many ciphertexts may carry the same numbers, by their remainders.
const maxResidues = 4

// encryptedSum is the encrypted sum under way: its ciphertexts are added, the total's polynomials c1 told, the
// decryption shares added, and the total opens at the root, which records it with the number of the shares'
// operation.
type encryptedSum struct {
	rule    *rules.Rule // of the ciphertexts; nil when none is under way
	number  uint64      // of the operation of the ciphertexts
	size    uint64      // bytes of the ciphertexts
	told    uint64      // bytes of c1 so far
	same    bool        // the parties have compared what they were told of it
	shared  bool        // its shares are, or were, added
	addends int         // parties whose ciphertexts are in the total
	missing bool        // not all that should be
	roots   []int       // that all records so far fit

	encoding contract.Encoding
	words    uint64 // bytes of the opened numbers
	opened   uint64 // of these, so far
}

// next returns the rule of the operation that must come next; nil when the total must open first.
func (s *encryptedSum) next() *rules.Rule {
	switch {
	case s.shared:
		return nil
	case s.told < s.size/2:
		return s.rule.Told
	case !s.same && s.rule.Same != nil:
		return s.rule.Same
	}
	return s.rule.Shares
}

// beginEncrypted holds an operation that begins against the encrypted sum under way.
func (c *Conformer) beginEncrypted(r *transcript.Record, rule *rules.Rule) {
	s := &c.encrypted
	if s.rule != nil && s.next() != rule {
		c.unopened(fmt.Sprintf("record %d: operation %d (%s) begins", r.Number, r.Operation, r.Kind))
	}
	if fault := c.encryptedSize(r, rule); fault != "" {
		c.current.off = true
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s): %s", r.Number, r.Operation, r.Kind, fault)
		return
	}
	switch {
	case rule.Shares != nil:
		*s = encryptedSum{rule: rule, number: r.Operation, size: r.Size}
	case rule.Opens == nil:
	case rule == rule.Opens.Told:
		s.told += r.Size
		c.sameRoot()
	default:
		s.shared = true
		c.sameRoot()
	}
}

// unopened notes that something comes where the sum under way was to go on, which is given up.
func (c *Conformer) unopened(what string) {
	s := &c.encrypted
	wanted := "its total"
	if next := s.next(); next != nil {
		wanted = next.Kind
	}
	c.found.Fail(finding.CheckOperations, "%s while the encrypted sum of operation %d (%s) of session "+
		"%d is not open: %s was next", what, s.number, s.rule.Kind, c.session, wanted)
	*s = encryptedSum{}
}

// encryptedSize says what of the size of an operation's vector is wrong, as part of an encrypted sum or of
// the making of the key.
func (c *Conformer) encryptedSize(r *transcript.Record, rule *rules.Rule) string {
	s := &c.encrypted
	switch {
	case (rule.Kind == he.KindKeyShare && rule.Class == contract.ClassHE ||
		rule.Kind == he.KindKey) && r.Size != he.PolySize:
		return fmt.Sprintf("a vector of %d bytes, want a polynomial of %d", r.Size, he.PolySize)
	case rule.Shares != nil && (r.Size == 0 || r.Size%he.CiphertextSize != 0):
		return fmt.Sprintf("a vector of %d bytes, want ciphertexts of %d", r.Size, he.CiphertextSize)
	case rule.Shares != nil && !c.keyed:
		return "ciphertexts before the parties have made a key and compared it"
	case rule.Opens == nil:
		return ""
	case s.rule != rule.Opens:
		return "it belongs to no encrypted sum"
	case rule == s.rule.Told && (r.Size == 0 || r.Size%he.PolySize != 0 || r.Size > s.size/2-s.told):
		return fmt.Sprintf("%d bytes of c1 of ciphertexts of %d bytes, of which %d were told before", r.Size, s.size, s.told)
	case rule == s.rule.Shares && r.Size != s.size/2:
		return fmt.Sprintf("shares of %d bytes for ciphertexts of %d, want half of it", r.Size, s.size)
	}
	return ""
}

// sameRoot leaves of an operation's scripts those to a root of the sum that it is part of.
func (c *Conformer) sameRoot() {
	o := &c.current
	o.live = slices.DeleteFunc(o.live, func(p progress) bool { return !slices.Contains(c.encrypted.roots, p.Root) })
}

// endEncrypted takes in how a part of an encrypted sum, or of the making of the key, ended.
func (c *Conformer) endEncrypted() {
	o, s := &c.current, &c.encrypted
	whole := !o.off && o.whole()
	switch {
	case o.rule.Kind == he.KindKey:
		c.keyTold = c.keyTold || whole
	case o.rule.Kind == contract.KindShared:
		c.keyed = c.keyed || c.keyTold && whole
		s.same = s.same || s.rule != nil && s.told == s.size/2 && whole
	case s.rule == nil:
	case o.rule == s.rule:
		s.begun(o, whole, c.self)
	case o.rule == s.rule.Told:
		s.narrow(o, whole)
	case o.rule == s.rule.Shares:
		s.narrow(o, whole)
		if !slices.Contains(s.roots, c.self) {
			*s = encryptedSum{} // it opens elsewhere
		}
	}
}

// begun notes whose ciphertexts are in the total.
func (s *encryptedSum) begun(o *operation, whole bool, self int) {
	for _, p := range o.live {
		if whole && p.whole {
			s.roots, s.addends = append(s.roots, p.Root), p.Parties
		}
	}
	if whole {
		return
	}
	s.missing = true
	for _, p := range o.live { // a root may go on with what has come
		s.roots = append(s.roots, p.Root)
		if p.Root == self {
			s.addends = p.heard + 1
		}
	}
}

// narrow leaves of the roots those that a part of the sum went to or came from.
func (s *encryptedSum) narrow(o *operation, whole bool) {
	s.roots = slices.DeleteFunc(s.roots, func(root int) bool {
		return !slices.ContainsFunc(o.live, func(p progress) bool { return p.Root == root && (p.whole || !whole) })
	})
}

// encryptedTotal checks a chunk of a total and says what is wrong with it.
func (c *Conformer) encryptedTotal(r *transcript.Record) string {
	s := &c.encrypted
	if s.opened == 0 {
		s.encoding, s.words = r.Encoding, r.Size
	}
	numbers := r.Size / uint64(max(1, r.Encoding.WordSize()))
	want := min(contract.DefaultChunk, s.words-s.opened)
	switch {
	case r.Class != contract.ClassOpening || !isRing(r.Encoding) || r.Encoding != s.encoding:
		return fmt.Sprintf("it is %s %s, want an opening of words of one ring", r.Class, r.Encoding)
	case r.Size != s.words || uint64(r.Chunk) != s.opened/contract.DefaultChunk || r.Bytes != want || want == 0 ||
		want%uint64(r.Encoding.WordSize()) != 0:
		return fmt.Sprintf("chunk %d of %d bytes of a total of %d, want chunk %d of %d of %d", r.Chunk, r.Bytes,
			r.Size, s.opened/contract.DefaultChunk, want, s.words)
	case !holds(s.size, numbers):
		return fmt.Sprintf("a total of %d numbers from ciphertexts of %d bytes", numbers, s.size)
	}
	if s.opened == 0 {
		if s.rule.Opened += int64(numbers); s.rule.Opened > s.rule.Numbers {
			return fmt.Sprintf("%d numbers opened in session %d, %d are agreed", s.rule.Opened, c.session, s.rule.Numbers)
		}
		c.contributors(r, s.rule, s.addends, s.missing)
	}
	if s.opened += r.Bytes; s.opened == s.words {
		*s = encryptedSum{}
	}
	return ""
}

// isRing reports whether an encoding is words of a ring.
func isRing(e contract.Encoding) bool {
	return e == contract.Turns16 || e == contract.Turns32 || e == contract.Fixed64
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
