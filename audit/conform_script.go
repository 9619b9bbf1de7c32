package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// step is one record that a party leaves in an operation.
type step struct {
	event transcript.Type
	peer  int
	adds  int    // parties whose addends come with the frame
	kind  string // in rounds, which have several; else empty
}

// script is what one line of a contract has a party record, in order; in a sum or a direct message once
// for every chunk.
type script struct {
	root     int
	tree     int64
	excluded string
	chunked  bool
	parties  int        // whose addends are in the total
	steps    []step     // none: the party takes no part
	shadow   bool       // along T1, where the contract says T2
	link     *allowance // of direct messages: what may pass from one of the two to the other
}

// scriptsOf returns what an operation of a contract can have a party record: one script for each
// possible root, for a sum along T2 the one along T1 that it must not follow, and for a masked sum whose
// total may stay under a pad the one in which it does not open. opens are the kinds that must open to this
// party.
func scriptsOf(c *protocol.Contract, o *protocol.Operation, self int, opens map[string]bool) ([]script, error) {
	if len(c.Job.Servers) > 0 { // see served: nothing is in lockstep
		return nil, nil
	}
	switch o.Collective {
	case protocol.CollectiveExchange:
		return []script{{root: -1, steps: exchangeSteps(len(c.Parties), self)}}, nil
	case protocol.CollectivePairs:
		return []script{{root: -1, steps: pairSteps(c.Holders(), self)}}, nil
	case protocol.CollectiveDirect:
		return directed(o, c.Job.Index(o.Root), c.Job.Index(o.To), self), nil
	}
	first, last := c.Job.Index(o.Root), c.Job.Index(o.Root)
	if o.Root == protocol.Anyone {
		first, last = 0, len(c.Parties)-1
	}
	var list []script
	for root := first; root <= last; root++ {
		plan, err := c.Plan(o, root)
		if err != nil {
			return nil, err
		}
		list = append(list, planned(o, plan, self))
		if root == self && mayStaySealed(o, opens) {
			s := list[len(list)-1]
			s.steps = sumSteps(plan, self, true)
			list = append(list, s)
		}
	}
	if o.Tree == 2 {
		s, err := shadowed(c, o, first, self)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// shadowed is the script of a sum along T2 as it would be along T1.
func shadowed(c *protocol.Contract, o *protocol.Operation, root, self int) (script, error) {
	along := *o
	along.Tree = 1
	plan, err := c.Plan(&along, root)
	if err != nil {
		return script{}, err
	}
	s := planned(o, plan, self)
	s.shadow = true
	return s, nil
}

// directed is the script of a direct message; none for a party that is neither end.
func directed(o *protocol.Operation, from, to, self int) []script {
	s := script{root: from, chunked: true, link: &allowance{count: o.Count, bytes: o.Bytes}}
	switch self {
	case from:
		s.steps = []step{{event: transcript.TypeSent, peer: to}}
	case to:
		s.steps = []step{{event: transcript.TypeReceived, peer: from}}
	default:
		return nil
	}
	return []script{s}
}

// openTo lists the kinds of sums of which the contract has openings to a party: their totals must open.
func openTo(c *protocol.Contract, self int) map[string]bool {
	kinds := make(map[string]bool)
	for i := range c.Openings {
		o := &c.Openings[i]
		if o.To != c.Parties[self].Name {
			continue
		}
		kinds[o.Kind] = true
		for _, source := range sources(o.Kind) {
			kinds[strings.TrimSuffix(source, "-total")] = true
		}
	}
	return kinds
}

// mayStaySealed reports whether the total of a sum to this party may stay under a pad that it lacks, and be on its
// record as masked words. In a sealed job it must: nothing opens that no opening lists.
func mayStaySealed(o *protocol.Operation, opens map[string]bool) bool {
	return o.Collective == protocol.CollectiveSum && o.Class == protocol.ClassMasked.String() && o.Tree == 0 && !opens[o.Kind]
}

// planned is the script of a sum or a broadcast along a plan.
func planned(o *protocol.Operation, plan protocol.Plan, self int) script {
	s := script{root: plan.Root, tree: o.Tree, excluded: o.Excluded, chunked: o.Collective == protocol.CollectiveSum, parties: leaves(plan, plan.Root)}
	switch {
	case !plan.Has(self):
	case s.chunked:
		s.steps = sumSteps(plan, self, o.Class == protocol.ClassHE.String())
	default:
		s.steps = broadcastSteps(plan, self)
	}
	return s
}

// sumSteps receives from all children and passes the sum on, or learns it, unless it is sealed.
func sumSteps(plan protocol.Plan, self int, sealed bool) []step {
	var steps []step
	for _, child := range plan.Children[self] {
		steps = append(steps, step{event: transcript.TypeReceived, peer: child, adds: leaves(plan, child)})
	}
	if self == plan.Root && sealed {
		return steps
	}
	if self == plan.Root {
		return append(steps, step{event: transcript.TypeOpened, peer: self})
	}
	return append(steps, step{event: transcript.TypeSent, peer: plan.Parent[self]})
}

// broadcastSteps receives from the parent and sends to all children, the last one first.
func broadcastSteps(plan protocol.Plan, self int) []step {
	var steps []step
	if self != plan.Root {
		steps = append(steps, step{event: transcript.TypeReceived, peer: plan.Parent[self]})
	}
	children := plan.Children[self]
	for i := len(children) - 1; i >= 0; i-- {
		steps = append(steps, step{event: transcript.TypeSent, peer: children[i]})
	}
	return steps
}

// exchangeSteps sends to all others and then receives from all others.
func exchangeSteps(q, self int) []step {
	var steps []step
	for _, event := range []transcript.Type{transcript.TypeSent, transcript.TypeReceived} {
		for i := range q {
			if i != self {
				steps = append(steps, step{event: event, peer: i})
			}
		}
	}
	return steps
}

// pairSteps sends to every other holder and then receives from each; who is none takes no part.
func pairSteps(holders []int, self int) []step {
	var steps []step
	for _, event := range []transcript.Type{transcript.TypeSent, transcript.TypeReceived} {
		for _, i := range holders {
			if i != self && slices.Contains(holders, self) {
				steps = append(steps, step{event: event, peer: i})
			}
		}
	}
	return steps
}

// ofKind gives steps a kind.
func ofKind(kind string, steps []step) []step {
	for i := range steps {
		steps[i].kind = kind
	}
	return steps
}

// roundSteps are those of a round of countersignatures: all state their links to all and then sign them, and each
// signature that came is kept.
func roundSteps(q, self int) []step {
	steps := slices.Concat(ofKind(protocol.KindStates, exchangeSteps(q, self)), signSteps(q, self))
	for i := range q {
		if i != self {
			steps = append(steps, keepSteps(i)...)
		}
	}
	return steps
}

// signSteps send a signature to all others.
func signSteps(q, self int) []step {
	return ofKind(protocol.KindCountersign, exchangeSteps(q, self)[:q-1])
}

// keepSteps receive a party's signature and keep it.
func keepSteps(peer int) []step {
	return ofKind(protocol.KindCountersign,
		[]step{{event: transcript.TypeReceived, peer: peer}, {event: transcript.TypeCountersigned, peer: peer}})
}

// askSteps are those of the receiver of an opening, who asks all others for it and signs.
func askSteps(q, self int) []step {
	return slices.Concat(ofKind(protocol.KindAsk, exchangeSteps(q, self)[:q-1]), signSteps(q, self))
}

// askedSteps are those of a party that is asked.
func askedSteps(receiver int) []step {
	return append([]step{{event: transcript.TypeReceived, peer: receiver, kind: protocol.KindAsk}},
		keepSteps(receiver)...)
}

// leaves counts the parties whose addends are in what a party of a plan passes on.
func leaves(plan protocol.Plan, party int) int {
	n := 1
	for _, child := range plan.Children[party] {
		n += leaves(plan, child)
	}
	return n
}

// progress is how far an operation has followed a script.
type progress struct {
	*script
	at    int
	chunk uint32
	heard int // parties other than this one whose addends of the chunk have come
	whole bool
}

// fits reports whether a record is the script's next.
func (p *progress) fits(r *transcript.Record) bool {
	if p.whole || len(p.steps) == 0 {
		return false
	}
	s := p.steps[p.at]
	return r.Type == s.event && r.Peer == s.peer && r.Chunk == p.chunk && (s.kind == "" || s.kind == r.Kind)
}

// opensEarly reports whether a record opens the chunk before all children's frames have come.
func (p *progress) opensEarly(r *transcript.Record) bool {
	last := len(p.steps) - 1
	return !p.whole && last >= 0 && p.steps[last].event == transcript.TypeOpened && r.Type == transcript.TypeOpened && r.Chunk == p.chunk
}

// advance takes the next step of an operation whose vector has so many chunks.
func (p *progress) advance(chunks uint64) {
	p.heard += p.steps[p.at].adds
	if p.at++; p.at < len(p.steps) {
		return
	}
	p.at, p.heard = 0, 0
	if p.chunked && uint64(p.chunk)+1 < chunks {
		p.chunk++
		return
	}
	p.whole = true
}

// wanted says in words what the script has next.
func (p *progress) wanted(names []string) string {
	if p.whole {
		return "nothing more"
	}
	if len(p.steps) == 0 {
		return "no part in it"
	}
	s := p.steps[p.at]
	text := happened(s.event, names[s.peer])
	if s.kind != "" {
		text = inRound(s.kind, s.event, names[s.peer])
	}
	if p.chunked {
		text = fmt.Sprintf("chunk %d %s", p.chunk, text)
	}
	return text
}

// inRound says in words what a record of a round tells of a peer.
func inRound(kind string, event transcript.Type, peer string) string {
	if event == transcript.TypeCountersigned {
		return happened(event, peer)
	}
	return kind + " " + happened(event, peer)
}

// happened says in words what a record tells of a peer.
func happened(event transcript.Type, peer string) string {
	switch event {
	case transcript.TypeSent:
		return "sent to " + peer
	case transcript.TypeReceived:
		return "received from " + peer
	case transcript.TypeOpened:
		return "opened"
	}
	return event.String() + " by " + peer
}
