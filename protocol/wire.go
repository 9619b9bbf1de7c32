package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// wire is one party's end of the links of a session: each frame is the next of its link, permitted and recorded, until
// one fails.
type wire struct {
	config   SessionConfig
	self     int
	mesh     Mesh
	sent     []uint64 // next sequence number to each party
	received []uint64 // next sequence number from each party
	outgoing []byte   // header under construction
	failed   error

	arriving [][]*arriving // by party
	buffers  chan []byte   // for frames to come
}

// newWire is where the frames of a session that begins will go and come.
func newWire(mesh Mesh, config SessionConfig) (*wire, error) {
	if config.Chunk == 0 {
		config.Chunk = contract.DefaultChunk
	}
	if config.Chunk%8 != 0 || config.Chunk < 8 || config.Chunk > MaxFrame-headerSize-contract.MaxKind {
		return nil, fmt.Errorf("chunk of %d bytes: want a multiple of 8 up to %d", config.Chunk,
			MaxFrame-headerSize-contract.MaxKind)
	}
	self := slices.IndexFunc(config.Parties, func(p contract.Party) bool { return p.ID == config.Key.ID() })
	if self < 0 {
		return nil, fmt.Errorf("contract %s does not name this node", config.Contract.Short())
	}
	if err := config.checkGuards(); err != nil {
		return nil, err
	}
	if config.Waits == nil {
		config.Waits = new(Waits)
	}
	q := len(config.Parties)
	return &wire{
		config: config, self: self, mesh: mesh, sent: make([]uint64, q), received: make([]uint64, q),
		arriving: make([][]*arriving, q), buffers: make(chan []byte, buffersKept),
	}, nil
}

// Self returns this party's index.
func (w *wire) Self() int { return w.self }

// Parties returns how many parties there are.
func (w *wire) Parties() int { return len(w.config.Parties) }

// Name returns the name of party i.
func (w *wire) Name(i int) string { return w.config.Parties[i].Name }

// Traffic returns the bytes sent to and received from party i.
func (w *wire) Traffic(i int) (sent, received int64) {
	if i == w.self {
		return 0, 0
	}
	return w.mesh.Traffic(w.config.Parties[i].ID)
}

// send writes one frame of an operation to party to.
func (w *wire) send(ctx context.Context, to int, h header, payload []byte) error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.stamp(to, &h, payload); err != nil {
		return err
	}
	waited := w.config.Waits.begin(w.Name(to), h.kind)
	err := w.mesh.Send(ctx, w.config.Parties[to].ID, w.outgoing, payload)
	waited()
	if err != nil {
		return w.fail(to, &h, w.lastWords(ctx, to, err))
	}
	return nil
}

// stamp makes a frame this session's next one to party to, once it is permitted and recorded, and
// leaves its header in w.outgoing.
func (w *wire) stamp(to int, h *header, payload []byte) error {
	if err := contract.CheckKind(h.kind); err != nil {
		return err
	}
	h.contract, h.session, h.sequence = w.config.Contract, w.config.Number, w.sent[to]
	if err := w.permit(h, to, payload); err != nil {
		return err
	}
	w.sent[to]++ // also when sending fails: the number is in the transcript
	w.outgoing = h.appendTo(w.outgoing[:0])
	return nil
}

// receive reads the next frame of an operation from party from and returns its payload, which
// shares memory with buf. A frame that is not exactly the one wanted is a deviation.
func (w *wire) receive(ctx context.Context, from int, want header, buf []byte) (payload, storage []byte, err error) {
	if w.failed != nil {
		return nil, buf, w.failed
	}
	want.contract, want.session, want.sequence = w.config.Contract, w.config.Number, w.received[from]
	waited := w.config.Waits.begin(w.Name(from), want.kind)
	frame, err := w.frame(ctx, from, buf)
	waited()
	if err != nil {
		return nil, buf, w.fail(from, &want, err)
	}
	h, payload, err := parseHeader(frame)
	if err != nil {
		return nil, frame, w.fail(from, &want, deviation("%v", err))
	}
	if h.kind == contract.KindAbort && h.contract == want.contract && h.session == want.session {
		return nil, frame, w.fail(from, &want, &AbortError{fault.DecodeFault(payload)})
	}
	if want.size == anySize {
		want.size = uint64(len(payload))
	}
	if d := h.differs(&want); d != "" {
		return nil, frame, w.fail(from, &want, deviation("frame %d refused: %s", h.sequence, d))
	}
	w.received[from]++
	if err := w.record(EventReceived, from, &want, payload); err != nil {
		return nil, frame, err
	}
	return payload, frame, nil
}

// fail makes the session unusable and returns why, naming the peer and the step.
func (w *wire) fail(peer int, h *header, err error) error {
	if id, ok := gone(err); ok { // a mesh may report another peer than the one being waited for
		for i, p := range w.config.Parties {
			if p.ID == id {
				peer = i
			}
		}
		var g *GoneError
		errors.As(err, &g)
		err = &namedGone{g}
	}
	w.failed = &StepError{Peer: w.Name(peer), Operation: h.operation, Kind: h.kind, Err: err}
	return w.failed
}

// namedGone reads without the peer's id, since the StepError around it gives the name.
type namedGone struct{ *GoneError }

func (e *namedGone) Error() string { return "gone: " + e.Reason }
func (e *namedGone) Unwrap() error { return e.GoneError }

// permit books a frame about to be sent, and records it. A frame that must not be sent ends the
// session.
func (w *wire) permit(h *header, to int, payload []byte) error {
	if w.config.Budget != nil {
		if err := w.config.Budget.Spend(h.kind, h.class, h.encoding, to, len(payload)); err != nil {
			w.failed = err
			return err
		}
	}
	return w.record(EventSent, to, h, payload)
}

// record tells the recorder, if there is one.
func (w *wire) record(event Event, peer int, h *header, payload []byte) error {
	if w.config.Recorder == nil {
		return nil
	}
	e := Entry{
		Event: event, Peer: peer, Class: h.class, Encoding: h.encoding, Kind: h.kind, Session: w.config.Number,
		Sequence: h.sequence, Operation: h.operation, Size: h.size, Chunk: h.chunk,
	}
	if event == EventOpened || event == EventCountersigned {
		e.Sequence = 0
	}
	if event == EventOpened && !h.padded {
		e.Class = contract.ClassOpening
	}
	if err := w.config.Recorder.Record(e, payload); err != nil {
		w.failed = err
		return err
	}
	return nil
}
