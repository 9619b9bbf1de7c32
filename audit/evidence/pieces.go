package evidence

import "github.com/hanse-project/hanse/protocol/transcript"

// Pieces tells the pieces of lists apart in the records of an alignment: messages of one kind between the same two,
// each with an operation of its own. The zero value is ready for the first record.
type Pieces struct {
	now map[link]moment
}

// link is one kind of message in one direction.
type link struct {
	kind  string
	event transcript.Type
	peer  int
}

// moment is the piece under way on a link.
type moment struct {
	session   uint32
	operation uint64
	piece     int
}

// Of says of which piece a record is, counted from 0 in each session.
func (p *Pieces) Of(r *transcript.Record) int {
	at := link{r.Kind, r.Type, r.Peer}
	before, ok := p.now[at]
	switch {
	case !ok || before.session != r.Session:
		before = moment{session: r.Session, operation: r.Operation}
	case before.operation != r.Operation:
		before.operation, before.piece = r.Operation, before.piece+1
	}
	if p.now == nil {
		p.now = make(map[link]moment)
	}
	p.now[at] = before
	return before.piece
}
