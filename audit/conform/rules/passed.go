package rules

import (
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// maxPassed is how many chunks of a message are remembered.
const maxPassed = 1 << 16

// Passed is what was sent of the latest message that may go to several parties: a client's vector that the one
// above did not take goes to the server, and several holders of a key decrypt one total.
type Passed struct {
	Moment
	kind   string
	chunks []keys.Hash
}

// repetition is how a part of a message relates to what was sent before.
type repetition int

// The repetitions.
const (
	sentFirst repetition = iota // the first of its place in the message
	SentAgain                   // the same to another party
	SentOther                   // something else in the same place
)

// Take takes the next frame.
func (p *Passed) Take(r *transcript.Record) repetition {
	if r.Type != transcript.TypeSent {
		return sentFirst
	}
	if now := (Moment{r.Session, r.Operation}); p.Moment != now || p.kind != r.Kind {
		*p = Passed{Moment: now, kind: r.Kind, chunks: p.chunks[:0]}
	}
	switch at := int(r.Chunk); {
	case at < len(p.chunks) && p.chunks[at] == r.Sum():
		return SentAgain
	case at < len(p.chunks):
		return SentOther
	case at == len(p.chunks) && at < maxPassed:
		p.chunks = append(p.chunks, r.Sum())
	}
	return sentFirst
}

// Moment is an operation of a session.
type Moment struct {
	Session   uint32
	Operation uint64
}

// The directions of a link, as indices.
const (
	Out = 0
	In  = 1
)

// Way is the direction of a frame.
func Way(t transcript.Type) int {
	if t == transcript.TypeReceived {
		return In
	}
	return Out
}

// IsStatement reports whether records of a kind are of what parties say of their transcripts, which is always as long.
func IsStatement(kind string) bool { return kind == contract.KindPast || kind == contract.KindStates }
