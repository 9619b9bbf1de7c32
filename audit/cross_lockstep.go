package audit

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// lockstep reads both transcripts again, once for each direction, and says what differs first. Another statement of a
// party's links follows from another record of them, which is named before it.
func (p *pair) lockstep(ctx context.Context) (string, error) {
	first := ""
	for _, d := range []struct{ from, to *examination }{{p.a, p.b}, {p.b, p.a}} {
		p.statement = false
		fault, err := p.direction(ctx, d.from, d.to)
		if err != nil || fault != "" && !p.statement {
			return fault, err
		}
		if first == "" {
			first = fault
		}
	}
	return first, nil
}

// direction compares the frames from one party to the other.
func (p *pair) direction(ctx context.Context, from, to *examination) (string, error) {
	sent, err := from.frames(transcript.TypeSent, to.self)
	if err != nil {
		return "", err
	}
	defer sent.Close()
	received, err := to.frames(transcript.TypeReceived, from.self)
	if err != nil {
		return "", err
	}
	defer received.Close()
	m := &march{pair: p, from: from, to: to, sent: sent, received: received}
	return m.run(ctx)
}

// linkFrames are those of one link and direction in one transcript.
type linkFrames struct {
	*rereading
	event  transcript.Type
	peer   int
	left   uint64 // records that verified and are not read yet
	record transcript.Record
	over   bool
}

// frames starts reading the frames that a party exchanged with a peer in one direction.
func (e *examination) frames(event transcript.Type, peer int) (*linkFrames, error) {
	again, err := e.source.reread()
	if err != nil {
		return nil, err
	}
	return &linkFrames{rereading: again, event: event, peer: peer, left: e.verified}, nil
}

// advance reads up to the next frame of the link.
func (f *linkFrames) advance(ctx context.Context) error {
	for f.left > 0 {
		f.left--
		if err := f.next(ctx, &f.record); err != nil {
			return err
		}
		if f.record.Type == f.event && f.record.Peer == f.peer {
			return nil
		}
	}
	f.over = true
	return nil
}

// march goes through the frames of a direction at both ends.
type march struct {
	*pair
	from, to       *examination
	sent, received *linkFrames

	extra extra
}

// run compares frame by frame.
func (m *march) run(ctx context.Context) (string, error) {
	for _, f := range []*linkFrames{m.sent, m.received} {
		if err := f.advance(ctx); err != nil {
			return "", err
		}
	}
	for !m.sent.over || !m.received.over {
		fault, err := m.compare(ctx)
		if fault != "" || err != nil {
			return fault, err
		}
	}
	m.settle()
	return "", nil
}

// compare takes the next frame of both ends, or of the one whose session goes on longer.
func (m *march) compare(ctx context.Context) (string, error) {
	s, r := &m.sent.record, &m.received.record
	switch {
	case m.received.over || !m.sent.over && s.Session < r.Session:
		return m.alone(ctx, m.sent, m.from, m.to)
	case m.sent.over || r.Session < s.Session:
		return m.alone(ctx, m.received, m.to, m.from)
	}
	if what := m.differ(s, r); what != "" {
		m.statement = isStatement(s.Kind)
		return fmt.Sprintf("session %d, %s -> %s, frame %d (operation %d, %s): %s (record %d of %s, record %d of %s)", s.Session, m.name(m.from), m.name(m.to),
			s.Sequence, s.Operation, s.Kind, what, s.Number, m.name(m.from), r.Number, m.name(m.to)), nil
	}
	m.compared++
	if err := m.sent.advance(ctx); err != nil {
		return "", err
	}
	return "", m.received.advance(ctx)
}

// differ says what two records of one frame disagree in.
func (m *march) differ(s, r *transcript.Record) string {
	to := m.name(m.to)
	switch {
	case s.Sequence != r.Sequence:
		return fmt.Sprintf("%s recorded frame %d there", to, r.Sequence)
	case s.Operation != r.Operation || s.Kind != r.Kind:
		return fmt.Sprintf("%s recorded it as of operation %d, %s", to, r.Operation, r.Kind)
	case s.Class != r.Class || s.Encoding != r.Encoding:
		return fmt.Sprintf("%s recorded it as %s %s, it was sent as %s %s", to, r.Class, r.Encoding, s.Class, s.Encoding)
	case s.Chunk != r.Chunk || s.Size != r.Size || s.Bytes != r.Bytes:
		return fmt.Sprintf("%s recorded chunk %d with %d bytes of %d, it was sent as chunk %d with %d bytes of %d", to, r.Chunk, r.Bytes, r.Size, s.Chunk, s.Bytes, s.Size)
	case s.Sum() != r.Sum():
		return to + " recorded other bytes"
	}
	return ""
}

// alone takes a frame that only one side has. What the side that lacks it has signed it cannot show; what was sent
// to it, and is under no signature, was on its way when its session broke off.
func (m *march) alone(ctx context.Context, f *linkFrames, has, lacks *examination) (string, error) {
	r := &f.record
	if signed := has.signed(r.Session, lacks.self, f.event); r.Sequence < signed {
		m.statement = isStatement(r.Kind)
		return fmt.Sprintf("session %d, %s -> %s, frame %d (operation %d, %s): %s cannot show %s from there on that %s has (record %d), "+
			"and that it has signed: its transcript has lost them, or they were taken out",
			r.Session, m.name(m.from), m.name(m.to), r.Sequence, r.Operation, r.Kind, m.name(lacks),
			counted(signed-r.Sequence, "frame"), m.name(has), r.Number), nil
	}
	// A party whose peer is done may still be left by a third one, and tell the peer, who no longer listens.
	left := r.Kind == protocol.KindAbort && !has.done(r.Session, lacks.self)
	if lacks.done(r.Session, has.self) && !left {
		return fmt.Sprintf("session %d, %s -> %s, frame %d (operation %d, %s): only %s has it (record %d), though %s says that it has the whole session",
			r.Session, m.name(m.from), m.name(m.to), r.Sequence, r.Operation, r.Kind, m.name(has), r.Number, m.name(lacks)), nil
	}
	if m.extra.has != has || m.extra.session != r.Session {
		m.settle()
		m.extra = extra{session: r.Session, has: has, lacks: lacks}
	}
	m.extra.frames++
	return "", f.advance(ctx)
}

// extra is the end of a session that only one side has.
type extra struct {
	session    uint32
	has, lacks *examination
	frames     uint64
}

// settle notes how many frames of a session only one side recorded. A frame is on its sender's record before it leaves,
// so that a sender who lacks it has lost it.
func (m *march) settle() {
	x := &m.extra
	if x.frames == 0 {
		return
	}
	text := fmt.Sprintf("session %d broke off at %s", x.session, m.name(x.lacks))
	if !x.lacks.has(x.session) {
		text = fmt.Sprintf("%s has no session %d", m.name(x.lacks), x.session)
	}
	text += fmt.Sprintf(", and of %s -> %s only %s recorded the last %s", m.name(m.from), m.name(m.to), m.name(x.has), counted(x.frames, "frame"))
	list := &m.pair.alone
	if x.lacks == m.from {
		list = &m.pair.lacks
		text += fmt.Sprintf(", which %s sent and cannot show: its transcript has lost its end", m.name(x.lacks))
	}
	if len(*list) < maxTails {
		*list = append(*list, text)
	}
	m.extra = extra{}
}

// signed returns how many frames of a link, of one event in one session, are under the peer's signature.
func (e *examination) signed(session uint32, peer int, event transcript.Type) uint64 {
	at, ok := e.find(session)
	if !ok {
		return 0
	}
	l, _ := e.sessions[at].with(peer)
	return l.signed[way(event)]
}
