package testnet

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// prefixSize is what a frame's length costs on a wire, and is counted as traffic here.
const prefixSize = 4

// errTwice reports a breach of the Mesh contract, which would otherwise show as a lost wake-up.
var errTwice = errors.New("two concurrent calls for one direction of one link")

// link carries the frames of one session from one member to another, for one sender and one
// receiver at a time.
type link struct {
	net            *Network
	writer, reader *mesh
	count          *count
	sent, received atomic.Int64

	sending, receiving atomic.Bool
	index              int // frames sent so far; the sender's
	taken              int // frames received so far; the receiver's

	queue
}

// newLink makes an open link. n.mu is held.
func newLink(n *Network, from, to *mesh) *link {
	return &link{
		net:    n,
		writer: from,
		reader: to,
		count:  n.countOf(from.owner.member.id, to.owner.member.id),
		queue:  queue{space: make(chan struct{}, 1), arrival: make(chan struct{}, 1)},
	}
}

// send copies a frame into the queue, or what OnFrame makes of it, when there is room.
func (l *link) send(ctx context.Context, size int, parts [][]byte) error {
	if !l.sending.CompareAndSwap(false, true) {
		return errTwice
	}
	defer l.sending.Store(false)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		full, err := l.full(size)
		if err != nil {
			return err
		}
		if !full {
			break
		}
		select {
		case <-l.space:
		case <-ctx.Done():
		}
	}
	buffer, _ := l.net.buffers.Get().(*[]byte)
	if buffer == nil || cap(*buffer) < size {
		buffer = new([]byte)
		*buffer = make([]byte, 0, size)
	}
	data := (*buffer)[:0]
	for _, p := range parts {
		data = append(data, p...)
	}
	entries := l.transform(entry{data: data, buffer: buffer, due: l.net.due()})
	l.tally(1, size) // first, so that whoever has received the frame finds it counted
	if !l.push(entries...) {
		l.tally(-1, size)
		return errBroken
	}
	l.index++
	return nil
}

// tally counts a frame of size bytes as sent, or takes that back.
func (l *link) tally(sign int64, size int) {
	n := sign * (int64(size) + prefixSize)
	l.sent.Add(n)
	l.count.frames.Add(sign)
	l.count.bytes.Add(n)
}

// transform passes a frame through OnFrame.
func (l *link) transform(e entry) []entry {
	h := l.net.hook.Load()
	if h == nil {
		return []entry{e}
	}
	// The hook may keep the frame, so that its memory does not go back to the pool.
	frames := h.apply(Frame{From: l.writer.owner.member.id, To: l.reader.owner.member.id, Session: l.writer.session,
		Index: l.index, Data: e.data})
	entries := make([]entry, len(frames))
	for i, f := range frames {
		entries[i] = entry{data: f.Data, announced: f.Announced, due: e.due}
	}
	return entries
}

// take returns the next frame once it is due.
func (l *link) take(ctx context.Context) (entry, error) {
	if !l.receiving.CompareAndSwap(false, true) {
		return entry{}, errTwice
	}
	defer l.receiving.Store(false)
	for {
		if err := ctx.Err(); err != nil {
			return entry{}, err
		}
		e, wait, err := l.pop()
		if err != nil || wait == 0 {
			return e, err
		}
		var due <-chan time.Time
		if wait != forever {
			due = time.After(wait)
		}
		select {
		case <-l.arrival:
		case <-ctx.Done():
		case <-due:
		}
	}
}

// accept hands a frame over in buf, or in its own memory when buf is too small.
func (l *link) accept(e entry, buf []byte) []byte {
	l.received.Add(int64(len(e.data)) + prefixSize)
	if tap := l.reader.owner.member.tap.Load(); tap != nil {
		tap.record(l, e.data)
	}
	l.taken++
	if cap(buf) < len(e.data) {
		return e.data
	}
	buf = append(buf[:0], e.data...)
	if e.buffer != nil {
		l.net.buffers.Put(e.buffer)
	}
	return buf
}
