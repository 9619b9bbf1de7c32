package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// round is the latest one in which parties sign links: all, or the receiver of an opening alone. The statements of the
// past with which a session begins are one too, in which nobody signs.
type round struct {
	progress
	operation uint64 // after which it comes
	begun     bool
	kind      string // of its first record
}

// rounds are a party's rounds in a session.
type rounds struct {
	signing script   // of all
	past    script   // the statements of the past
	asking  script   // of the party, when it is the receiver of an opening
	asked   []script // by receiver

	now    round
	stated bool   // the statements of the past are whole
	first  bool   // and all have signed their links after them
	last   uint64 // after which operation all have signed last
}

// newRounds lays out the rounds of a party among q.
func newRounds(q, self int) rounds {
	r := rounds{
		signing: script{steps: roundSteps(q, self)},
		past:    script{steps: ofKind(protocol.KindPast, exchangeSteps(q, self))},
		asking:  script{steps: askSteps(q, self)}, asked: make([]script, q),
	}
	for i := range r.asked {
		r.asked[i].steps = askedSteps(i)
	}
	return r
}

// begin starts a session.
func (s *rounds) begin() { s.now, s.stated, s.first, s.last = round{}, false, false, 0 }

// script returns that of the round which a record begins.
func (s *rounds) script(r *transcript.Record) *script {
	switch {
	case r.Kind == protocol.KindPast:
		return &s.past
	case r.Kind == protocol.KindAsk && r.Type == transcript.TypeSent:
		return &s.asking
	case r.Kind == protocol.KindAsk:
		return &s.asked[r.Peer]
	}
	return &s.signing
}

// ended notes what a round that is whole has shown.
func (s *rounds) ended() {
	switch s.now.kind {
	case protocol.KindPast:
		s.stated = true
	case protocol.KindAsk:
	default:
		s.first, s.last = s.first || s.stated, s.now.operation
	}
}

// isRound reports whether records of a kind are of rounds.
func isRound(kind string) bool {
	return isStatement(kind) || kind == protocol.KindCountersign || kind == protocol.KindAsk
}

// countersign takes a record of a round.
func (c *conformer) countersign(r *transcript.Record, rule *rule) {
	c.finish()
	now := &c.rounds.now
	if !now.begun || now.whole {
		*now = round{progress: progress{script: c.rounds.script(r)}, operation: r.Operation, begun: true, kind: r.Kind}
	}
	fault := whole(r, rule)
	switch {
	case fault != "":
	case isStatement(r.Kind) && int64(r.Size) != rule.bytes/max(1, rule.count):
		fault = fmt.Sprintf("a statement of %d bytes, want %d", r.Size, rule.bytes/max(1, rule.count))
	case r.Kind == protocol.KindPast && (c.rounds.stated || c.number != 1):
		fault = "it comes where the session does not begin"
	case r.Kind == protocol.KindStates && !c.rounds.stated, r.Kind == protocol.KindAsk && !c.rounds.first:
		fault = "it comes before the parties have stated what their transcripts hold of the sessions before"
	case r.Operation < c.number:
		fault = "it is after an operation that is over"
	case r.Operation != now.operation:
		fault = "it is after another operation than the round began with"
	case !now.fits(r):
		fault = inRound(r.Kind, r.Type, c.names[r.Peer]) + " where " + now.wanted(c.names) + " was next"
	}
	if fault != "" {
		c.found.fail(checkCountersignatures, "record %d: a round of countersignatures is not as it should be: %s",
			r.Number, fault)
		now.whole = true
		return
	}
	if r.Kind == protocol.KindAsk {
		c.spend(r, rule)
	}
	c.number = max(c.number, r.Operation)
	if now.advance(1); now.whole {
		c.rounds.ended()
	}
}

// isStatement reports whether records of a kind are of what parties say of their transcripts, which is always as long.
func isStatement(kind string) bool { return kind == protocol.KindPast || kind == protocol.KindStates }

// endRound wants the round under way to be whole before an operation goes on.
func (c *conformer) endRound(r *transcript.Record) {
	if now := &c.rounds.now; now.begun && !now.whole {
		c.found.fail(checkCountersignatures, "record %d: operation %d (%s) goes on while a round of countersignatures "+
			"is not whole: %s was next",
			r.Number, r.Operation, r.Kind, now.wanted(c.names))
		now.whole = true
	}
}

// due wants the last multiple of protocol.CountersignEvery operations to be countersigned before the next, and what the
// transcripts hold of the sessions before to be stated and signed before the second.
func (c *conformer) due(r *transcript.Record) {
	if r.Operation > 1 && !c.rounds.first {
		c.rounds.first = true // it is said once
		c.found.fail(checkSessions,
			"record %d: operation %d (%s) begins in session %d before the parties have stated, "+
				"and signed, what their transcripts hold of the sessions before", r.Number, r.Operation, r.Kind, c.session)
	}
	last := (r.Operation - min(1, r.Operation)) / protocol.CountersignEvery * protocol.CountersignEvery
	if last > 0 && c.rounds.last < last {
		c.found.fail(checkCountersignatures, "record %d: operation %d (%s) begins in session %d without the countersignatures that are due after operation %d",
			r.Number, r.Operation, r.Kind, c.session, last)
	}
}
