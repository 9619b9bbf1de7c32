package rules

import (
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Step is one record that a party leaves in an operation.
type Step struct {
	Event transcript.Type
	Peer  int
	Adds  int    // parties whose addends come with the frame
	Kind  string // in rounds, which have several; else empty
}

// Script is what one line of a contract has a party record, in order; in a sum or a direct message once
// for every chunk.
type Script struct {
	Root     int
	Tree     int64
	Excluded string
	Chunked  bool
	Parties  int        // whose addends are in the total
	Steps    []Step     // none: the party takes no part
	Shadow   bool       // along T1, where the contract says T2
	link     *Allowance // of direct messages: what may pass from one of the two to the other
}

// scriptsOf returns what an operation of a contract can have a party record: one script for each
// possible root, for a sum along T2 the one along T1 that it must not follow, and for a masked sum whose
// total may stay under a pad the one in which it does not open. opens are the kinds that must open to this
// party.
func scriptsOf(c *contract.Contract, o *contract.Operation, self int, opens map[string]bool) ([]Script, error) {
	if len(c.Job.Servers) > 0 { // see served: nothing is in lockstep
		return nil, nil
	}
	switch o.Collective {
	case contract.CollectiveExchange:
		return []Script{{Root: -1, Steps: ExchangeSteps(len(c.Parties), self)}}, nil
	case contract.CollectivePairs:
		return []Script{{Root: -1, Steps: pairSteps(c.Holders(), self)}}, nil
	case contract.CollectiveDirect:
		return directed(o, c.Job.Index(o.Root), c.Job.Index(o.To), self), nil
	}
	first, last := c.Job.Index(o.Root), c.Job.Index(o.Root)
	if o.Root == contract.Anyone {
		first, last = 0, len(c.Parties)-1
	}
	var list []Script
	for root := first; root <= last; root++ {
		plan, err := c.Plan(o, root)
		if err != nil {
			return nil, err
		}
		list = append(list, planned(o, plan, self))
		if root == self && MayStayHidden(o, opens) {
			s := list[len(list)-1]
			s.Steps = sumSteps(plan, self, true)
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
func shadowed(c *contract.Contract, o *contract.Operation, root, self int) (Script, error) {
	along := *o
	along.Tree = 1
	plan, err := c.Plan(&along, root)
	if err != nil {
		return Script{}, err
	}
	s := planned(o, plan, self)
	s.Shadow = true
	return s, nil
}

// directed is the script of a direct message; none for a party that is neither end.
func directed(o *contract.Operation, from, to, self int) []Script {
	s := Script{Root: from, Chunked: true, link: &Allowance{Count: o.Count, Bytes: o.Bytes}}
	switch self {
	case from:
		s.Steps = []Step{{Event: transcript.TypeSent, Peer: to}}
	case to:
		s.Steps = []Step{{Event: transcript.TypeReceived, Peer: from}}
	default:
		return nil
	}
	return []Script{s}
}

// OpenTo lists the kinds of sums of which the contract has openings to a party: their totals must open.
func OpenTo(c *contract.Contract, self int) map[string]bool {
	kinds := make(map[string]bool)
	for i := range c.Openings {
		o := &c.Openings[i]
		if o.To != c.Parties[self].Name {
			continue
		}
		kinds[o.Kind] = true
		for _, source := range evidence.SourcesOf(o.Kind) {
			kinds[strings.TrimSuffix(source, "-total")] = true
		}
	}
	return kinds
}

// MayStayHidden reports whether the total of a sum to this party may stay under a pad that it lacks, and be on its
// record as masked words. In a sealed job it must: nothing opens that no opening lists.
func MayStayHidden(o *contract.Operation, opens map[string]bool) bool {
	return o.Collective == contract.CollectiveSum && o.Class == contract.ClassMasked.String() &&
		o.Tree == 0 && !opens[o.Kind]
}

// planned is the script of a sum or a broadcast along a plan.
func planned(o *contract.Operation, plan contract.Plan, self int) Script {
	s := Script{Root: plan.Root, Tree: o.Tree, Excluded: o.Excluded, Chunked: o.Collective == contract.CollectiveSum,
		Parties: leaves(plan, plan.Root)}
	switch {
	case !plan.Has(self):
	case s.Chunked:
		s.Steps = sumSteps(plan, self, o.Class == contract.ClassHE.String())
	default:
		s.Steps = broadcastSteps(plan, self)
	}
	return s
}

// sumSteps receives from all children and passes the sum on, or learns it, unless it is sealed.
func sumSteps(plan contract.Plan, self int, hidden bool) []Step {
	var steps []Step
	for _, child := range plan.Children[self] {
		steps = append(steps, Step{Event: transcript.TypeReceived, Peer: child, Adds: leaves(plan, child)})
	}
	if self == plan.Root && hidden {
		return steps
	}
	if self == plan.Root {
		return append(steps, Step{Event: transcript.TypeOpened, Peer: self})
	}
	return append(steps, Step{Event: transcript.TypeSent, Peer: plan.Parent[self]})
}

// broadcastSteps receives from the parent and sends to all children, the last one first.
func broadcastSteps(plan contract.Plan, self int) []Step {
	var steps []Step
	if self != plan.Root {
		steps = append(steps, Step{Event: transcript.TypeReceived, Peer: plan.Parent[self]})
	}
	children := plan.Children[self]
	for i := len(children) - 1; i >= 0; i-- {
		steps = append(steps, Step{Event: transcript.TypeSent, Peer: children[i]})
	}
	return steps
}

// ExchangeSteps sends to all others and then receives from all others.
func ExchangeSteps(q, self int) []Step {
	var steps []Step
	for _, event := range []transcript.Type{transcript.TypeSent, transcript.TypeReceived} {
		for i := range q {
			if i != self {
				steps = append(steps, Step{Event: event, Peer: i})
			}
		}
	}
	return steps
}

// pairSteps sends to every other holder and then receives from each; who is none takes no part.
func pairSteps(holders []int, self int) []Step {
	var steps []Step
	for _, event := range []transcript.Type{transcript.TypeSent, transcript.TypeReceived} {
		for _, i := range holders {
			if i != self && slices.Contains(holders, self) {
				steps = append(steps, Step{Event: event, Peer: i})
			}
		}
	}
	return steps
}

// leaves counts the parties whose addends are in what a party of a plan passes on.
func leaves(plan contract.Plan, party int) int {
	n := 1
	for _, child := range plan.Children[party] {
		n += leaves(plan, child)
	}
	return n
}

// Happened says in words what a record tells of a peer.
func Happened(event transcript.Type, peer string) string {
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
