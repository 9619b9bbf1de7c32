// Package clients holds the records of a party against its contract in jobs over clients: they come and go, each link
// goes its own way and ends by itself.
package clients

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// Conformer holds the records of one party of a job over clients against what its contract lists. Nothing
// goes in lockstep there: clients come and go, each link goes its own way and ends by itself, and what
// is over for the server may still be under way at a client.
type Conformer struct {
	names  []string
	job    *contract.Job
	self   int
	rules  *rules.Rules
	found  *finding.Set
	least  int // contributors that a protected sum must have
	star   bool
	kin    []relation            // by peer
	root   string                // of a group of servers; empty: this is about a server and its clients
	groups map[uint16]*Conformer // that the party is in, by number

	turns   []turn                 // of the job's sums and questions
	place   map[*rules.Rule]int    // of the kinds among the turns
	answers map[*rules.Rule]uint64 // bytes of an answer of a kind, at most
	vectors map[*rules.Rule]*vectorKind

	session uint32
	over    bool         // a server has told that the job has come to its end
	links   []servedLink // by peer
	passed  rules.Passed
	sum     servedSum // at a server: the sum under way
	tally   servedTally
}

// vectorKind is a kind of vectors that clients send to the party's server.
type vectorKind struct {
	class    contract.Class
	bytes    uint64 // of the longest vector on its way
	total    uint64 // bytes of its total; 0: the contract does not say
	front    uint64 // bytes of a vector before the words of its total; 0: they travel in another form
	declared uint64 // bytes of totals that may open to this party in a session
	opened   uint64 // in the session under way
}

// New returns a conformer of a party's transcript of a job over clients, of an algorithm.
func New(
	c *contract.Contract, a *federated.Algorithm, self int, r *rules.Rules, f *finding.Set, least int,
) (*Conformer, error) {
	all, err := newClientele(c)
	if err != nil {
		return nil, err
	}
	s := &Conformer{
		job: c.Job, self: self, rules: r, found: f, least: least, star: all.star,
		place: make(map[*rules.Rule]int), answers: make(map[*rules.Rule]uint64), vectors: make(map[*rules.Rule]*vectorKind),
		links: make([]servedLink, len(c.Parties)),
		tally: newServedTally(len(c.Parties)), groups: make(map[uint16]*Conformer),
	}
	linked := make([]bool, len(c.Parties))
	for i, p := range c.Parties {
		s.names, s.kin = append(s.names, p.Name), append(s.kin, all.relation(self, i))
		linked[i] = s.kin[i] != unrelated
	}
	s.vectorKinds(c)
	server := c.Parties[c.Job.ServerOf(s.self)].Name
	for i := range c.Operations {
		o := &c.Operations[i]
		if o.Root == server && o.Count > 0 && o.Kind == a.Answered {
			s.answers[s.rules.ByKind[o.Kind]] = uint64(o.Bytes / o.Count)
		}
	}
	s.layTurns(a)
	s.sum = newServedSum(len(c.Parties))
	// Settles the groups of servers that the party is in: in each, one of them is to the others what a server is to
	// its clients. What passes in a group is held against the contract as a federation of its own.
	topology, err := contract.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	for i := range c.Operations {
		o := &c.Operations[i]
		root, members := c.Job.Index(o.Root), o.Members(c.Job)
		if len(o.Among) == 0 || root != s.self && !slices.Contains(members, s.self) {
			continue
		}
		number := c.Job.Group(root)
		if s.groups[number] != nil {
			continue
		}
		g := &Conformer{
			names: s.names, job: c.Job, self: s.self, rules: s.rules, found: s.found, least: federated.LeastMixed, star: s.star,
			root: o.Root, place: make(map[*rules.Rule]int), answers: make(map[*rules.Rule]uint64),
			vectors: make(map[*rules.Rule]*vectorKind),
			links:   make([]servedLink, len(c.Parties)), tally: newServedTally(len(c.Parties)),
			kin: make([]relation, len(c.Parties)),
			sum: newServedSum(len(c.Parties)),
		}
		plan := contract.PlanAmong(topology, len(c.Parties), root, members)
		for peer := range c.Parties {
			g.kin[peer] = groupRelation(s.self, peer, root, members, plan)
		}
		g.vectorKinds(c)
		g.layTurns(a)
		s.groups[number] = g
	}
	return s, r.Receive(c, self, linked)
}

// vectorKinds finds the kinds of vectors that the contract has the party's server, or the server of a group, add up.
func (s *Conformer) vectorKinds(c *contract.Contract) {
	server := cmp.Or(s.root, c.Parties[c.Job.ServerOf(s.self)].Name)
	for i := range c.Operations {
		o := &c.Operations[i]
		rule := s.rules.ByKind[o.Kind]
		if (s.root == "") != (len(o.Among) == 0) || o.Collective != contract.CollectiveUpload || cohort.IsKind(o.Kind) ||
			rule.Class == contract.ClassControl || rule.Class == contract.ClassOpening {
			continue
		}
		v := s.vectors[rule]
		if v == nil {
			v = &vectorKind{class: rule.Class, declared: declaredBytes(c, s.self, o.Kind)}
			s.vectors[rule] = v
		}
		if o.Root != server || o.Count == 0 {
			continue
		}
		v.bytes = uint64(o.Bytes / o.Count)
		if len(o.Shape) == 2 {
			v.total = evidence.TotalWord * uint64(o.Shape[1])
		}
		if front := uint64(evidence.SetSize(len(c.Parties))); rule.Class != contract.ClassHE && v.bytes == front+v.total {
			v.front = front
		}
	}
}

// declaredBytes returns how much of a kind may open to a party in one session, by the contract.
func declaredBytes(c *contract.Contract, party int, kind string) uint64 {
	var n uint64
	for _, o := range c.Openings {
		if o.To == c.Parties[party].Name && o.Kind == kind {
			n += evidence.TotalWord * uint64(o.Count)
		}
	}
	return n
}

// Begin starts a session.
func (s *Conformer) Begin(session uint32) {
	s.session, s.over = session, false
	s.rules.Begin()
	clear(s.links)
	s.sum.begin(0)
	for _, v := range s.vectors {
		v.opened = 0
	}
	for _, g := range s.groups {
		g.Begin(session)
	}
}

// End ends a session. What was told of a link that ended well must be kept: the other end's signature.
func (s *Conformer) End(done bool) {
	for _, g := range s.groups {
		g.End(done)
	}
	if done || s.sum.opened {
		s.count()
	}
	s.sum.begin(0)
	for peer := range s.links {
		if l := &s.links[peer]; done && l.signed[rules.In] && !l.countersigned {
			s.found.Fail(finding.CheckCountersignatures, "session %d is sealed as done, but the countersignature "+
				"that %s sent was not kept: it is not on what this party recorded",
				s.session, s.names[peer])
		}
	}
}

// EndedWell reports whether the link to a peer ended well in the session under way: both were done, and the
// peer has signed it.
func (s *Conformer) EndedWell(peer int) bool {
	l := &s.links[peer]
	return l.done[rules.In] && l.done[rules.Out] && l.countersigned
}

// Finished reports whether the session under way is told to be the job's last, where the contract has such a message.
func (s *Conformer) Finished() bool { return s.over || s.rules.ByKind[evidence.KindFinished] == nil }

// Take takes a record of a frame, an opening or a countersignature; rule is that of its kind.
func (s *Conformer) Take(r *transcript.Record, rule *rules.Rule) {
	group, _ := protocol.GroupOf(r.Operation)
	switch {
	case group != 0 && s.root == "":
		s.within(r, rule)
	case rule == nil:
		s.found.Fail(finding.CheckOperations, "record %d: the contract has no message %q", r.Number, r.Kind)
	case r.Type == transcript.TypeOpened:
		s.open(r, rule)
	case r.Type == transcript.TypeCountersigned:
		s.links[r.Peer].countersigned = true
	default:
		s.over = s.over || r.Kind == evidence.KindFinished
		fault := s.misrouted(r, rule)
		switch {
		case fault != "":
		case r.Class != rule.Class || r.Encoding != rule.Encoding:
			fault = fmt.Sprintf("it is %s %s, the contract says %s %s", r.Class, r.Encoding, rule.Class, rule.Encoding)
		case r.Kind == contract.KindPast || !s.links[r.Peer].stated[rules.Way(r.Type)]:
			fault = s.links[r.Peer].state(r)
		case r.Kind == contract.KindDone, r.Kind == contract.KindCountersign, r.Kind == contract.KindAbort:
			fault = s.lastWord(r, rule)
		default:
			fault = s.message(r, rule)
		}
		if r.Type == transcript.TypeReceived {
			s.receive(r, rule)
		}
		if fault != "" {
			s.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) %s: %s", r.Number, r.Operation,
				r.Kind, rules.Happened(r.Type, s.names[r.Peer]), fault)
		}
	}
}

// receive holds a frame that came against the budget of its sender.
func (s *Conformer) receive(r *transcript.Record, rule *rules.Rule) {
	if rule.Ingress == nil || rule.Ingress[r.Peer] == nil {
		s.found.Fail(finding.CheckEgress, "record %d: %s came from %s, which the contract does not list",
			r.Number, r.Kind, s.names[r.Peer])
		return
	}
	e := rule.Ingress[r.Peer]
	e.Spend(r)
	if e.Over() {
		s.found.Fail(finding.CheckEgress,
			"record %d: %s from %s is over its budget in session %d: %s of %d bytes came, agreed are %s of %d bytes",
			r.Number, r.Kind, s.names[r.Peer], r.Session, wording.Count(e.Frames, "frame"), e.Bytes,
			wording.Count(e.Budget.MaxFrames, "frame"), e.Budget.MaxBytes)
	}
}

// message takes a frame that is part of a message of a sum, or of what one party tells another.
func (s *Conformer) message(r *transcript.Record, rule *rules.Rule) string {
	l, kin := &s.links[r.Peer], s.kin[r.Peer]
	if l.done[rules.Way(r.Type)] {
		return "it comes after its sender was done with the link"
	}
	first, last, fault := l.way[rules.Way(r.Type)].take(r, kin == ownServer || kin == ownClient)
	if fault != "" {
		return fault
	}
	if r.Kind == cohort.KindKey {
		// Takes the client's session key, which comes once.
		switch {
		case l.key:
			return "the session key comes again"
		case r.Operation != 0 || r.Size != contract.SessionKeySize:
			return fmt.Sprintf("a session key of %d bytes in operation %d, want %d in operation 0", r.Size,
				r.Operation, contract.SessionKeySize)
		}
		l.key = true
		return ""
	}
	turn, ofSum := s.place[rule]
	if !ofSum {
		return ""
	}
	if fault := s.oversized(r, rule); fault != "" {
		return fault
	}
	if evidence.Protected(rule.Class) && s.passed.Take(r) == rules.SentOther {
		return "it is not the same for all that it is sent to in this sum"
	}
	if first {
		fault = s.start(r, turn)
	}
	if fault == "" && last {
		fault = s.complete(r, turn)
	}
	return fault
}

// oversized says what is longer than the contract allows of a single vector or answer, or nothing.
func (s *Conformer) oversized(r *transcript.Record, rule *rules.Rule) string {
	if v := s.vectors[rule]; v != nil && r.Size > v.bytes {
		return fmt.Sprintf("a vector of %d bytes, the contract says %d at most", r.Size, v.bytes)
	}
	if most, ok := s.answers[rule]; ok && r.Size > most {
		return fmt.Sprintf("an answer of %d bytes, the contract says %d at most", r.Size, most)
	}
	return ""
}
