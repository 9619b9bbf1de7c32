package audit

import (
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/protocol"
)

// roundHead is the length of what stands before the numbers of a message to a client: the round's number, in
// bytes.
const roundHead = 4

// servedValues returns how many numbers came to a party of a job over clients: those of totals, or of every vector
// where nothing protects them, and those that it was told.
func (l *learning) servedValues(parties int) int64 {
	told := max(0, l.ToldBytes-roundHead*l.Messages) / 8
	if l.Partial > 0 {
		return told + max(0, l.Partial-l.Copies*int64(setSize(parties)))/8
	}
	return told + l.Words
}

// inMessages reports whether contracts of a job count openings of a kind by messages, and not by the numbers in
// them: choices, networks and what goes with them are messages of many numbers, or of none.
func inMessages(j *protocol.Job, kind string) bool {
	return j.Algorithm == algorithmOFMSFT && kind != ofmsft.KindUpdates
}

// followsServed judges the openings of a job over clients: from totals, and from the model that they make,
// something about the clients' rows follows, as all of them know.
func (a *auditor) followsServed() Verdict {
	if a.in.Contract.Job.Privacy == published {
		return Leak
	}
	return Disclosed
}
