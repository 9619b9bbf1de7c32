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
	came *[][]byte // what came, in order; nil: it is not kept
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
			if e.came != nil {
				*e.came = append(*e.came, bytes.Clone(data))
			}
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

// replay gives one party what came to it in a run of all, and takes what it sends.
type replay struct {
	self, parties int
	came          [][]byte
	each          func() // called for every message
}

// next is the next message that came.
func (r *replay) next() []byte {
	data := bytes.Clone(r.came[0])
	r.came = r.came[1:]
	return data
}

// Pass implements psi.Network.
func (r *replay) Pass(_ context.Context, m psi.Message, _ []byte) ([]byte, error) {
	r.each()
	if r.self != m.To {
		return nil, nil
	}
	return r.next(), nil
}

// Exchange implements psi.Network.
func (r *replay) Exchange(_ context.Context, _ psi.Message, data []byte) ([][]byte, error) {
	all := make([][]byte, r.parties)
	for i := range all {
		if all[i] = data; i != r.self {
			all[i] = r.next()
		}
	}
	return all, nil
}
