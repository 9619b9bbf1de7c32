package audit

import (
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// round is the latest round of countersignatures of a session.
type round struct {
	progress
	operation uint64 // after which it comes
	begun     bool
}

// countersign takes a record of a round.
func (c *conformer) countersign(r *transcript.Record, rule *rule) {
	c.finish()
	if !c.round.begun || c.round.whole {
		c.round = round{progress: progress{script: &c.signing}, operation: r.Operation, begun: true}
	}
	fault := whole(r, rule)
	switch {
	case fault == "" && r.Operation < c.number:
		fault = "it is after an operation that is over"
	case fault == "" && r.Operation != c.round.operation:
		fault = "it is after another operation than the round began with"
	case fault == "" && !c.round.fits(r):
		fault = happened(r.Type, c.names[r.Peer]) + " where " + c.round.wanted(c.names) + " was next"
	}
	if fault != "" {
		c.found.fail(checkCountersignatures, "record %d: a round of countersignatures is not as it should be: %s", r.Number, fault)
		c.round.whole = true
		return
	}
	c.number = max(c.number, r.Operation)
	c.round.advance(1)
}

// endRound wants the round under way to be whole before an operation goes on.
func (c *conformer) endRound(r *transcript.Record) {
	if c.round.begun && !c.round.whole {
		c.found.fail(checkCountersignatures, "record %d: operation %d (%s) goes on while a round of countersignatures is not whole: %s was next",
			r.Number, r.Operation, r.Kind, c.round.wanted(c.names))
		c.round.whole = true
	}
}

// due wants the last multiple of protocol.CountersignEvery operations to be countersigned before the next.
func (c *conformer) due(r *transcript.Record) {
	last := (r.Operation - min(1, r.Operation)) / protocol.CountersignEvery * protocol.CountersignEvery
	if last > 0 && c.round.operation < last {
		c.found.fail(checkCountersignatures, "record %d: operation %d (%s) begins in session %d without the countersignatures that are due after operation %d",
			r.Number, r.Operation, r.Kind, c.session, last)
	}
}
