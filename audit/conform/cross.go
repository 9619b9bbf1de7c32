package conform

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/clients"
	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Cross compares the transcripts of every pair of parties: what one recorded as sent the other
// must have recorded as received. Links whose digests differ are compared frame by frame.
func Cross(ctx context.Context, in *evidence.Input, all []*Examination) []finding.Check {
	var checks []finding.Check
	seen := make(map[int]*Examination)
	var parties []*Examination
	for _, e := range all {
		switch other := seen[e.Self]; {
		case e.Self < 0:
			checks = append(checks, finding.Check{Name: finding.CheckCross, Verdict: finding.Failed,
				Detail: e.Source.Path + " is no transcript of the job and was not compared with the others"})
		case other != nil:
			checks = append(checks, finding.Check{Name: finding.CheckCross, Party: e.Transcript.Party, Verdict: finding.Failed,
				Detail: fmt.Sprintf("there are two transcripts of %s: %s and %s", e.Transcript.Party,
					other.Source.Path, e.Source.Path)})
		default:
			seen[e.Self] = e
			parties = append(parties, e)
		}
	}
	if c, ok := sameLists(parties); ok {
		checks = append(checks, c)
	}
	linked := clients.Linked(in.Contract)
	for i, a := range parties {
		for _, b := range parties[i+1:] {
			if !linked(a.Self, b.Self) {
				continue
			}
			p := &pair{in: in, a: a, b: b}
			checks = append(checks, p.check(ctx))
		}
	}
	return checks
}

// pair is two transcripts under comparison.
type pair struct {
	in        *evidence.Input
	a, b      *Examination
	compared  uint64   // frames
	alone     []string // what only one side recorded, where that is no fault
	statement bool     // what differs first is a statement of a party's links
	lacks     []string // what one side says came to it, and the other that sent it cannot show
}

// check compares the two ends of a link in all sessions.
func (p *pair) check(ctx context.Context) finding.Check {
	c := finding.Check{Name: finding.CheckCross, Party: p.name(p.a) + ", " + p.name(p.b), Verdict: finding.Passed}
	if !p.same() {
		p.compared = 0
		fault, err := p.lockstep(ctx)
		switch {
		case err != nil:
			c.Verdict, c.Detail = finding.Skipped, "the transcripts could not be read again: "+err.Error()
			return c
		case fault != "":
			c.Verdict, c.Detail = finding.Failed, fault
			return c
		}
	}
	c.Detail = fmt.Sprintf("%s of %s and %s are the same in both transcripts", wording.Count(p.compared, "frame"),
		p.name(p.a), p.name(p.b))
	unknown := p.a.unkept || p.b.unkept // whether what one side lacks is under its signature
	if len(p.lacks) > 0 || len(p.alone) > 0 && unknown {
		c.Verdict = finding.Skipped
	}
	for _, text := range slices.Concat(p.lacks, p.alone) {
		c.Detail += "; " + text
	}
	return c
}

// same compares digests; false means that the frames must be looked at, as where a digest or a session was not kept.
func (p *pair) same() bool {
	a, b := p.a.sessions, p.b.sessions
	if p.a.Stopped || p.b.Stopped || p.a.unkept || p.b.unkept {
		return false
	}
	for len(a) > 0 && len(b) > 0 {
		if a[0].number != b[0].number {
			return false
		}
		ours, ok := a[0].with(p.b.Self)
		theirs, same := b[0].with(p.a.Self)
		if ok != same || ours.digest != theirs.digest || ours.sent != theirs.received || ours.received != theirs.sent {
			return false
		}
		p.compared += ours.sent + ours.received
		a, b = a[1:], b[1:]
	}
	return len(a) == 0 && len(b) == 0
}

// with returns what passed between the party and a peer in the session.
func (s *sessionLinks) with(peer int) (linkDigest, bool) {
	for _, l := range s.links {
		if l.peer == peer {
			return l, true
		}
	}
	return linkDigest{}, false
}

func (p *pair) name(e *Examination) string { return p.in.Contract.Parties[e.Self].Name }

// done reports whether a transcript says that a session ended well with a peer, so that it lacks nothing of what
// passed between the two.
func (e *Examination) done(session uint32, peer int) bool {
	last := len(e.sessions) - 1
	if e.Stopped && last >= 0 && e.sessions[last].number == session {
		return false
	}
	at, ok := e.find(session)
	if !ok {
		return false
	}
	if l, ok := e.sessions[at].with(peer); ok {
		return l.whole
	}
	return e.sessions[at].done && !e.Served
}

// has reports whether a transcript has a session.
func (e *Examination) has(session uint32) bool {
	_, ok := e.find(session)
	return ok
}

// find looks a session up; their numbers increase.
func (e *Examination) find(session uint32) (int, bool) {
	return slices.BinarySearchFunc(e.sessions, session,
		func(s sessionLinks, n uint32) int { return cmp.Compare(s.number, n) })
}

// lockstep reads both transcripts again, once for each direction, and says what differs first. Another statement of a
// party's links follows from another record of them, which is named before it.
func (p *pair) lockstep(ctx context.Context) (string, error) {
	first := ""
	for _, d := range []struct{ from, to *Examination }{{p.a, p.b}, {p.b, p.a}} {
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
func (p *pair) direction(ctx context.Context, from, to *Examination) (string, error) {
	sent, err := from.frames(transcript.TypeSent, to.Self)
	if err != nil {
		return "", err
	}
	defer sent.Close()
	received, err := to.frames(transcript.TypeReceived, from.Self)
	if err != nil {
		return "", err
	}
	defer received.Close()
	m := &march{pair: p, from: from, to: to, sent: sent, received: received}
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

// linkFrames are those of one link and direction in one transcript.
type linkFrames struct {
	*evidence.Rereading
	event  transcript.Type
	peer   int
	left   uint64 // records that verified and are not read yet
	record transcript.Record
	over   bool
}

// frames starts reading the frames that a party exchanged with a peer in one direction.
func (e *Examination) frames(event transcript.Type, peer int) (*linkFrames, error) {
	again, err := e.Source.Reread()
	if err != nil {
		return nil, err
	}
	return &linkFrames{Rereading: again, event: event, peer: peer, left: e.Verified}, nil
}

// advance reads up to the next frame of the link.
func (f *linkFrames) advance(ctx context.Context) error {
	for f.left > 0 {
		f.left--
		if err := f.Next(ctx, &f.record); err != nil {
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
	from, to       *Examination
	sent, received *linkFrames

	extra extra
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
		m.statement = rules.IsStatement(s.Kind)
		return fmt.Sprintf("session %d, %s -> %s, frame %d (operation %d, %s): %s (record %d of %s, record %d of %s)",
			s.Session, m.name(m.from), m.name(m.to),
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
		return fmt.Sprintf("%s recorded chunk %d with %d bytes of %d, it was sent as chunk %d with %d bytes of %d",
			to, r.Chunk, r.Bytes, r.Size, s.Chunk, s.Bytes, s.Size)
	case s.Sum() != r.Sum():
		return to + " recorded other bytes"
	}
	return ""
}

// alone takes a frame that only one side has. What the side that lacks it has signed it cannot show; what was sent
// to it, and is under no signature, was on its way when its session broke off.
func (m *march) alone(ctx context.Context, f *linkFrames, has, lacks *Examination) (string, error) {
	r := &f.record
	if signed := has.signed(r.Session, lacks.Self, f.event); r.Sequence < signed {
		m.statement = rules.IsStatement(r.Kind)
		return fmt.Sprintf("session %d, %s -> %s, frame %d (operation %d, %s): %s cannot show %s from there "+
			"on that %s has (record %d), "+
			"and that it has signed: its transcript has lost them, or they were taken out",
			r.Session, m.name(m.from), m.name(m.to), r.Sequence, r.Operation, r.Kind, m.name(lacks),
			wording.Count(signed-r.Sequence, "frame"), m.name(has), r.Number), nil
	}
	// A party whose peer is done may still be left by a third one, and tell the peer, who no longer listens.
	left := r.Kind == contract.KindAbort && !has.done(r.Session, lacks.Self)
	if lacks.done(r.Session, has.Self) && !left {
		return fmt.Sprintf("session %d, %s -> %s, frame %d (operation %d, %s): only %s has it (record %d), "+
			"though %s says that it has the whole session",
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
	has, lacks *Examination
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
	text += fmt.Sprintf(", and of %s -> %s only %s recorded the last %s", m.name(m.from), m.name(m.to),
		m.name(x.has), wording.Count(x.frames, "frame"))
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
func (e *Examination) signed(session uint32, peer int, event transcript.Type) uint64 {
	at, ok := e.find(session)
	if !ok {
		return 0
	}
	l, _ := e.sessions[at].with(peer)
	return l.signed[rules.Way(event)]
}
