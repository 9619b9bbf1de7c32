package testnet

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// The reasons in the GoneErrors that faults cause.
const (
	reasonReset     = "connection reset"
	reasonRefused   = "connection refused"
	reasonNoRoute   = "no route"
	reasonUnknown   = "not in this network"
	reasonClosed    = "it closed the session"
	reasonLeft      = "it left before everybody had come"
	reasonNeverCame = "it has not opened the session"
)

// Frame is one session frame on its way.
type Frame struct {
	From, To keys.ID
	Session  protocol.SessionID
	Index    int // how many frames the sender sent on this link of this session before
	Data     []byte
	// Announced is the length in front of the frame when it is not that of Data. One above
	// protocol.MaxFrame makes the receiver refuse the frame; any other has no effect.
	Announced int64
}

// hook is a test's OnFrame, called for one frame at a time.
type hook struct {
	mu sync.Mutex
	f  func(Frame) []Frame
}

// OnFrame sets what happens to frames from now on: f gets a copy of every session frame at the
// moment the link takes it, and the frames it returns are delivered in its place, in their order.
// None drops it, two repeat it, one that was kept from an earlier call comes out of order. Of a
// returned frame Data and Announced count; it stays on the link of the frame it replaces. The
// sender sees no difference.
//
// f is called for one frame at a time and must not block; it may call Kill, Cut and Deliver. Nil
// delivers everything as it is.
func (n *Network) OnFrame(f func(f Frame) []Frame) {
	if f == nil {
		n.hook.Store(nil)
		return
	}
	n.hook.Store(&hook{f: f})
}

// apply returns what is delivered for a frame. The caller owns the results.
func (h *hook) apply(f Frame) []Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	frames := h.f(f)
	delivered := make([]Frame, len(frames))
	for i, g := range frames {
		delivered[i] = Frame{Data: bytes.Clone(g.Data), Announced: g.Announced}
	}
	return delivered
}

// Deliver puts a frame on the link from f.From to f.To in f.Room as if f.From had sent it, whether
// or not there is room for it: to release what OnFrame held back, or to forge. The error says
// why there is no such link.
func (n *Network) Deliver(f Frame) error {
	n.mu.Lock()
	m := n.sessions[f.Session][f.From]
	var l *link
	if m != nil {
		l = m.out[f.To]
	}
	n.mu.Unlock()
	if l == nil || !l.push(entry{data: bytes.Clone(f.Data), announced: f.Announced, due: n.due()}) {
		return fmt.Errorf("no link from %s to %s in the session", f.From.Short(), f.To.Short())
	}
	return nil
}

// Kill ends a member as a power cut does: its links break at once, what was under way on them is
// lost, everybody's pending Send, Receive and Call to it fail with a *protocol.GoneError, and
// everything its own Transport does fails with ErrKilled.
func (n *Network) Kill(id keys.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.member(id).transport.kill()
}

// Restart gives a member a new life, ending the present one if need be, and returns its fresh
// Transport: it has no handler and has opened no room.
func (n *Network) Restart(id keys.ID) *Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.member(id)
	m.transport.kill()
	if !n.closed {
		m.transport = newTransport(n, m)
	}
	return m.transport
}

// Cut separates two members: the links between them break as by Kill, calls fail, and sessions that
// both open do not link them until Heal.
func (n *Network) Cut(a, b keys.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[pairOf(a, b)] = true
	for m := range n.member(a).transport.meshes {
		if l := m.out[b]; l != nil {
			l.reader.lose(m, reasonNoRoute)
			m.lose(l.reader, reasonNoRoute)
		}
	}
	for c := range n.active {
		if pairOf(c.from.Self(), c.to.Self()) == pairOf(a, b) {
			c.fail(&protocol.GoneError{Peer: c.to.Self(), Reason: reasonNoRoute})
		}
	}
}

// Heal undoes Cut for everything that begins after it and for sessions in which one still waits for
// the other. Broken links stay broken.
func (n *Network) Heal(a, b keys.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cuts, pairOf(a, b))
	for _, session := range n.sessions {
		if session[a] != nil && session[b] != nil {
			n.link(session[a], session[b])
		}
	}
}
