package rules

import (
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// spending is what a party sent of one kind to one other, against its budget.
type spending struct {
	Budget     contract.Egress
	Frames     int64 // in the session under way
	Bytes      int64
	mostFrames int64 // in the session that sent most
	mostBytes  int64
}

// Spend counts a frame.
func (s *spending) Spend(r *transcript.Record) {
	s.Frames, s.Bytes = s.Frames+1, s.Bytes+int64(r.Bytes)
	if s.Bytes > s.mostBytes || s.Bytes == s.mostBytes && s.Frames > s.mostFrames {
		s.mostFrames, s.mostBytes = s.Frames, s.Bytes
	}
}

// Over reports whether more was sent in this session than the contract allows.
func (s *spending) Over() bool { return s.Frames > s.Budget.MaxFrames || s.Bytes > s.Budget.MaxBytes }

// Learnt is how many values of one kind came to this party, in all sessions and in the one with
// the most.
type Learnt struct {
	opened       int64 // words of totals of which it was the root, and of openings sent to it alone
	told         int64 // frames of openings that others broadcast
	messages     int64 // of which so many begin a message
	copies       int64 // of what was received in the clear, the beginnings of messages
	toldBytes    int64
	partial      int64 // words of others' sums in the clear, received to be passed on or added up
	Contributors int   // smallest number of parties in a protected sum of which it was the root; 0: none

	session, sessionTold, mostOpened, mostTold int64
}

// Learn counts what a record shows to the party. The words of a direct message are those of the opening
// itself, and not what all are told of one.
func (r *Rule) Learn(record *transcript.Record) {
	if r.Collective == contract.CollectiveDirect && record.Type == transcript.TypeReceived &&
		record.Class == contract.ClassOpening {
		r.Learnt.open(record)
		return
	}
	r.Learnt.learn(record)
}

// open counts words that opened to the party.
func (l *Learnt) open(r *transcript.Record) {
	words := r.Encoding.Count(int64(r.Bytes))
	l.opened += words
	l.session += words
	l.mostOpened = max(l.mostOpened, l.session)
}

// learn counts what a record shows to the party.
func (l *Learnt) learn(r *transcript.Record) {
	switch {
	case r.Type == transcript.TypeOpened && r.Class == contract.ClassMasked: // a total under its pad
	case r.Type == transcript.TypeOpened:
		l.open(r)
	case r.Type == transcript.TypeReceived && r.Class == contract.ClassOpening:
		l.told++
		if r.Chunk == 0 {
			l.messages++
		}
		l.toldBytes += int64(r.Bytes)
		l.sessionTold++
		l.mostTold = max(l.mostTold, l.sessionTold)
	case r.Type == transcript.TypeReceived && r.Class == contract.ClassPublished:
		l.partial += r.Encoding.Count(int64(r.Bytes))
		if r.Chunk == 0 {
			l.copies++
		}
	}
}

// Learning is what one transcript says a party learned of one kind.
type Learning struct {
	Kind         string
	Words        int64 // opened to it as the root of sums or by direct messages, in all sessions
	MostWords    int64 // in the session with the most
	Told         int64 // broadcasts of openings received, in all sessions
	ToldBytes    int64
	Messages     int64 // that these make up
	Copies       int64 // messages that Partial is of
	MostTold     int64 // in the session with the most
	Partial      int64 // words of others' sums in the clear that it received as a parent, in all sessions
	Contributors int   // smallest number of parties in a protected sum of which it was the root; 0: none
}

// Learned lists what the party learned, in the contract's order.
func (s *Rules) Learned() []Learning {
	var list []Learning
	for _, r := range s.list {
		l := &r.Learnt
		if l.opened+l.told+l.partial > 0 {
			list = append(list, Learning{Kind: r.Kind, Words: l.opened, MostWords: l.mostOpened, Told: l.told,
				ToldBytes: l.toldBytes, Messages: l.messages, Copies: l.copies,
				MostTold: l.mostTold, Partial: l.partial, Contributors: l.Contributors})
		}
	}
	return list
}

// Lines lists the budget with what was sent, in the contract's order.
func (s *Rules) Lines(names []string) []finding.Egress {
	var list []finding.Egress
	for _, r := range s.list {
		for _, e := range r.Egress {
			if e != nil {
				list = append(list, e.line(names))
			}
		}
	}
	return list
}

// line is one line of the report.
func (s *spending) line(names []string) finding.Egress {
	b := &s.Budget
	return finding.Egress{From: names[b.From], To: names[b.To], Kind: b.Kind, Class: b.Class.String(),
		Encoding:     b.Encoding.String(),
		BudgetFrames: b.MaxFrames, BudgetBytes: b.MaxBytes, Frames: s.mostFrames, Bytes: s.mostBytes}
}

// ServedValues returns how many numbers came to a party of a job over clients: those of totals, or of every vector
// where nothing protects them, and those that it was told.
func (l *Learning) ServedValues(parties int) int64 {
	told := max(0, l.ToldBytes-evidence.RoundHead*l.Messages) / 8
	if l.Partial > 0 {
		return told + max(0, l.Partial-l.Copies*int64(evidence.SetSize(parties)))/8
	}
	return told + l.Words
}

// Values returns how many values of a kind of opening were recorded.
func (l *Learning) Values(kind string) int64 {
	switch kind {
	case "class names", "target moments":
		return 2 * l.Told
	case evidence.OpeningReach, evidence.OpeningLambda, evidence.OpeningPace:
		return l.Told
	case contract.KindRowset:
		return l.MostTold // a later session tells the same again
	case "products":
		return l.ToldBytes / 8
	case "labelled":
		return 8 * l.ToldBytes
	case evidence.OpeningPartialAngles:
		return l.Partial
	}
	if !consent.Knows(kind) { // of sums, or of what one party tells all
		return max(l.Words, l.Told)
	}
	return l.Words
}
