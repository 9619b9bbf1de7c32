package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// conformer holds the records of one party against the operations that its contract lists. It knows the
// operation under way and forgets those before it.
type conformer struct {
	names []string
	self  int
	rules *rules
	found *findings
	least int // contributors that a protected sum must have

	session uint32
	number  uint64 // of the latest operation
	stage   int64
	current operation
	pairs   pairing
	rounds  rounds
	sealed  sealedSum
	keyed   bool // the session has a key for encrypted sums, which all parties compared
	keyTold bool // the key was broadcast
	rows    bool // the parties with data have compared their row ids
	aborted bool
}

// newConformer returns a conformer of a party's transcript.
func newConformer(c *protocol.Contract, self int, r *rules, f *findings, least int) *conformer {
	var names []string
	for _, p := range c.Parties {
		names = append(names, p.Name)
	}
	return &conformer{names: names, self: self, rules: r, found: f, least: least, rounds: newRounds(len(names), self)}
}

// begin starts a session.
func (c *conformer) begin(session uint32) {
	c.session, c.number, c.stage, c.aborted = session, 0, 0, false
	c.current.rule, c.current.off = nil, false
	c.pairs, c.sealed, c.keyed = pairing{}, sealedSum{}, false
	c.rounds.begin()
	c.keyTold, c.rows = false, false
	c.rules.begin()
}

// end ends a session. One that broke off may leave its last operation incomplete.
func (c *conformer) end(done bool) {
	if !done {
		return
	}
	c.finish()
	if c.sealed.rule != nil {
		c.unopened("the session is sealed as done")
	}
	switch {
	case c.current.rule == nil || c.current.rule.kind != protocol.KindDone:
		c.found.fail(checkOperations, "session %d is sealed as done, but the parties did not tell each other that they were", c.session)
	case !c.rounds.now.whole || c.rounds.last != c.number:
		c.found.fail(checkCountersignatures, "session %d is sealed as done, but its last round of countersignatures is not whole", c.session)
	}
}

// take takes a record of a frame, an opening or a countersignature; rule is that of its kind.
func (c *conformer) take(r *transcript.Record, rule *rule) {
	switch {
	case rule == nil:
		c.found.fail(checkOperations, "record %d: the contract has no message %q", r.Number, r.Kind)
		c.skip(r, nil)
	case isRound(r.Kind):
		c.countersign(r, rule)
	case r.Kind == protocol.KindAbort:
		c.abort(r, rule)
	default:
		c.follow(r, rule)
	}
}

// follow takes a record of an operation.
func (c *conformer) follow(r *transcript.Record, rule *rule) {
	c.endRound(r)
	if c.aborted {
		c.found.fail(checkOperations, "record %d: operation %d (%s) goes on after the session was left", r.Number, r.Operation, r.Kind)
	}
	if r.Type == transcript.TypeOpened && rule.class == protocol.ClassHE {
		c.unseal(r, rule)
		return
	}
	if o := &c.current; r.Operation != c.number || o.rule != rule || o.ended {
		c.start(r, rule)
	}
	if c.current.off {
		return
	}
	c.step(r)
}

// start begins an operation with its first record.
func (c *conformer) start(r *transcript.Record, rule *rule) {
	if !c.inOrder(r, rule) {
		c.skip(r, rule)
		return
	}
	c.finish()
	c.due(r)
	if rule.kind != protocol.KindShared && rule.stage < c.stage {
		c.found.fail(checkOperations, "record %d: operation %d (%s) is of an earlier stage of the contract than the operation before it", r.Number, r.Operation, r.Kind)
	}
	c.number = r.Operation
	if rule.kind != protocol.KindShared { // it comes at any stage
		c.stage = max(c.stage, rule.stage)
	}
	c.compare(r, rule)
	c.current.begin(r, rule)
	c.spend(r, rule)
	c.seal(r, rule)
	if rule.second {
		c.restrict(r)
	}
}

// compare wants the parties with data to have compared their row ids before anything of a later stage, and what was
// broadcast to be compared where the contract says so.
func (c *conformer) compare(r *transcript.Record, rule *rule) {
	ids := c.rules.byKind[protocol.KindRowset]
	switch {
	case ids == nil || ids.collective != protocol.CollectivePairs || c.rows || len(ids.scripts[0].steps) == 0:
	case rule == ids:
		c.rows = true
	case rule.stage > ids.stage && rule.kind != protocol.KindShared && rule.kind != protocol.KindDone: // which tell no data
		c.rows = true // it is said once
		c.found.fail(checkOperations, "record %d: operation %d (%s) begins in session %d before "+
			"the parties have compared their row ids", r.Number, r.Operation, r.Kind, c.session)
	}
}

// inOrder checks that an operation can begin here.
func (c *conformer) inOrder(r *transcript.Record, rule *rule) bool {
	switch {
	case c.number == 0 && (rule.kind != protocol.KindSessionKey || r.Operation != 1):
		c.found.fail(checkSessions, "record %d: session %d begins with %s and not with the exchange of session keys", r.Number, c.session, r.Kind)
	case r.Operation < c.number:
		c.found.fail(checkOperations, "record %d: operation %d (%s) comes after operation %d", r.Number, r.Operation, r.Kind, c.number)
		return false
	case r.Operation == c.number && c.current.rule == rule:
		c.found.fail(checkOperations, "record %d: operation %d (%s) goes on after the countersignatures that end it", r.Number, r.Operation, r.Kind)
		return false
	case r.Operation == c.number:
		c.found.fail(checkOperations, "record %d: operation %d is %s, but another kind of record has the same number", r.Number, r.Operation, r.Kind)
		return false
	}
	return true
}

// skip leaves out an operation that was found wrong.
func (c *conformer) skip(r *transcript.Record, rule *rule) {
	c.number = max(c.number, r.Operation)
	c.current.rule, c.current.off, c.current.ended = rule, true, false
}

// spend counts an operation, and the bytes of a vector whose size all parties share.
func (c *conformer) spend(r *transcript.Record, rule *rule) {
	a, what := &rule.allowance, r.Kind
	if rule.collective == protocol.CollectiveDirect {
		what += " " + happened(r.Type, c.names[r.Peer])
		if a = rule.linkOf(r.Type, r.Peer); a == nil {
			return // no script has it
		}
	}
	if a.used++; a.used > a.count {
		c.found.fail(checkOperations, "record %d: %s comes for time %d in session %d, %d are agreed", r.Number, what, a.used, c.session, a.count)
	}
	if rule.exchanged() {
		return
	}
	if r.Size > uint64(a.bytes-a.spent) {
		c.found.fail(checkOperations, "record %d: the vectors of %s have more bytes in session %d than the %d agreed", r.Number, what, c.session, a.bytes)
		return
	}
	a.spent += int64(r.Size)
}

// finish ends the operation under way, which must be whole.
func (c *conformer) finish() {
	o := &c.current
	if o.rule == nil || o.ended {
		return
	}
	o.ended = true
	defer c.sealedEnd()
	if o.off {
		return
	}
	if o.whole() {
		c.pairs.note(o)
		return
	}
	name := checkOperations
	if o.rule.kind == protocol.KindSessionKey {
		name = checkSessions
	}
	c.found.fail(name, "operation %d of session %d (%s, from record %d) is not whole: %s was next", o.number, c.session, o.rule.kind, o.record, o.live[0].wanted(c.names))
}

// abort takes the last words of a party; nothing follows them.
func (c *conformer) abort(r *transcript.Record, rule *rule) {
	if r.Type == transcript.TypeSent {
		c.aborted = true
	}
	fault := whole(r, rule)
	switch {
	case fault == "" && !r.Type.Frame():
		fault = "it is no frame"
	case fault == "" && r.Operation < c.number:
		fault = fmt.Sprintf("it is of operation %d, after operation %d", r.Operation, c.number)
	}
	if fault != "" {
		c.found.fail(checkOperations, "record %d: %s (%s) is not as the contract has it: %s", r.Number, r.Kind, r.Type, fault)
	}
}
