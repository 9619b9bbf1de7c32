package audit

import (
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// maxPassed is how many chunks of a message are remembered.
const maxPassed = 1 << 16

// passed is what was sent of the latest message that may go to several parties: a client's vector that the one
// above did not take goes to the server, and several holders of a key decrypt one total.
type passed struct {
	moment
	kind   string
	chunks []keys.Hash
}

// repetition is how a part of a message relates to what was sent before.
type repetition int

// The repetitions.
const (
	sentFirst repetition = iota // the first of its place in the message
	sentAgain                   // the same to another party
	sentOther                   // something else in the same place
)

// take takes the next frame.
func (p *passed) take(r *transcript.Record) repetition {
	if r.Type != transcript.TypeSent {
		return sentFirst
	}
	if now := (moment{r.Session, r.Operation}); p.moment != now || p.kind != r.Kind {
		*p = passed{moment: now, kind: r.Kind, chunks: p.chunks[:0]}
	}
	switch at := int(r.Chunk); {
	case at < len(p.chunks) && p.chunks[at] == r.Sum():
		return sentAgain
	case at < len(p.chunks):
		return sentOther
	case at == len(p.chunks) && at < maxPassed:
		p.chunks = append(p.chunks, r.Sum())
	}
	return sentFirst
}
