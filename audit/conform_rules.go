package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// rule is all that a contract says of one kind of message, for one party, and what the party did.
type rule struct {
	kind       string
	stage      int64
	collective string
	class      protocol.Class
	encoding   protocol.Encoding
	scripts    []script
	second     bool  // sums along the second tree of the published protocol
	mayPad     bool  // masked sums to this party that the contract does not open: the total may be under a pad
	mustPad    bool  // of a sealed job: it must
	told       *rule // of encrypted sums: the broadcasts of c1
	same       *rule // of encrypted sums: the comparisons of what was broadcast
	shares     *rule // of encrypted sums: the sums of decryption shares
	opens      *rule // of these two: the sum that they open
	allowance        // of all operations together

	numbers int64 // that sums to this party have in one session, by the contract's shapes

	opened  int64        // numbers that encrypted sums opened to
	egress  []*spending  // by recipient; nil where nothing may be sent
	ingress []*spending  // by sender, in jobs over clients; nil where nothing may come
	learnt  learntOfKind // values that came to this party
}

// allowance is how much the contract allows in one session, and what of it was used.
type allowance struct {
	count int64 // operations in one session, at most
	bytes int64 // of their vectors in one session, at most
	used  int64 // operations in the session under way
	spent int64 // bytes of their vectors
}

// extend allows more.
func (a *allowance) extend(more allowance) { a.count, a.bytes = a.count+more.count, a.bytes+more.bytes }

// begin starts the count of a session.
func (a *allowance) begin() { a.used, a.spent = 0, 0 }

// begin starts the count of a session.
func (r *rule) begin() {
	r.opened = 0
	r.allowance.begin()
	for i := range r.scripts {
		if link := r.scripts[i].link; link != nil {
			link.begin()
		}
	}
}

// addScripts adds scripts; direct messages over one link have one together.
func (r *rule) addScripts(scripts []script) {
	for _, s := range scripts {
		if s.link != nil {
			if known := r.linkOf(s.steps[0].event, s.steps[0].peer); known != nil {
				known.extend(*s.link)
				continue
			}
		}
		r.scripts = append(r.scripts, s)
	}
}

// linkOf returns what may pass of a kind of direct message to or from a peer; nil when nothing may.
func (r *rule) linkOf(event transcript.Type, peer int) *allowance {
	for i := range r.scripts {
		if s := &r.scripts[i]; s.link != nil && s.steps[0].event == event && s.steps[0].peer == peer {
			return s.link
		}
	}
	return nil
}

// rules are the rules of all kinds of a contract, for one party.
type rules struct {
	list   []*rule // in the contract's order
	byKind map[string]*rule
	last   *rule // found last: most records have the kind of the one before
}

// newRules lays a contract out for one party.
func newRules(c *protocol.Contract, self int) (*rules, error) {
	all, opens := &rules{byKind: make(map[string]*rule)}, openTo(c, self)
	for i := range c.Operations {
		o := &c.Operations[i]
		scripts, err := scriptsOf(c, o, self, opens)
		if err != nil {
			return nil, fmt.Errorf("contract: %s: %w", o.Kind, err)
		}
		r := all.add(c, o)
		r.addScripts(scripts)
		r.allowance.extend(allowance{count: o.Count, bytes: o.Bytes})
		r.second = r.second || o.Tree == 2
		r.mayPad = r.mayPad || o.Root == c.Parties[self].Name && mayStaySealed(o, opens)
		r.mustPad = r.mayPad && c.Job.Privacy == fdskl.Sealed
		if o.Root == c.Parties[self].Name {
			r.numbers = addNumbers(r.numbers, o.Shape)
		}
	}
	all.sealedKinds()
	lines, err := c.Egress(self)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	for _, e := range lines {
		all.byKind[e.Kind].egress[e.To] = &spending{budget: e}
	}
	return all, nil
}

// chunked reports whether the kind's vectors travel in chunks.
func (r *rule) chunked() bool {
	return r.collective == protocol.CollectiveSum || r.collective == protocol.CollectiveDirect
}

// exchanged reports whether every party sends one message to every other that takes part.
func (r *rule) exchanged() bool {
	return r.collective == protocol.CollectiveExchange || r.collective == protocol.CollectivePairs
}

// compares reports whether the parties compare what was broadcast, so that all must send the same.
func (r *rule) compares() bool { return r.kind == protocol.KindShared || r.kind == protocol.KindDone }

// chunk returns the bytes of such a chunk, the last of a vector excepted.
func (r *rule) chunk() uint64 { return uint64(r.encoding.Chunk(protocol.DefaultChunk)) }

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
func (s *rules) add(c *protocol.Contract, o *protocol.Operation) *rule {
	if r, ok := s.byKind[o.Kind]; ok {
		return r
	}
	encoding, _ := protocol.ParseEncoding(o.Encoding) // checked with the contract
	r := &rule{kind: o.Kind, stage: o.Stage, collective: o.Collective, class: c.ClassOf(o.Kind), encoding: encoding, egress: make([]*spending, len(c.Parties))}
	s.byKind[o.Kind] = r
	s.list = append(s.list, r)
	return r
}

// of returns the rule of a kind, nil when the contract has none.
func (s *rules) of(kind string) *rule {
	if s.last == nil || s.last.kind != kind {
		r, ok := s.byKind[kind]
		if !ok {
			return nil
		}
		s.last = r
	}
	return s.last
}

// masked reports whether the contract has masked sums.
func (s *rules) masked() bool {
	for _, r := range s.list {
		if r.class == protocol.ClassMasked {
			return true
		}
	}
	return false
}

// trees reports whether the contract has the paired sums of the published protocol.
func (s *rules) trees() bool {
	for _, r := range s.list {
		if r.second {
			return true
		}
	}
	return false
}

// begin starts the count of a session.
func (s *rules) begin() {
	for _, r := range s.list {
		r.begin()
		for _, e := range slices.Concat(r.egress, r.ingress) {
			if e != nil {
				e.begin()
			}
		}
		r.learnt.begin()
	}
}
