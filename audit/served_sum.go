package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// servedSum is the sum that a server adds up, or the question that it asks.
type servedSum struct {
	number   uint64 // 0: none is under way
	question bool
	begun    []bool // by party: who was asked
	vectors  []bool // whose vectors came in time, by way of no other client
	told     []bool // who was told to be among the survivors
	closed   bool   // vectors come too late
	size     uint64 // of a vector on its way
	answers  int    // clients that helped to open it: by shares
	switches int    // clients that were asked to decrypt
	total    direction
	opened   bool
}

// newServedSum returns none.
func newServedSum(parties int) servedSum {
	return servedSum{begun: make([]bool, parties), vectors: make([]bool, parties), told: make([]bool, parties)}
}

// begin starts a sum.
func (s *servedSum) begin(number uint64) {
	clear(s.begun)
	clear(s.vectors)
	clear(s.told)
	*s = servedSum{number: number, begun: s.begun, vectors: s.vectors, told: s.told}
}

// tell notes what a client was told.
func (s *servedSum) tell(client int, kind string) {
	switch {
	case kind == cohort.KindBegin || isQuestion(kind):
		s.begun[client] = true
	case kind == cohort.KindSurvivors:
		s.told[client], s.closed = true, true
	case kind == cohort.KindSwitch:
		s.switches++
	}
}

// hear notes what a client has said, to its end.
func (s *servedSum) hear(r *transcript.Record, kind string) string {
	switch {
	case kind == cohort.KindShares || kind == cohort.KindOpening:
		s.answers++
	case kind != vectorTurn:
	case s.size != 0 && r.Size != s.size:
		return fmt.Sprintf("a vector of %d bytes, others in sum %d have %d", r.Size, s.number, s.size)
	default:
		s.size, s.vectors[r.Peer] = r.Size, !s.closed
	}
	return ""
}

// trues counts the parties of a set.
func trues(set []bool) int {
	n := 0
	for _, is := range set {
		if is {
			n++
		}
	}
	return n
}

// contributors returns how many clients' vectors are in the total, at most, as far as the server's links show
// it: through a tree or ring vectors come added up, and the survivors that were told are all there is to count.
func (s *servedSum) contributors(star bool) int {
	n := trues(s.told)
	if star {
		n = min(n, trues(s.vectors))
	}
	return n
}

// open takes a chunk of a total that this party learned.
func (s *served) open(r *transcript.Record, rule *rule) {
	v := s.vectors[rule]
	if v == nil || s.server() >= 0 || v.declared == 0 {
		s.found.leak(checkOpenings, "record %d: operation %d (%s) opened to %s, to whom the contract opens no such total", r.Number, r.Operation, r.Kind, s.names[s.self])
		return
	}
	fault := s.misopened(r, v)
	if fault == "" {
		var first, last bool
		if first, last, fault = s.sum.total.take(r, true); first && fault == "" {
			s.learn(r, rule, v)
		}
		s.sum.opened = s.sum.opened || last
	}
	if fault != "" {
		s.found.fail(checkOperations, "record %d: operation %d (%s) opened: %s", r.Number, r.Operation, r.Kind, fault)
	}
}

// misopened says why a total cannot open so, or nothing.
func (s *served) misopened(r *transcript.Record, v *vectorKind) string {
	switch {
	case r.Class != protocol.ClassOpening || r.Encoding != protocol.Fixed64:
		return fmt.Sprintf("it is %s %s, want %s %s", r.Class, r.Encoding, protocol.ClassOpening, protocol.Fixed64)
	case r.Operation != s.sum.number || !s.sum.closed:
		return fmt.Sprintf("the vectors of sum %d have not all come", r.Operation)
	case s.sum.opened:
		return "it opens again"
	case v.total > 0 && r.Size > v.total || r.Size == 0 || r.Size%totalWord != 0:
		return fmt.Sprintf("a total of %d bytes, the contract says %d at most", r.Size, v.total)
	case v.front > 0 && s.sum.size > 0 && r.Size != s.sum.size-v.front:
		return fmt.Sprintf("a total of %d bytes, the vectors have %d", r.Size, s.sum.size-v.front)
	case v.class == protocol.ClassMasked && s.sum.answers == 0:
		return "no shares have come to take the masks away"
	case v.class == protocol.ClassHE && (s.sum.switches == 0 || s.sum.answers < s.sum.switches):
		return fmt.Sprintf("%d of %d decryption shares have come", s.sum.answers, s.sum.switches)
	}
	return ""
}

// learn counts a total that opens, and those whose vectors are in it.
func (s *served) learn(r *transcript.Record, rule *rule, v *vectorKind) {
	n := s.sum.contributors(s.star)
	s.tally.opened(n)
	if v.opened += r.Size; v.opened > v.declared {
		s.found.leak(checkOpenings, "record %d: totals of %s have opened %d words in session %d, the contract has %d", r.Number, r.Kind, v.opened/totalWord, s.session, v.declared/totalWord)
	}
	if l := &rule.learnt; l.contributors == 0 || n < l.contributors {
		l.contributors = n
	}
	if !isProtected(v.class) || n >= s.least {
		return
	}
	s.found.leak(checkContributors, "record %d: operation %d (%s) opened with the vectors of %s in it, at least %d are wanted",
		r.Number, r.Operation, r.Kind, counted(uint64(n), "client"), s.least)
}
