// Package lockstep holds the records of a party against the operations of its contract, in jobs over columns: all
// parties take every operation together, in the order of the stages and along the plan of each sum.
package lockstep

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Conformer holds the records of one party against the operations that its contract lists. It knows the
// operation under way and forgets those before it.
type Conformer struct {
	names []string
	self  int
	rules *rules.Rules
	found *finding.Set
	least int // contributors that a protected sum must have

	session   uint32
	number    uint64 // the highest of an operation
	stage     int64
	came      []uint64         // by sender, the operation of its latest frame
	begun     map[uint64]int64 // the stages of operations since the latest round, and of that before it
	current   operation
	pairs     pairing
	rounds    rounds
	encrypted encryptedSum
	keyed     bool // the session has a key for encrypted sums, which all parties compared
	keyTold   bool // the key was broadcast
	rows      bool // the parties with data have compared their row ids
	aborted   bool
}

// New returns a conformer of a party's transcript.
func New(c *contract.Contract, self int, r *rules.Rules, f *finding.Set, least int) *Conformer {
	var names []string
	for _, p := range c.Parties {
		names = append(names, p.Name)
	}
	return &Conformer{names: names, self: self, rules: r, found: f, least: least, rounds: newRounds(len(names), self),
		came: make([]uint64, len(names)), begun: make(map[uint64]int64)}
}

// Begin starts a session.
func (c *Conformer) Begin(session uint32) {
	c.session, c.number, c.stage, c.aborted = session, 0, 0, false
	c.current.rule, c.current.off = nil, false
	c.pairs, c.encrypted, c.keyed = pairing{}, encryptedSum{}, false
	clear(c.came)
	clear(c.begun)
	s := &c.rounds
	s.now, s.stated, s.first, s.last = round{}, false, false, 0
	c.keyTold, c.rows = false, false
	c.rules.Begin()
}

// End ends a session. One that broke off may leave its last operation incomplete.
func (c *Conformer) End(done bool) {
	if !done {
		return
	}
	c.finish()
	if c.encrypted.rule != nil {
		c.unopened("the session is sealed as done")
	}
	switch {
	case c.current.rule == nil || c.current.rule.Kind != contract.KindDone:
		c.found.Fail(finding.CheckOperations,
			"session %d is sealed as done, but the parties did not tell each other that they were", c.session)
	case !c.rounds.now.whole || c.rounds.last != c.number:
		c.found.Fail(finding.CheckCountersignatures,
			"session %d is sealed as done, but its last round of countersignatures is not whole", c.session)
	}
}

// Take takes a record of a frame, an opening or a countersignature; rule is that of its kind.
func (c *Conformer) Take(r *transcript.Record, rule *rules.Rule) {
	switch {
	case rule == nil:
		c.found.Fail(finding.CheckOperations, "record %d: the contract has no message %q", r.Number, r.Kind)
		c.skip(r, nil)
	case isRound(r.Kind):
		c.countersign(r, rule)
	case r.Kind == contract.KindAbort:
		// Takes the last words of a party; nothing follows them.
		if r.Type == transcript.TypeSent {
			c.aborted = true
		}
		fault := rules.Misfit(r, rule)
		switch {
		case fault == "" && !r.Type.Frame():
			fault = "it is no frame"
		case fault == "" && r.Operation < c.number:
			fault = fmt.Sprintf("it is of operation %d, after operation %d", r.Operation, c.number)
		}
		if fault != "" {
			c.found.Fail(finding.CheckOperations, "record %d: %s (%s) is not as the contract has it: %s",
				r.Number, r.Kind, r.Type, fault)
		}
	default:
		c.follow(r, rule)
	}
}

// follow takes a record of an operation.
func (c *Conformer) follow(r *transcript.Record, rule *rules.Rule) {
	c.endRound(r)
	if c.aborted {
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) goes on after the session was left",
			r.Number, r.Operation, r.Kind)
	}
	if r.Type == transcript.TypeOpened && rule.Class == contract.ClassHE {
		// Takes a chunk of what an encrypted sum opened to.
		s := &c.encrypted
		shares := c.current.rule
		c.finish()
		fault := ""
		switch {
		case s.rule == nil || s.rule != rule || shares != rule.Shares || r.Operation != c.number:
			fault = "a total without the shares that decrypt it"
		case !slices.Contains(s.roots, c.self):
			fault = "a total at another party than its root"
		default:
			fault = c.encryptedTotal(r)
		}
		if fault != "" {
			c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s): %s", r.Number, r.Operation, r.Kind, fault)
			*s = encryptedSum{}
		}
		return
	}
	if o := &c.current; r.Operation != o.number || o.rule != rule || o.ended {
		c.start(r, rule)
	}
	if r.Type == transcript.TypeReceived {
		c.came[r.Peer] = max(c.came[r.Peer], r.Operation)
	}
	if c.current.off {
		return
	}
	c.step(r)
}

// anyStage stands for the stage of an operation that comes at any.
const anyStage = -1

// late reports whether a record begins an operation whose turn was earlier: a party may take what it receives in a
// masked message, or in a sum that stays under a pad, after it has gone on; see protocol.Session.BeginReduce. It takes
// it before anything that its sender sent later, and before the next countersignatures.
func (c *Conformer) late(r *transcript.Record, rule *rules.Rule) bool {
	if _, begun := c.begun[r.Operation]; begun || r.Operation >= c.number || r.Type != transcript.TypeReceived ||
		r.Operation <= c.came[r.Peer] || r.Operation <= c.rounds.now.operation ||
		rule.Class != contract.ClassMasked || !rule.MayPad && rule.Collective != contract.CollectiveDirect {
		return false
	}
	for number, stage := range c.begun { // those of its turn
		if stage != anyStage && (number < r.Operation && stage > rule.Stage || number > r.Operation && stage < rule.Stage) {
			return false
		}
	}
	taken := func(s rules.Step) bool { return s.Event == r.Type && s.Peer == r.Peer }
	return slices.ContainsFunc(rule.Scripts, func(s rules.Script) bool {
		return receives(&s) && slices.ContainsFunc(s.Steps, taken)
	})
}

// receives reports whether a party sends nothing in a script.
func receives(s *rules.Script) bool {
	return !slices.ContainsFunc(s.Steps, func(s rules.Step) bool { return s.Event == transcript.TypeSent })
}

// start begins an operation with its first record.
func (c *Conformer) start(r *transcript.Record, rule *rules.Rule) {
	if !c.inOrder(r, rule) {
		c.skip(r, rule)
		return
	}
	c.finish()
	// Wants the last multiple of protocol.CountersignEvery operations to be countersigned before the next, and what
	// the transcripts hold of the sessions before to be stated and signed before the second.
	if r.Operation > 1 && !c.rounds.first {
		c.rounds.first = true
		c.found.Fail(finding.CheckSessions, "record %d: operation %d (%s) begins in session %d before the parties have "+
			"stated, and signed, what their transcripts hold of the sessions before", r.Number, r.Operation, r.Kind, c.session)
	}
	last := (r.Operation - min(1, r.Operation)) / contract.CountersignEvery * contract.CountersignEvery
	if last > 0 && c.rounds.last < last {
		c.found.Fail(finding.CheckCountersignatures, "record %d: operation %d (%s) begins in session %d "+
			"without the countersignatures that are due after operation %d", r.Number, r.Operation, r.Kind, c.session, last)
	}
	late := r.Operation < c.number
	if !rule.AnyTime() && rule.Stage < c.stage && !late {
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) is of an earlier stage of the "+
			"contract than the operation before it", r.Number, r.Operation, r.Kind)
	}
	c.begun[r.Operation] = anyStage
	c.number = max(c.number, r.Operation)
	if !rule.AnyTime() {
		c.begun[r.Operation] = rule.Stage
		c.stage = max(c.stage, rule.Stage)
	}
	ids := c.rules.ByKind[contract.KindRowset]
	switch {
	case ids == nil || ids.Collective != contract.CollectivePairs || c.rows || len(ids.Scripts[0].Steps) == 0:
	case rule == ids:
		c.rows = true
	case rule.Stage > ids.Stage && !rule.AnyTime() && rule.Kind != contract.KindDone:
		c.rows = true
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) begins in session %d before "+
			"the parties have compared their row ids", r.Number, r.Operation, r.Kind, c.session)
	}
	c.current.begin(r, rule, late)
	c.spend(r, rule)
	c.beginEncrypted(r, rule)
	if rule.Second {
		c.restrict(r)
	}
}

// inOrder checks that an operation can begin here.
func (c *Conformer) inOrder(r *transcript.Record, rule *rules.Rule) bool {
	switch {
	case c.number == 0 && (rule.Kind != contract.KindSessionKey || r.Operation != 1):
		c.found.Fail(finding.CheckSessions, "record %d: session %d begins with %s and not with the exchange of session keys",
			r.Number, c.session, r.Kind)
	case r.Operation < c.number && !c.late(r, rule):
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) comes after operation %d", r.Number,
			r.Operation, r.Kind, c.number)
		return false
	case r.Operation < c.number:
	case r.Operation == c.number && c.current.rule == rule:
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) goes on after the countersignatures that end it",
			r.Number, r.Operation, r.Kind)
		return false
	case r.Operation == c.number:
		c.found.Fail(finding.CheckOperations, "record %d: operation %d is %s, but another kind of record has the same number",
			r.Number, r.Operation, r.Kind)
		return false
	}
	return true
}

// skip leaves out an operation that was found wrong.
func (c *Conformer) skip(r *transcript.Record, rule *rules.Rule) {
	c.number = max(c.number, r.Operation)
	c.current = operation{rule: rule, number: r.Operation, off: true, live: c.current.live, spare: c.current.spare}
}

// spend counts an operation, and the bytes of a vector whose size all parties share.
func (c *Conformer) spend(r *transcript.Record, rule *rules.Rule) {
	a, what := &rule.Allowance, r.Kind
	if rule.Collective == contract.CollectiveDirect {
		what += " " + rules.Happened(r.Type, c.names[r.Peer])
		if a = rule.LinkOf(r.Type, r.Peer); a == nil {
			return // no script has it
		}
	}
	if a.Used++; a.Used > a.Count {
		c.found.Fail(finding.CheckOperations, "record %d: %s comes for time %d in session %d, %d are agreed",
			r.Number, what, a.Used, c.session, a.Count)
	}
	if rule.Exchanged() {
		return
	}
	if r.Size > uint64(a.Bytes-a.Spent) {
		c.found.Fail(finding.CheckOperations, "record %d: the vectors of %s have more bytes in session %d than the %d agreed",
			r.Number, what, c.session, a.Bytes)
		return
	}
	a.Spent += int64(r.Size)
}

// finish ends the operation under way, which must be whole.
func (c *Conformer) finish() {
	o := &c.current
	if o.rule == nil || o.ended {
		return
	}
	o.ended = true
	defer c.endEncrypted()
	if o.off {
		return
	}
	if o.whole() {
		c.pairs.note(o)
		return
	}
	name := finding.CheckOperations
	if o.rule.Kind == contract.KindSessionKey {
		name = finding.CheckSessions
	}
	c.found.Fail(name, "operation %d of session %d (%s, from record %d) is not whole: %s was next", o.number,
		c.session, o.rule.Kind, o.record, o.live[0].wanted(c.names))
}
