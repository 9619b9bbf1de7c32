package testnet

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hanse-project/hanse/keys"
)

// direction is an ordered pair of members.
type direction struct{ from, to keys.ID }

// count is what one member sent to another, over all sessions and lives.
type count struct{ frames, bytes atomic.Int64 }

// countOf returns the count of a direction. n.mu is held.
func (n *Network) countOf(from, to keys.ID) *count {
	d := direction{from, to}
	if n.counts[d] == nil {
		n.counts[d] = new(count)
	}
	return n.counts[d]
}

// Sent returns what one member has sent to another in session frames, over all sessions and
// restarts: as Send was given it, whatever OnFrame did, length prefixes included.
func (n *Network) Sent(from, to keys.ID) (frames int, bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.countOf(from, to)
	return int(c.frames.Load()), c.bytes.Load()
}

// Tap is what one member has received: its whole view of the sessions it is in.
type Tap struct {
	mu     sync.Mutex
	frames []Frame
}

// Tap begins to record every session frame a member receives, in the order in which its calls of
// Receive return, over all sessions and restarts. A later Tap of the same member takes its place.
func (n *Network) Tap(id keys.ID) *Tap {
	t := new(Tap)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.member(id).tap.Store(t)
	return t
}

// record keeps a copy of a frame. Index is the frame's place among those received from its
// sender in its session.
func (t *Tap) record(l *link, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, Frame{From: l.writer.owner.member.id, To: l.reader.owner.member.id,
		Session: l.reader.session, Index: l.taken, Data: bytes.Clone(data)})
}

// Frames returns the frames recorded so far. Their Data must not be changed.
func (t *Tap) Frames() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames)
}
