package clients

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// vectorTurn stands for the vectors' own kind among the turns.
const vectorTurn = cohort.KindVector

// turn is one message of a sum or a question, between the server and one client.
type turn struct {
	kind  string
	up    bool   // from the client
	after string // what must have passed before
	asks  bool   // it is of a question, or of the answer to one
}

// part names what a turn is part of.
func (t turn) part() string {
	if t.asks {
		return "question"
	}
	return "sum"
}

// turnsOf are the messages of a sum over clients.
func turnsOf(b cohort.Backend) []turn {
	var list []turn
	for _, m := range b.Messages() {
		list = append(list, turn{m.Kind, m.Up, m.After, false})
	}
	return list
}

// layTurns settles the messages of the contract's sums by what protects the vectors, and of the question that servers
// ask each of their clients, which has a number of its own among those of the sums.
func (s *Conformer) layTurns(a *federated.Algorithm) {
	s.turns = turnsOf(cohort.Plain)
	switch {
	case s.Protects(contract.ClassMasked):
		s.turns = turnsOf(cohort.Masked)
	case s.Protects(contract.ClassHE):
		s.turns = turnsOf(cohort.HE)
	}
	if a.Asked != "" {
		s.turns = append(s.turns, turn{a.Asked, false, cohort.KindKey, true}, turn{a.Answered, true, a.Asked, true})
	}
	for i, t := range s.turns {
		if rule := s.rules.ByKind[t.kind]; rule != nil && t.kind != vectorTurn {
			s.place[rule] = i
		}
	}
	for rule := range s.vectors {
		s.place[rule] = s.at(vectorTurn)
	}
}

// Protects reports whether vectors travel in a class.
func (s *Conformer) Protects(class contract.Class) bool {
	for _, v := range s.vectors {
		if v.class == class {
			return true
		}
	}
	return false
}

// at returns the place of a kind among the turns, -1 when it is none.
func (s *Conformer) at(kind string) int {
	return slices.IndexFunc(s.turns, func(t turn) bool { return t.kind == kind })
}

// start takes the first frame of a turn.
func (s *Conformer) start(r *transcript.Record, turn int) string {
	switch kin := s.kin[r.Peer]; {
	case kin == above:
		return s.startAbove(r, turn)
	case kin == below:
		return s.links[r.Peer].once(r.Operation, turn, s.turns)
	case s.turns[turn].up:
		return s.answer(r, turn)
	}
	if fault := s.goOn(r, turn); fault != "" {
		return fault
	}
	l := &s.links[r.Peer]
	t := l.enter(r.Operation)
	if fault := s.due(l, t, turn); fault != "" {
		return fault
	}
	return t.say(turn, s.turns)
}

// goOn begins the server's next sum or question with the first message of it, to whichever client.
func (s *Conformer) goOn(r *transcript.Record, turn int) string {
	if s.kin[r.Peer] != ownClient {
		return ""
	}
	switch {
	case r.Operation < s.sum.number:
		return fmt.Sprintf("it goes back to number %d after number %d", r.Operation, s.sum.number)
	case r.Operation > s.sum.number:
		s.count()
		s.sum.begin(r.Operation)
		s.sum.question = s.turns[turn].asks
	}
	s.sum.sent(r.Peer, s.turns[turn])
	return ""
}

// answer takes what a client says in a sum.
func (s *Conformer) answer(r *transcript.Record, turn int) string {
	l := &s.links[r.Peer]
	if s.kin[r.Peer] == ownServer && r.Operation < l.newest() {
		return fmt.Sprintf("it goes back to number %d after number %d has begun", r.Operation, l.newest())
	}
	t := l.of(r.Operation)
	switch {
	case t == nil && r.Operation <= l.forgotten:
		return ""
	case t == nil:
		return fmt.Sprintf("the server has not begun %s %d on this link", s.turns[turn].part(), r.Operation)
	}
	if fault := s.due(l, t, turn); fault != "" {
		return fault
	}
	fault := t.say(turn, s.turns)
	l.forget(r.Operation)
	return fault
}

// startAbove takes the beginning of a vector that goes to the client above.
func (s *Conformer) startAbove(r *transcript.Record, turn int) string {
	server := &s.links[s.server()]
	t := server.of(r.Operation)
	if t == nil || r.Operation < server.newest() {
		return fmt.Sprintf("sum %d is not under way", r.Operation)
	}
	if fault := s.due(server, t, turn); fault != "" {
		return fault
	}
	return s.links[r.Peer].once(r.Operation, turn, s.turns)
}

func (s *Conformer) server() int { return slices.Index(s.kin, ownServer) }

// once takes a turn on a link that has no others.
func (l *servedLink) once(sum uint64, turn int, turns []turn) string {
	fault := l.enter(sum).say(turn, turns)
	l.forget(sum)
	return fault
}

// due says what had to pass before a turn of a sum, or nothing when it has.
func (s *Conformer) due(l *servedLink, t *sumTalk, turn int) string {
	after := s.before(t, turn)
	passed := false
	switch {
	case after == cohort.KindKey:
		passed = l.key
	case after == cohort.KindHEKey:
		passed = l.public
	case after == vectorTurn && !s.star && s.server() < 0: // it may have come through another client
		passed = true
	default:
		passed = t.whole>>s.at(after)&1 == 1
	}
	if passed {
		return ""
	}
	return fmt.Sprintf("%s had to pass before it in %s %d", after, s.turns[turn].part(), t.number)
}

// before names what must have passed before a turn of a sum: before a deposit the begin or, where the graph
// has a coin, all nonces.
func (s *Conformer) before(t *sumTalk, turn int) string {
	commit := s.at(cohort.KindCommit)
	if s.turns[turn].kind == cohort.KindDeposit && commit >= 0 && t.begun>>commit&1 == 1 {
		return cohort.KindNonces
	}
	return s.turns[turn].after
}

// say notes a turn, which comes once and in its order. A number is that of a sum or of a question.
func (t *sumTalk) say(turn int, turns []turn) string {
	if t.begun>>turn&1 == 1 {
		return fmt.Sprintf("it comes again in %s %d", turns[turn].part(), t.number)
	}
	for other := range turns {
		if t.begun>>other&1 == 1 && turns[other].asks != turns[turn].asks {
			return fmt.Sprintf("number %d is that of a %s on this link", t.number, turns[other].part())
		}
	}
	for later := turn + 1; later < len(turns); later++ {
		if turns[later].up == turns[turn].up && t.begun>>later&1 == 1 {
			return fmt.Sprintf("it goes back behind %s in sum %d", turns[later].kind, t.number)
		}
	}
	t.begun |= 1 << turn
	return ""
}

// complete takes the last frame of a turn.
func (s *Conformer) complete(r *transcript.Record, turn int) string {
	l, kind := &s.links[r.Peer], s.turns[turn].kind
	if s.kin[r.Peer] == above { // the server will name it among the survivors all the same
		l = &s.links[s.server()]
	}
	if t := l.of(r.Operation); t != nil {
		t.whole |= 1 << turn
	}
	l.public = l.public || kind == cohort.KindHEKey
	if s.kin[r.Peer] == ownClient && s.turns[turn].up && r.Operation == s.sum.number {
		return s.sum.received(r, kind)
	}
	return ""
}
