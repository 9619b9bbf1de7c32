// Package rules lays a contract out for one party: what it says of each kind of message, and how much of that the party
// has used.
package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// Rule is all that a contract says of one kind of message, for one party, and what the party did.
type Rule struct {
	Kind       string
	Stage      int64
	Collective string
	Class      contract.Class
	Encoding   contract.Encoding
	Scripts    []Script
	Second     bool  // sums along the second tree of the published protocol
	MayPad     bool  // masked sums to this party that the contract does not open: the total may be under a pad
	MustPad    bool  // of a sealed job: it must
	Told       *Rule // of encrypted sums: the broadcasts of c1
	Same       *Rule // of encrypted sums: the comparisons of what was broadcast
	Shares     *Rule // of encrypted sums: the sums of decryption shares
	Opens      *Rule // of these two: the sum that they open
	Allowance        // of all operations together

	Numbers int64 // that sums to this party have in one session, by the contract's shapes

	Opened  int64       // numbers that encrypted sums opened to
	Egress  []*spending // by recipient; nil where nothing may be sent
	Ingress []*spending // by sender, in jobs over clients; nil where nothing may come
	Learnt  Learnt      // values that came to this party
}

// Allowance is how much the contract allows in one session, and what of it was used.
type Allowance struct {
	Count int64 // operations in one session, at most
	Bytes int64 // of their vectors in one session, at most
	Used  int64 // operations in the session under way
	Spent int64 // bytes of their vectors
}

func (a *Allowance) extend(more Allowance) { a.Count, a.Bytes = a.Count+more.Count, a.Bytes+more.Bytes }

// begin starts the count of a session.
func (a *Allowance) begin() { a.Used, a.Spent = 0, 0 }

// addScripts adds scripts; direct messages over one link have one together.
func (r *Rule) addScripts(scripts []Script) {
	for _, s := range scripts {
		if s.link != nil {
			if known := r.LinkOf(s.Steps[0].Event, s.Steps[0].Peer); known != nil {
				known.extend(*s.link)
				continue
			}
		}
		r.Scripts = append(r.Scripts, s)
	}
}

// LinkOf returns what may pass of a kind of direct message to or from a peer; nil when nothing may.
func (r *Rule) LinkOf(event transcript.Type, peer int) *Allowance {
	for i := range r.Scripts {
		if s := &r.Scripts[i]; s.link != nil && s.Steps[0].Event == event && s.Steps[0].Peer == peer {
			return s.link
		}
	}
	return nil
}

// Rules are the rules of all kinds of a contract, for one party.
type Rules struct {
	list   []*Rule // in the contract's order
	ByKind map[string]*Rule
	last   *Rule // found last: most records have the kind of the one before
}

// newRules lays a contract out for one party.
func New(c *contract.Contract, self int) (*Rules, error) {
	all, opens := &Rules{ByKind: make(map[string]*Rule)}, OpenTo(c, self)
	for i := range c.Operations {
		o := &c.Operations[i]
		scripts, err := scriptsOf(c, o, self, opens)
		if err != nil {
			return nil, fmt.Errorf("contract: %s: %w", o.Kind, err)
		}
		r := all.add(c, o)
		r.addScripts(scripts)
		r.Allowance.extend(Allowance{Count: o.Count, Bytes: o.Bytes})
		r.Second = r.Second || o.Tree == 2
		r.MayPad = r.MayPad || o.Root == c.Parties[self].Name && MayStayHidden(o, opens)
		r.MustPad = r.MayPad && c.Job.Privacy == keys.PrivacySealed
		if o.Root == c.Parties[self].Name {
			r.Numbers = addNumbers(r.Numbers, o.Shape)
		}
	}
	all.linkEncrypted()
	lines, err := c.Egress(self)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	for _, e := range lines {
		all.ByKind[e.Kind].Egress[e.To] = &spending{Budget: e}
	}
	return all, nil
}

// Chunked reports whether the kind's vectors travel in chunks.
func (r *Rule) Chunked() bool {
	return r.Collective == contract.CollectiveSum || r.Collective == contract.CollectiveDirect
}

// Exchanged reports whether every party sends one message to every other that takes part.
func (r *Rule) Exchanged() bool {
	return r.Collective == contract.CollectiveExchange || r.Collective == contract.CollectivePairs
}

// Compares reports whether the parties compare what was broadcast, so that all must send the same.
func (r *Rule) Compares() bool { return r.Kind == contract.KindShared || r.Kind == contract.KindDone }

// AnyTime reports whether the kind's operations come between those of any stage.
func (r *Rule) AnyTime() bool { return contract.AtAnyTime(r.Kind) }

// Chunk returns the bytes of such a chunk, the last of a vector excepted.
func (r *Rule) Chunk() uint64 { return uint64(r.Encoding.Chunk(contract.DefaultChunk)) }

// addNumbers adds the numbers of a shape to a count, as far as an int64 can.
func addNumbers(count int64, shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if d > 0 && n > math.MaxInt64/d {
			return math.MaxInt64
		}
		n *= d
	}
	return count + min(n, math.MaxInt64-count)
}

// add returns the rule of an operation's kind.
func (s *Rules) add(c *contract.Contract, o *contract.Operation) *Rule {
	if r, ok := s.ByKind[o.Kind]; ok {
		return r
	}
	encoding, _ := contract.ParseEncoding(o.Encoding) // checked with the contract
	r := &Rule{Kind: o.Kind, Stage: o.Stage, Collective: o.Collective, Class: c.ClassOf(o.Kind), Encoding: encoding,
		Egress: make([]*spending, len(c.Parties))}
	s.ByKind[o.Kind] = r
	s.list = append(s.list, r)
	return r
}

// of returns the rule of a kind, nil when the contract has none.
func (s *Rules) Of(kind string) *Rule {
	if s.last == nil || s.last.Kind != kind {
		r, ok := s.ByKind[kind]
		if !ok {
			return nil
		}
		s.last = r
	}
	return s.last
}

// Masked reports whether the contract has masked sums.
func (s *Rules) Masked() bool {
	for _, r := range s.list {
		if r.Class == contract.ClassMasked {
			return true
		}
	}
	return false
}

// Trees reports whether the contract has the paired sums of the published protocol.
func (s *Rules) Trees() bool {
	for _, r := range s.list {
		if r.Second {
			return true
		}
	}
	return false
}

// Begin starts the count of a session.
func (s *Rules) Begin() {
	for _, r := range s.list {
		// Starts the count of a session.
		r.Opened = 0
		r.Allowance.begin()
		for i := range r.Scripts {
			if link := r.Scripts[i].link; link != nil {
				link.begin()
			}
		}
		for _, e := range slices.Concat(r.Egress, r.Ingress) {
			if e != nil {
				e.Frames, e.Bytes = 0, 0
			}
		}
		l := &r.Learnt
		l.session, l.sessionTold = 0, 0
	}
}

// Misfit says what is wrong with a frame that is a message by itself.
func Misfit(r *transcript.Record, rule *Rule) string {
	if r.Class != rule.Class || r.Encoding != rule.Encoding || r.Chunk != 0 || r.Bytes != r.Size ||
		r.Size > uint64(rule.Bytes) {
		return fmt.Sprintf("a frame of %d bytes, %s %s", r.Bytes, r.Class, r.Encoding)
	}
	return ""
}

// linkEncrypted links the kinds of frames that an encrypted sum takes.
func (s *Rules) linkEncrypted() {
	for _, r := range s.list {
		if r.Class != contract.ClassHE || r.Collective != contract.CollectiveSum {
			continue
		}
		told, shares := s.ByKind[r.Kind+he.SuffixC1], s.ByKind[r.Kind+he.SuffixShare]
		if told == nil || told.Collective != contract.CollectiveBroadcast || shares == nil ||
			shares.Class != contract.ClassHE || shares.Collective != contract.CollectiveSum {
			continue
		}
		r.Told, r.Shares, told.Opens, shares.Opens = told, shares, r, r
		r.Same = s.ByKind[contract.KindShared]
	}
}

// Encrypted reports whether the contract has encrypted sums.
func (s *Rules) Encrypted() bool {
	return slices.ContainsFunc(s.list, func(r *Rule) bool { return r.Shares != nil })
}

// Receive lists the budgets of what may come to a party from those that it has links with.
func (s *Rules) Receive(c *contract.Contract, self int, linked []bool) error {
	for from, ok := range linked {
		if !ok {
			continue
		}
		lines, err := c.Egress(from)
		if err != nil {
			return fmt.Errorf("contract: %w", err)
		}
		for _, e := range lines {
			if e.To != self {
				continue
			}
			r := s.ByKind[e.Kind]
			if r.Ingress == nil {
				r.Ingress = make([]*spending, len(linked))
			}
			r.Ingress[from] = &spending{Budget: e}
		}
	}
	return nil
}
