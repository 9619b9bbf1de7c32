package align

import (
	"bytes"
	"context"

	"github.com/hanse-project/hanse/secagg/psi"
)

// wire is a network in memory: a queue for each sender and receiver.
type wire [][]chan []byte

// newWire links so many parties.
func newWire(parties int) wire {
	w := make(wire, parties)
	for from := range w {
		for range parties {
			w[from] = append(w[from], make(chan []byte, 1))
		}
	}
	return w
}

// end is one party's end of a wire. It counts what the party sends.
type end struct {
	wire
	self int
	sent int64
}

// Pass implements psi.Network. What comes is the receiver's own, as from a connection.
func (e *end) Pass(ctx context.Context, m psi.Message, data []byte) ([]byte, error) {
	switch e.self {
	case m.From:
		e.sent += int64(len(data))
		select {
		case e.wire[m.From][m.To] <- bytes.Clone(data):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case m.To:
		select {
		case data := <-e.wire[m.From][m.To]:
			return data, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// Exchange implements psi.Network.
func (e *end) Exchange(ctx context.Context, m psi.Message, data []byte) ([][]byte, error) {
	all := make([][]byte, len(e.wire))
	all[e.self] = data
	for _, sends := range []bool{true, false} {
		for other := range all {
			if other == e.self {
				continue
			}
			var err error
			if m.From, m.To = other, e.self; sends {
				m.From, m.To = e.self, other
				_, err = e.Pass(ctx, m, data)
			} else {
				all[other], err = e.Pass(ctx, m, nil)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
