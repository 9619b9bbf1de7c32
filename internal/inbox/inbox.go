package inbox

import (
	"context"
	"errors"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// ErrClosed is what Next returns once the inbox is closed.
var ErrClosed = errors.New("the inbox is closed")

// Arrival is one frame that has come, or the news that none will come from a peer any more. Its
// frame is the receiver's own until it is released.
type Arrival = protocol.Arrival

// Inbox takes in the frames of many peers. While it is open nobody else may call Receive for
// them. Its methods may be called concurrently.
type Inbox struct {
	mesh     protocol.Mesh
	arrivals chan Arrival // unbuffered: those who wait to send on it are served first come, first served
	memory   pool

	life    context.Context // ends with Close
	endLife context.CancelFunc
	readers sync.WaitGroup
}

// New starts to receive from the peers, with one goroutine for each, which Close ends.
func New(mesh protocol.Mesh, peers []keys.ID) *Inbox {
	b := &Inbox{mesh: mesh, arrivals: make(chan Arrival)}
	b.life, b.endLife = context.WithCancel(context.Background())
	for _, id := range peers {
		b.readers.Go(func() { b.read(id) })
	}
	return b
}

// read hands in one peer's frames until its link breaks or the inbox is closed.
func (b *Inbox) read(from keys.ID) {
	for {
		a := b.receive(from)
		if b.life.Err() != nil && a.Err != nil {
			return
		}
		select {
		case b.arrivals <- a:
		case <-b.life.Done():
			return
		}
		if a.Err != nil {
			return
		}
	}
}

// receive waits for one peer's next frame, in memory that was released if there is some.
func (b *Inbox) receive(from keys.ID) Arrival {
	buf := b.memory.lend()
	frame, err := b.mesh.Receive(b.life, from, buf)
	b.memory.settle(buf)
	if err != nil {
		b.memory.keep(buf)
		return Arrival{From: from, Err: err}
	}
	return Arrival{From: from, Frame: frame}
}

// Next returns the next arrival, of the peers in the order in which their frames came. What has
// arrived is returned even when ctx has ended, so that a deadline loses no frame that was in time.
// An error means that ctx ended, and nothing is lost, or that the inbox is closed.
func (b *Inbox) Next(ctx context.Context) (Arrival, error) {
	if b.life.Err() != nil {
		return Arrival{}, ErrClosed
	}
	select {
	case a := <-b.arrivals:
		return a, nil
	case <-b.life.Done():
		return Arrival{}, ErrClosed
	case <-ctx.Done():
	}
	select { // both may have been ready, and the choice above is by chance
	case a := <-b.arrivals:
		return a, nil
	default:
		return Arrival{}, ctx.Err()
	}
}

// Release gives a frame's memory back, for frames to come. The caller must not touch it again.
// It is optional: a frame that is kept costs an allocation and no more.
func (b *Inbox) Release(frame []byte) { b.memory.keep(frame) }

// Close ends all goroutines and waits for them. The mesh stays open: a link can be received from
// again, unless a frame was coming in on it at that moment. Frames that nobody has taken are lost.
func (b *Inbox) Close() error {
	b.endLife()
	b.readers.Wait()
	return nil
}
