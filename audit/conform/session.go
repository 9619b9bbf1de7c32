package conform

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Limits of what is kept of a transcript.
const (
	maxTails = 6       // links of which the unsigned tail is named
	maxLinks = 1 << 20 // digests of links over all sessions; the rest is compared frame by frame
	maxEnds  = 1 << 20 // sessions
)

// lastRound is how many frames of a link the last round of countersignatures cannot cover: its own.
const lastRound = 2

// sessionState is the session under way.
type sessionState struct {
	number uint32
	begun  bool
	done   bool
	over   bool // by "done" or "broken"
}

// sessionLinks is what passed on the links of a session.
type sessionLinks struct {
	number uint32
	done   bool // sealed as done
	links  []linkDigest
}

// linkDigest is what passed between the party and a peer.
type linkDigest struct {
	peer           int
	digest         keys.Hash
	sent, received uint64    // frames
	signed         [2]uint64 // of which so many are under the peer's signature, sent and received
	whole          bool      // the party lacks nothing of it
}

// tails counts the frames that no countersignature covers.
type tails struct {
	before []uint64 // by peer: frames countersigned in the sessions before
	named  []string
	more   int
	kept   int // digests of links
}

// endSession looks at the links as the session under way leaves them.
func (x *examiner) endSession() {
	s := &x.session
	if !s.begun {
		return
	}
	s.begun = false
	if !s.over {
		x.conform.End(false)
	}
	summary, links := x.verifier.Summary(), x.verifier.Links()
	ended := sessionLinks{number: s.number, done: s.done}
	for peer := range x.names {
		sent, received := links.Counts(peer)
		if peer == x.out.Self || sent+received == 0 {
			continue
		}
		signed := summary.Peers[peer].Countersigned
		x.tail(peer, sent+received-(signed-x.tails.before[peer]))
		x.tails.before[peer] = signed
		if x.tails.kept++; x.tails.kept > x.mostLinks {
			x.out.unkept = true
			continue
		}
		ended.links = append(ended.links, linkDigest{peer: peer, digest: links.Digest(peer),
			sent: sent, received: received, signed: links.Signed(peer), whole: x.whole(peer)})
	}
	if len(x.out.sessions) == maxEnds {
		x.out.unkept = true
		x.found.Fail(finding.CheckSessions, "there are more than %d sessions", maxEnds)
		return
	}
	x.out.sessions = append(x.out.sessions, ended)
}

// whole reports whether the link to a peer ended well in the session that ends: with the session, or, in jobs
// over clients, by itself.
func (x *examiner) whole(peer int) bool {
	if x.served != nil {
		return x.served.EndedWell(peer)
	}
	return x.session.done
}

// gaps follows which numbers of sessions a transcript leaves out. That a party was not in a session is confirmed
// when the others sign what it has stated of its past in a later one: they have heard nothing of it in between.
type gaps struct {
	self      int
	one       bool // one other party's signature confirms: in jobs over clients there are links to some only
	open      string
	confirmed []bool // by party, in the session under way
}

// begin starts a session after another, 0 for none.
func (g *gaps) begin(before, session uint32) {
	clear(g.confirmed)
	if session > before+1 && g.open == "" {
		g.open = fmt.Sprintf("session %d", before+1)
		if session > before+2 {
			g.open = fmt.Sprintf("sessions %d to %d", before+1, session-1)
		}
	}
}

func (g *gaps) signed(peer int) {
	g.confirmed[peer] = true
	for i, c := range g.confirmed {
		if !c && i != g.self && !g.one {
			return
		}
	}
	g.open = ""
}

// conclude says what is left out and confirmed by nobody.
func (g *gaps) conclude(found *finding.Set) {
	if g.open != "" {
		found.Skip(finding.CheckSessions, "it has no %s, and no other party has confirmed that this one took no part", g.open)
	}
}

// tail notes frames of a link that the peer has not signed in the session that ends.
func (x *examiner) tail(peer int, frames uint64) {
	s := &x.session
	if x.whole(peer) {
		if frames > lastRound {
			x.found.Fail(finding.CheckCountersignatures,
				"session %d is sealed as done, but %s has not signed the last %s of its link",
				s.number, x.names[peer], wording.Count(frames, "frame"))
		}
		return
	}
	if frames == 0 {
		return
	}
	if len(x.tails.named) == maxTails {
		x.tails.more++
		return
	}
	x.tails.named = append(x.tails.named,
		fmt.Sprintf("%s with %s in session %d", wording.Count(frames, "frame"), x.names[peer], s.number))
}

// unsigned says which frames are under no countersignature, and why.
func (t *tails) unsigned(why string) string {
	if len(t.named) == 0 {
		return ""
	}
	text := "; not signed, since " + why + ": " + strings.Join(t.named, ", ")
	if t.more > 0 {
		text += fmt.Sprintf(" and %s more", wording.Count(t.more, "link"))
	}
	return text
}
