package audit

import (
	"cmp"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// served holds the records of one party of a job over clients against what its contract lists. Nothing
// goes in lockstep there: clients come and go, each link goes its own way and ends by itself, and what
// is over for the server may still be under way at a client.
type served struct {
	names  []string
	job    *protocol.Job
	self   int
	rules  *rules
	found  *findings
	least  int // contributors that a protected sum must have
	star   bool
	kin    []relation         // by peer
	root   string             // of a group of servers; empty: this is about a server and its clients
	groups map[uint16]*served // that the party is in, by number

	turns   []turn           // of the job's sums and questions
	place   map[*rule]int    // of the kinds among the turns
	answers map[*rule]uint64 // bytes of an answer of a kind, at most
	vectors map[*rule]*vectorKind

	session uint32
	over    bool         // a server has told that the job has come to its end
	links   []servedLink // by peer
	passed  passed
	sum     servedSum // at a server: the sum under way
	tally   servedTally
}

// vectorKind is a kind of vectors that clients send to the party's server.
type vectorKind struct {
	class    protocol.Class
	bytes    uint64 // of the longest vector on its way
	total    uint64 // bytes of its total; 0: the contract does not say
	front    uint64 // bytes of a vector before the words of its total; 0: they travel in another form
	declared uint64 // bytes of totals that may open to this party in a session
	opened   uint64 // in the session under way
}

// newServed returns a conformer of a party's transcript of a job over clients.
func newServed(c *protocol.Contract, self int, r *rules, f *findings, least int) (*served, error) {
	all, err := newClientele(c)
	if err != nil {
		return nil, err
	}
	s := &served{
		job: c.Job, self: self, rules: r, found: f, least: least, star: all.star,
		place: make(map[*rule]int), answers: make(map[*rule]uint64), vectors: make(map[*rule]*vectorKind), links: make([]servedLink, len(c.Parties)),
		tally: newServedTally(len(c.Parties)), groups: make(map[uint16]*served),
	}
	for i, p := range c.Parties {
		s.names, s.kin = append(s.names, p.Name), append(s.kin, all.relation(self, i))
	}
	s.vectorKinds(c)
	s.answerKinds(c)
	s.layTurns()
	s.sum = newServedSum(len(c.Parties))
	if err := s.layGroups(c); err != nil {
		return nil, err
	}
	return s, r.receive(c, self, s.kin)
}

// vectorKinds finds the kinds of vectors that the contract has the party's server, or the server of a group, add up.
func (s *served) vectorKinds(c *protocol.Contract) {
	server := cmp.Or(s.root, c.Parties[c.Job.ServerOf(s.self)].Name)
	for i := range c.Operations {
		o := &c.Operations[i]
		rule := s.rules.byKind[o.Kind]
		if (s.root == "") != (len(o.Among) == 0) || o.Collective != protocol.CollectiveUpload || ofCohort(o.Kind) || rule.class == protocol.ClassControl || rule.class == protocol.ClassOpening {
			continue
		}
		v := s.vectors[rule]
		if v == nil {
			v = &vectorKind{class: rule.class, declared: declaredBytes(c, s.self, o.Kind)}
			s.vectors[rule] = v
		}
		if o.Root != server || o.Count == 0 {
			continue
		}
		v.bytes = uint64(o.Bytes / o.Count)
		if len(o.Shape) == 2 {
			v.total = totalWord * uint64(o.Shape[1])
		}
		if front := uint64(setSize(len(c.Parties))); rule.class != protocol.ClassHE && v.bytes == front+v.total {
			v.front = front
		}
	}
}

// totalWord is the length of a word of a total, in bytes.
const totalWord = 8

// setSize is the length of the set of clients, a bit for each party, that stands before a vector's words.
func setSize(parties int) int { return (parties + 7) / 8 }

// declaredBytes returns how much of a kind may open to a party in one session, by the contract.
func declaredBytes(c *protocol.Contract, party int, kind string) uint64 {
	var n uint64
	for _, o := range c.Openings {
		if o.To == c.Parties[party].Name && o.Kind == kind {
			n += totalWord * uint64(o.Count)
		}
	}
	return n
}

// begin starts a session.
func (s *served) begin(session uint32) {
	s.session, s.over = session, false
	s.rules.begin()
	clear(s.links)
	s.sum.begin(0)
	for _, v := range s.vectors {
		v.opened = 0
	}
	for _, g := range s.groups {
		g.begin(session)
	}
}

// end ends a session. What was told of a link that ended well must be kept: the other end's signature.
func (s *served) end(done bool) {
	for _, g := range s.groups {
		g.end(done)
	}
	if done || s.sum.opened {
		s.count()
	}
	s.sum.begin(0)
	for peer := range s.links {
		if l := &s.links[peer]; done && l.signed[in] && !l.countersigned {
			s.found.fail(checkCountersignatures, "session %d is sealed as done, but the countersignature that %s sent was not kept: it is not on what this party recorded",
				s.session, s.names[peer])
		}
	}
}

// ended reports whether the link to a peer ended well in the session under way: both were done, and the
// peer has signed it.
func (s *served) ended(peer int) bool {
	l := &s.links[peer]
	return l.done[in] && l.done[out] && l.countersigned
}

// finished reports whether the session under way is told to be the job's last, where the contract has such a message.
func (s *served) finished() bool { return s.over || s.rules.byKind[kindFinished] == nil }

// kindFinished is the kind of the message by which a server ends the job, and not only the session.
const kindFinished = "finished"

// take takes a record of a frame, an opening or a countersignature; rule is that of its kind.
func (s *served) take(r *transcript.Record, rule *rule) {
	group, _ := protocol.GroupOf(r.Operation)
	switch {
	case group != 0 && s.root == "":
		s.within(r, rule)
	case rule == nil:
		s.found.fail(checkOperations, "record %d: the contract has no message %q", r.Number, r.Kind)
	case r.Type == transcript.TypeOpened:
		s.open(r, rule)
	case r.Type == transcript.TypeCountersigned:
		s.links[r.Peer].countersigned = true
	default:
		s.over = s.over || r.Kind == kindFinished
		s.frame(r, rule)
	}
}

// frame takes a frame.
func (s *served) frame(r *transcript.Record, rule *rule) {
	fault := s.misrouted(r, rule)
	switch {
	case fault != "":
	case r.Class != rule.class || r.Encoding != rule.encoding:
		fault = fmt.Sprintf("it is %s %s, the contract says %s %s", r.Class, r.Encoding, rule.class, rule.encoding)
	case r.Kind == protocol.KindPast || !s.links[r.Peer].stated[way(r.Type)]:
		fault = s.links[r.Peer].state(r)
	case r.Kind == protocol.KindDone, r.Kind == protocol.KindCountersign, r.Kind == protocol.KindAbort:
		fault = s.lastWord(r, rule)
	default:
		fault = s.message(r, rule)
	}
	if r.Type == transcript.TypeReceived {
		s.receive(r, rule)
	}
	if fault != "" {
		s.found.fail(checkOperations, "record %d: operation %d (%s) %s: %s", r.Number, r.Operation, r.Kind, happened(r.Type, s.names[r.Peer]), fault)
	}
}

// receive holds a frame that came against the budget of its sender.
func (s *served) receive(r *transcript.Record, rule *rule) {
	if rule.ingress == nil || rule.ingress[r.Peer] == nil {
		s.found.fail(checkEgress, "record %d: %s came from %s, which the contract does not list", r.Number, r.Kind, s.names[r.Peer])
		return
	}
	e := rule.ingress[r.Peer]
	e.spend(r)
	if e.over() {
		s.found.fail(checkEgress, "record %d: %s from %s is over its budget in session %d: %s of %d bytes came, agreed are %s of %d bytes",
			r.Number, r.Kind, s.names[r.Peer], r.Session, counted(uint64(e.frames), "frame"), e.bytes, counted(uint64(e.budget.MaxFrames), "frame"), e.budget.MaxBytes)
	}
}

// message takes a frame that is part of a message of a sum, or of what one party tells another.
func (s *served) message(r *transcript.Record, rule *rule) string {
	l, kin := &s.links[r.Peer], s.kin[r.Peer]
	if l.done[way(r.Type)] {
		return "it comes after its sender was done with the link"
	}
	first, last, fault := l.way[way(r.Type)].take(r, kin == ownServer || kin == ownClient)
	if fault != "" {
		return fault
	}
	if r.Kind == keyKind {
		return l.takeKey(r)
	}
	turn, ofSum := s.place[rule]
	if !ofSum {
		return ""
	}
	if fault := s.oversized(r, rule); fault != "" {
		return fault
	}
	if isProtected(rule.class) && s.passed.take(r) == sentOther {
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
func (s *served) oversized(r *transcript.Record, rule *rule) string {
	if v := s.vectors[rule]; v != nil && r.Size > v.bytes {
		return fmt.Sprintf("a vector of %d bytes, the contract says %d at most", r.Size, v.bytes)
	}
	if most, ok := s.answers[rule]; ok && r.Size > most {
		return fmt.Sprintf("an answer of %d bytes, the contract says %d at most", r.Size, most)
	}
	return ""
}
