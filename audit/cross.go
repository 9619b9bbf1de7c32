package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// checkCross is the name of the checks of two transcripts against each other.
const checkCross = "cross"

// crossExamine compares the transcripts of every pair of parties: what one recorded as sent the other
// must have recorded as received. Links whose digests differ are compared frame by frame.
func crossExamine(ctx context.Context, in *Input, all []*examination) []Check {
	var checks []Check
	seen := make(map[int]*examination)
	var parties []*examination
	for _, e := range all {
		switch other := seen[e.self]; {
		case e.self < 0:
			checks = append(checks, Check{Name: checkCross, Verdict: Failed, Detail: e.source.Path + " is no transcript of the job and was not compared with the others"})
		case other != nil:
			checks = append(checks, Check{Name: checkCross, Party: e.transcript.Party, Verdict: Failed,
				Detail: fmt.Sprintf("there are two transcripts of %s: %s and %s", e.transcript.Party, other.source.Path, e.source.Path)})
		default:
			seen[e.self] = e
			parties = append(parties, e)
		}
	}
	linked := links(in.Contract)
	for i, a := range parties {
		for _, b := range parties[i+1:] {
			if !linked(a.self, b.self) {
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
	in        *Input
	a, b      *examination
	compared  uint64   // frames
	alone     []string // what only one side recorded, where that is no fault
	statement bool     // what differs first is a statement of a party's links
	lacks     []string // what one side says came to it, and the other that sent it cannot show
}

// check compares the two ends of a link in all sessions.
func (p *pair) check(ctx context.Context) Check {
	c := Check{Name: checkCross, Party: p.name(p.a) + ", " + p.name(p.b), Verdict: Passed}
	if !p.same() {
		p.compared = 0
		fault, err := p.lockstep(ctx)
		switch {
		case err != nil:
			c.Verdict, c.Detail = Skipped, "the transcripts could not be read again: "+err.Error()
			return c
		case fault != "":
			c.Verdict, c.Detail = Failed, fault
			return c
		}
	}
	c.Detail = fmt.Sprintf("%s of %s and %s are the same in both transcripts", counted(p.compared, "frame"), p.name(p.a), p.name(p.b))
	unknown := p.a.unkept || p.b.unkept // whether what one side lacks is under its signature
	if len(p.lacks) > 0 || len(p.alone) > 0 && unknown {
		c.Verdict = Skipped
	}
	for _, text := range slices.Concat(p.lacks, p.alone) {
		c.Detail += "; " + text
	}
	return c
}

// same compares digests; false means that the frames must be looked at, as where a digest or a session was not kept.
func (p *pair) same() bool {
	a, b := p.a.sessions, p.b.sessions
	if p.a.stopped || p.b.stopped || p.a.unkept || p.b.unkept {
		return false
	}
	for len(a) > 0 && len(b) > 0 {
		if a[0].number != b[0].number {
			return false
		}
		ours, ok := a[0].with(p.b.self)
		theirs, same := b[0].with(p.a.self)
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

// name is a party's name.
func (p *pair) name(e *examination) string { return p.in.Contract.Parties[e.self].Name }

// done reports whether a transcript says that a session ended well with a peer, so that it lacks nothing of what
// passed between the two.
func (e *examination) done(session uint32, peer int) bool {
	last := len(e.sessions) - 1
	if e.stopped && last >= 0 && e.sessions[last].number == session {
		return false
	}
	at, ok := e.find(session)
	if !ok {
		return false
	}
	if l, ok := e.sessions[at].with(peer); ok {
		return l.whole
	}
	return e.sessions[at].done && !e.served
}

// has reports whether a transcript has a session.
func (e *examination) has(session uint32) bool {
	_, ok := e.find(session)
	return ok
}

// find looks a session up; their numbers increase.
func (e *examination) find(session uint32) (int, bool) {
	return slices.BinarySearchFunc(e.sessions, session, func(s sessionLinks, n uint32) int { return cmp.Compare(s.number, n) })
}
