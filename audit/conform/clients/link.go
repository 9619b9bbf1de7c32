package clients

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// maxOwed is how many sums are remembered that a client may still answer. A server begins no sum with
// one that is silent, so that an honest link has very few.
const maxOwed = 64

// servedLink is a link in the session under way.
type servedLink struct {
	way           [2]direction
	stated        [2]bool // the sender has stated what its transcript holds of the sessions before
	key           bool    // the client's session key has passed
	public        bool    // the public key of encrypted sums has
	sums          []sumTalk
	forgotten     uint64  // the latest sum that there was no room for
	done, signed  [2]bool // who has said that it is done, and has sent a countersignature
	countersigned bool
}

// sumTalk is what was said on a link in one sum: a bit for each turn.
type sumTalk struct {
	number       uint64
	begun, whole uint32
}

// direction is one direction of a link: the message under way, and the latest sum.
type direction struct {
	open      bool
	kind      string
	operation uint64
	size      uint64
	next      uint64 // chunk
}

// take takes the next frame and reports whether it is the first or last of its message. On a strict link no
// message breaks off as long as others follow.
func (d *direction) take(r *transcript.Record, strict bool) (first, last bool, fault string) {
	goesOn := d.open && r.Kind == d.kind && r.Operation == d.operation && r.Size == d.size && uint64(r.Chunk) == d.next
	switch {
	case goesOn:
	case r.Operation < d.operation:
		return false, false, fmt.Sprintf("it goes back to operation %d after operation %d", r.Operation, d.operation)
	case d.open && strict:
		fault = fmt.Sprintf("it comes where chunk %d of %s was next", d.next, d.kind)
		d.open = false
		return false, false, fault
	case r.Chunk != 0:
		return false, false, fmt.Sprintf("chunk %d comes where a message begins", r.Chunk)
	default:
		*d = direction{kind: r.Kind, operation: r.Operation, size: r.Size}
	}
	at := uint64(r.Chunk) * contract.DefaultChunk
	if want := min(contract.DefaultChunk, d.size-at); r.Bytes != want {
		d.open = false
		return false, false, fmt.Sprintf("chunk %d has %d bytes, want %d", r.Chunk, r.Bytes, want)
	}
	d.next++
	d.open = at+contract.DefaultChunk < d.size
	return r.Chunk == 0, !d.open, ""
}

// state takes the first message of a direction: what the sender's transcript holds of the sessions before.
func (l *servedLink) state(r *transcript.Record) string {
	d := rules.Way(r.Type)
	before := l.stated[d]
	l.stated[d] = true
	switch {
	case r.Kind != contract.KindPast:
		return "it comes before its sender has stated what its transcript holds of the sessions before"
	case before:
		return "it comes again"
	case r.Operation != 0 || r.Size != contract.PastLinkSize || r.Bytes != r.Size || r.Chunk != 0:
		return fmt.Sprintf("a statement of %d bytes in operation %d, want %d in operation 0", r.Size, r.Operation,
			contract.PastLinkSize)
	}
	return ""
}

// lastWord takes one of the messages that end a link: the server is done, then the client, and then both
// sign what passed.
func (s *Conformer) lastWord(r *transcript.Record, rule *rules.Rule) string {
	l, d := &s.links[r.Peer], rules.Way(r.Type)
	answer := s.kin[r.Peer] == ownServer && d == rules.Out || s.kin[r.Peer] == ownClient && d == rules.In
	fault := rules.Misfit(r, rule)
	switch {
	case fault != "":
		return fault
	case r.Kind == contract.KindCountersign && (!l.done[rules.In] || !l.done[rules.Out]):
		return "it comes before both ends are done with the link"
	case r.Kind == contract.KindCountersign && l.signed[d], r.Kind != contract.KindCountersign && l.done[d]:
		return "it comes again, or after the link has ended"
	case r.Kind == contract.KindDone && answer && !l.done[1-d]:
		return "it comes before the server is done"
	case r.Kind == contract.KindCountersign:
		l.signed[d] = true
	default:
		l.done[d] = true
	}
	return ""
}

// of returns what was said in a sum, nil when it has not begun on this link.
func (l *servedLink) of(sum uint64) *sumTalk {
	at := slices.IndexFunc(l.sums, func(t sumTalk) bool { return t.number == sum })
	if at < 0 {
		return nil
	}
	return &l.sums[at]
}

// enter begins a sum on this link, or finds it. The oldest is forgotten when there are too many.
func (l *servedLink) enter(sum uint64) *sumTalk {
	if t := l.of(sum); t != nil {
		return t
	}
	if len(l.sums) == maxOwed {
		l.forgotten = l.sums[0].number
		l.sums = slices.Delete(l.sums, 0, 1)
	}
	l.sums = append(l.sums, sumTalk{number: sum})
	return &l.sums[len(l.sums)-1]
}

// forget drops the sums before one: nothing of them comes any more.
func (l *servedLink) forget(before uint64) {
	l.sums = slices.DeleteFunc(l.sums, func(t sumTalk) bool { return t.number < before })
}

// newest returns the latest sum that has begun on this link, 0 when none has.
func (l *servedLink) newest() uint64 {
	if len(l.sums) == 0 {
		return 0
	}
	return l.sums[len(l.sums)-1].number
}
