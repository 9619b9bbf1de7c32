package lockstep

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
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
	signing rules.Script   // of all
	past    rules.Script   // the statements of the past
	asking  rules.Script   // of the party, when it is the receiver of an opening
	asked   []rules.Script // by receiver

	now    round
	stated bool   // the statements of the past are whole
	first  bool   // and all have signed their links after them
	last   uint64 // after which operation all have signed last
}

// newRounds lays out the rounds of a party among q.
func newRounds(q, self int) rounds {
	r := rounds{
		signing: rules.Script{Steps: roundSteps(q, self)},
		past:    rules.Script{Steps: ofKind(contract.KindPast, rules.ExchangeSteps(q, self))},
		asking:  rules.Script{Steps: askSteps(q, self)}, asked: make([]rules.Script, q),
	}
	for i := range r.asked {
		r.asked[i].Steps = askedSteps(i)
	}
	return r
}

// script returns that of the round which a record begins.
func (s *rounds) script(r *transcript.Record) *rules.Script {
	switch {
	case r.Kind == contract.KindPast:
		return &s.past
	case r.Kind == contract.KindAsk && r.Type == transcript.TypeSent:
		return &s.asking
	case r.Kind == contract.KindAsk:
		return &s.asked[r.Peer]
	}
	return &s.signing
}

// ended notes what a round that is whole has shown.
func (s *rounds) ended() {
	switch s.now.kind {
	case contract.KindPast:
		s.stated = true
	case contract.KindAsk:
	default:
		s.first, s.last = s.first || s.stated, s.now.operation
	}
}

// isRound reports whether records of a kind are of rounds.
func isRound(kind string) bool {
	return rules.IsStatement(kind) || kind == contract.KindCountersign || kind == contract.KindAsk
}

// countersign takes a record of a round.
func (c *Conformer) countersign(r *transcript.Record, rule *rules.Rule) {
	c.finish()
	now := &c.rounds.now
	if !now.begun || now.whole {
		*now = round{progress: progress{Script: c.rounds.script(r)}, operation: r.Operation, begun: true, kind: r.Kind}
	}
	fault := rules.Misfit(r, rule)
	switch {
	case fault != "":
	case rules.IsStatement(r.Kind) && int64(r.Size) != rule.Bytes/max(1, rule.Count):
		fault = fmt.Sprintf("a statement of %d bytes, want %d", r.Size, rule.Bytes/max(1, rule.Count))
	case r.Kind == contract.KindPast && (c.rounds.stated || c.number != 1):
		fault = "it comes where the session does not begin"
	case r.Kind == contract.KindStates && !c.rounds.stated, r.Kind == contract.KindAsk && !c.rounds.first:
		fault = "it comes before the parties have stated what their transcripts hold of the sessions before"
	case r.Operation < c.number:
		fault = "it is after an operation that is over"
	case r.Operation != now.operation:
		fault = "it is after another operation than the round began with"
	case !now.fits(r):
		fault = inRound(r.Kind, r.Type, c.names[r.Peer]) + " where " + now.wanted(c.names) + " was next"
	}
	if fault != "" {
		c.found.Fail(finding.CheckCountersignatures, "record %d: a round of countersignatures is not as it should be: %s",
			r.Number, fault)
		now.whole = true
		return
	}
	if r.Kind == contract.KindAsk {
		c.spend(r, rule)
	}
	clear(c.begun)
	c.begun[r.Operation] = c.stage
	c.number = max(c.number, r.Operation)
	if now.advance(1); now.whole {
		c.rounds.ended()
	}
}

// endRound wants the round under way to be whole before an operation goes on.
func (c *Conformer) endRound(r *transcript.Record) {
	if now := &c.rounds.now; now.begun && !now.whole {
		c.found.Fail(finding.CheckCountersignatures,
			"record %d: operation %d (%s) goes on while a round of countersignatures "+
				"is not whole: %s was next",
			r.Number, r.Operation, r.Kind, now.wanted(c.names))
		now.whole = true
	}
}

// roundSteps are those of a round of countersignatures: all state their links to all and then sign them, and each
// signature that came is kept.
func roundSteps(q, self int) []rules.Step {
	steps := slices.Concat(ofKind(contract.KindStates, rules.ExchangeSteps(q, self)), signSteps(q, self))
	for i := range q {
		if i != self {
			steps = append(steps, keepSteps(i)...)
		}
	}
	return steps
}

// signSteps send a signature to all others.
func signSteps(q, self int) []rules.Step {
	return ofKind(contract.KindCountersign, rules.ExchangeSteps(q, self)[:q-1])
}

// keepSteps receive a party's signature and keep it.
func keepSteps(peer int) []rules.Step {
	return ofKind(contract.KindCountersign,
		[]rules.Step{{Event: transcript.TypeReceived, Peer: peer}, {Event: transcript.TypeCountersigned, Peer: peer}})
}

// askSteps are those of the receiver of an opening, who asks all others for it and signs.
func askSteps(q, self int) []rules.Step {
	return slices.Concat(ofKind(contract.KindAsk, rules.ExchangeSteps(q, self)[:q-1]), signSteps(q, self))
}

// askedSteps are those of a party that is asked.
func askedSteps(receiver int) []rules.Step {
	return append([]rules.Step{{Event: transcript.TypeReceived, Peer: receiver, Kind: contract.KindAsk}},
		keepSteps(receiver)...)
}

func ofKind(kind string, steps []rules.Step) []rules.Step {
	for i := range steps {
		steps[i].Kind = kind
	}
	return steps
}

// inRound says in words what a record of a round tells of a peer.
func inRound(kind string, event transcript.Type, peer string) string {
	if event == transcript.TypeCountersigned {
		return rules.Happened(event, peer)
	}
	return kind + " " + rules.Happened(event, peer)
}
