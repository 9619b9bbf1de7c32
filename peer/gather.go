package peer

import (
	"net"
	"sync"
	"sync/atomic"
)

// gatherMost is how many bytes are gathered at most: the four records of a full frame of yamux, with their heads and
// tags.
const gatherMost = 64<<10 + 4*(5+1+16)

// gatherSpace has room for what a connection gathers. It has it for the time of a write, since there may be thousands
// of connections.
var gatherSpace = sync.Pool{New: func() any { b := make([]byte, 0, gatherMost); return &b }}

// gather is a connection below TLS that hands the records of one write to the system together: TLS writes each of them
// by itself, 16 KiB at a time.
type gather struct {
	net.Conn
	mu   sync.Mutex
	held *[]byte      // what waits for flush; nil: nothing is gathered
	err  error        // the first error: a part of what TLS has numbered may be lost, and nothing can follow it
	busy atomic.Int32 // writes that have begun and are not flushed
}

// Write implements net.Conn.
func (g *gather) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	if g.held == nil {
		var n int
		n, g.err = g.Conn.Write(b)
		return n, g.err
	}
	if len(*g.held)+len(b) > gatherMost {
		if err := g.empty(); err != nil {
			return 0, err
		}
	}
	*g.held = append(*g.held, b...)
	return len(b), nil
}

// begin starts to gather.
func (g *gather) begin() {
	g.busy.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held = gatherSpace.Get().(*[]byte)
	}
}

// flush writes what was gathered, and gathers no more.
func (g *gather) flush() error {
	defer g.busy.Add(-1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		return g.err
	}
	err := g.empty()
	gatherSpace.Put(g.held)
	g.held = nil
	return err
}

// empty writes what was gathered so far.
func (g *gather) empty() error {
	if g.err == nil && len(*g.held) > 0 {
		_, g.err = g.Conn.Write(*g.held)
	}
	*g.held = (*g.held)[:0]
	return g.err
}
