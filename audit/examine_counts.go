package audit

import (
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// spending is what a party sent of one kind to one other, against its budget.
type spending struct {
	budget     protocol.Egress
	frames     int64 // in the session under way
	bytes      int64
	mostFrames int64 // in the session that sent most
	mostBytes  int64
}

// begin starts a session.
func (s *spending) begin() { s.frames, s.bytes = 0, 0 }

// spend counts a frame.
func (s *spending) spend(r *transcript.Record) {
	s.frames, s.bytes = s.frames+1, s.bytes+int64(r.Bytes)
	if s.bytes > s.mostBytes || s.bytes == s.mostBytes && s.frames > s.mostFrames {
		s.mostFrames, s.mostBytes = s.frames, s.bytes
	}
}

// over reports whether more was sent in this session than the contract allows.
func (s *spending) over() bool { return s.frames > s.budget.MaxFrames || s.bytes > s.budget.MaxBytes }

// spend holds a frame that was sent against the budget.
func (x *examiner) spend(rule *rule, r *transcript.Record) {
	if rule == nil || rule.egress[r.Peer] == nil {
		x.found.fail(checkEgress, "record %d: %s was sent to %s, which the contract does not list", r.Number, r.Kind, x.names[r.Peer])
		return
	}
	e := rule.egress[r.Peer]
	e.spend(r)
	if e.over() {
		x.found.fail(checkEgress, "record %d: %s to %s is over its budget in session %d: %s of %d bytes were sent, agreed are %s of %d bytes",
			r.Number, r.Kind, x.names[r.Peer], r.Session, counted(uint64(e.frames), "frame"), e.bytes, counted(uint64(e.budget.MaxFrames), "frame"), e.budget.MaxBytes)
	}
}

// learntOfKind is how many values of one kind came to this party, in all sessions and in the one with
// the most.
type learntOfKind struct {
	opened       int64 // words of totals of which it was the root, and of openings sent to it alone
	told         int64 // frames of openings that others broadcast
	messages     int64 // of which so many begin a message
	copies       int64 // of what was received in the clear, the beginnings of messages
	toldBytes    int64
	partial      int64 // words of others' sums in the clear, received to be passed on or added up
	contributors int   // smallest number of parties in a protected sum of which it was the root; 0: none

	session, sessionTold, mostOpened, mostTold int64
}

// begin starts a session.
func (l *learntOfKind) begin() { l.session, l.sessionTold = 0, 0 }

// learn counts what a record shows to the party. The words of a direct message are those of the opening
// itself, and not what all are told of one.
func (r *rule) learn(record *transcript.Record) {
	if r.collective == protocol.CollectiveDirect && record.Type == transcript.TypeReceived && record.Class == protocol.ClassOpening {
		r.learnt.open(record)
		return
	}
	r.learnt.learn(record)
}

// open counts words that opened to the party.
func (l *learntOfKind) open(r *transcript.Record) {
	words := r.Encoding.Count(int64(r.Bytes))
	l.opened += words
	l.session += words
	l.mostOpened = max(l.mostOpened, l.session)
}

// learn counts what a record shows to the party.
func (l *learntOfKind) learn(r *transcript.Record) {
	switch {
	case r.Type == transcript.TypeOpened && r.Class == protocol.ClassMasked: // a total under its pad
	case r.Type == transcript.TypeOpened:
		l.open(r)
	case r.Type == transcript.TypeReceived && r.Class == protocol.ClassOpening:
		l.told++
		if r.Chunk == 0 {
			l.messages++
		}
		l.toldBytes += int64(r.Bytes)
		l.sessionTold++
		l.mostTold = max(l.mostTold, l.sessionTold)
	case r.Type == transcript.TypeReceived && r.Class == protocol.ClassPublished:
		l.partial += r.Encoding.Count(int64(r.Bytes))
		if r.Chunk == 0 {
			l.copies++
		}
	}
}

// learning is what one transcript says a party learned of one kind.
type learning struct {
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

// learned lists what the party learned, in the contract's order.
func (s *rules) learned() []learning {
	var list []learning
	for _, r := range s.list {
		l := &r.learnt
		if l.opened+l.told+l.partial > 0 {
			list = append(list, learning{Kind: r.kind, Words: l.opened, MostWords: l.mostOpened, Told: l.told, ToldBytes: l.toldBytes, Messages: l.messages, Copies: l.copies,
				MostTold: l.mostTold, Partial: l.partial, Contributors: l.contributors})
		}
	}
	return list
}

// lines lists the budget with what was sent, in the contract's order.
func (s *rules) lines(names []string) []Egress {
	var list []Egress
	for _, r := range s.list {
		for _, e := range r.egress {
			if e != nil {
				list = append(list, e.line(names))
			}
		}
	}
	return list
}

// line is one line of the report.
func (s *spending) line(names []string) Egress {
	b := &s.budget
	return Egress{From: names[b.From], To: names[b.To], Kind: b.Kind, Class: b.Class.String(), Encoding: b.Encoding.String(),
		BudgetFrames: b.MaxFrames, BudgetBytes: b.MaxBytes, Frames: s.mostFrames, Bytes: s.mostBytes}
}
