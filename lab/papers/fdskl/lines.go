package fdskl

import (
	"context"
	"sync"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Wire is what joins parties that are on machines of their own: each has one line, of so many bytes a second in
// either direction at once, on which what it sends and receives waits its turn; and every frame is under way for
// Delay besides. The zero Wire is as fast as memory.
type Wire struct {
	BytesPerSecond float64
	Delay          time.Duration
}

// lines keeps when the parties' lines are free again. A frame leaves when the sender's line is free, its first byte
// reaches the receiver's line at once, and its last when both have passed it on. That is simulated: frames are held
// back from their receivers until they are due.
type lines struct {
	wire Wire

	mu      sync.Mutex
	out, in map[keys.ID]time.Time
	due     map[[2]keys.ID][]time.Time // of the frames under way, by sender and receiver
}

// newLines makes idle lines.
func newLines(w Wire, ids []keys.ID) *lines {
	l := &lines{wire: w, out: make(map[keys.ID]time.Time), in: make(map[keys.ID]time.Time),
		due: make(map[[2]keys.ID][]time.Time)}
	for _, id := range ids {
		l.out[id], l.in[id] = time.Time{}, time.Time{}
	}
	return l
}

// send notes a frame that is sent now.
func (l *lines) send(from, to keys.ID, size int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var busy time.Duration
	if l.wire.BytesPerSecond > 0 {
		busy = time.Duration(float64(size) / l.wire.BytesPerSecond * float64(time.Second))
	}
	start := later(now, l.out[from])
	l.out[from] = start.Add(busy)
	arrives := later(start, l.in[to]).Add(busy)
	l.in[to] = arrives
	l.due[[2]keys.ID{from, to}] = append(l.due[[2]keys.ID{from, to}], arrives.Add(l.wire.Delay))
}

// received returns when the oldest frame under way is due.
func (l *lines) received(from, to keys.ID) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	link := [2]keys.ID{from, to}
	due := l.due[link][0]
	l.due[link] = l.due[link][1:]
	return due
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// mesh puts a party's mesh behind its line.
func (l *lines) mesh(self keys.ID, m protocol.Mesh) protocol.Mesh { return &lineMesh{m, l, self} }

// lineMesh is a party's end of links that pass its line.
type lineMesh struct {
	protocol.Mesh
	lines *lines
	self  keys.ID
}

// Send implements protocol.Mesh: the line takes the frame at once and passes it on in time.
func (m *lineMesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	m.lines.send(m.self, to, size, time.Now())
	return m.Mesh.Send(ctx, to, parts...)
}

// Receive implements protocol.Mesh.
func (m *lineMesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	frame, err := m.Mesh.Receive(ctx, from, buf)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Until(m.lines.received(from, m.self)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return frame, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
