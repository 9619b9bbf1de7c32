package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// SessionConfig is what the parties of a session agreed on before it starts.
type SessionConfig struct {
	Contract keys.Hash
	Number   uint32           // 1 for the first run of a contract, one more for each resumption
	Parties  []contract.Party // in the contract's order; indices everywhere are into this list
	Key      *keys.PrivateKey // this party's identity
	Chunk    int              // bytes; a multiple of 8; 0 means DefaultChunk
	Budget   *contract.Budget // what this party may send; nil: anything
	Recorder Recorder         // keeps the transcript; all parties of a session have one, or none
	Waits    *Waits           // where this party's waits are counted; nil: nowhere
}

// Session is one execution of a contract among its parties: numbered operations over one mesh.
// All parties call the same operations in the same order. It is not safe for concurrent use.
// After an error it is of no further use: the parties start a new session.
type Session struct {
	config    SessionConfig
	self      int
	mesh      Mesh
	sent      []uint64 // next sequence number to each party
	received  []uint64 // next sequence number from each party
	operation uint64
	shared    keys.Hash // digest of all that was broadcast
	outgoing  []byte    // header under construction
	chunk     []byte    // own chunk of a reduce
	incoming  []byte    // a child's chunk of a reduce
	pairs     []*PairSecret
	failed    error

	pending  []*pending    // in the order in which they began
	taking   bool          // one of them is being ended
	arriving [][]*arriving // by party
	buffers  chan []byte   // for frames to come

}

// NewSession starts a session over a mesh that links all parties, and agrees on fresh pair
// secrets (see PairSecret). It returns when every party's signed ephemeral key has come and, where
// transcripts are kept, what each says of the sessions before and signs.
func NewSession(ctx context.Context, mesh Mesh, config SessionConfig) (*Session, error) {
	s, err := newSession(mesh, config)
	if err != nil {
		return nil, err
	}
	if err := s.agree(ctx); err != nil {
		return nil, err
	}
	if config.Recorder == nil {
		return s, nil
	}
	err = s.exchangePast(ctx)
	if err == nil {
		err = s.countersign(ctx)
	}
	if err != nil {
		s.blame(ctx, err)
		return nil, err
	}
	return s, nil
}

// newSession is a session before its parties have agreed on secrets.
func newSession(mesh Mesh, config SessionConfig) (*Session, error) {
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
	if config.Waits == nil {
		config.Waits = new(Waits)
	}
	q := len(config.Parties)
	return &Session{
		config: config, self: self, mesh: mesh,
		sent: make([]uint64, q), received: make([]uint64, q), pairs: make([]*PairSecret, q),
		arriving: make([][]*arriving, q), buffers: make(chan []byte, buffersKept),
		shared: keys.HashOf(domainShared, config.Contract[:], number(config.Number)),
	}, nil
}

// Self returns this party's index.
func (s *Session) Self() int { return s.self }

// Parties returns how many parties there are.
func (s *Session) Parties() int { return len(s.config.Parties) }

// Name returns the name of party i.
func (s *Session) Name(i int) string { return s.config.Parties[i].Name }

// Operations returns how many collective operations the session has run.
func (s *Session) Operations() uint64 { return s.operation }

// Traffic returns the bytes sent to and received from party i.
func (s *Session) Traffic(i int) (sent, received int64) {
	if i == s.self {
		return 0, 0
	}
	return s.mesh.Traffic(s.config.Parties[i].ID)
}

// next begins an operation: its number is the same at all parties. Now and then they countersign
// first.
func (s *Session) next(ctx context.Context) (uint64, error) {
	if s.operation > 0 && s.operation%contract.CountersignEvery == 0 {
		if err := s.countersign(ctx); err != nil {
			return 0, err
		}
	}
	s.operation++
	return s.operation, nil
}

// send writes one frame of an operation to party to.
func (s *Session) send(ctx context.Context, to int, h header, payload []byte) error {
	if s.failed != nil {
		return s.failed
	}
	if err := s.stamp(to, &h, payload); err != nil {
		return err
	}
	waited := s.config.Waits.begin(s.Name(to), h.kind)
	err := s.mesh.Send(ctx, s.config.Parties[to].ID, s.outgoing, payload)
	waited()
	if err != nil {
		return s.fail(to, &h, s.lastWords(ctx, to, err))
	}
	return nil
}

// stamp makes a frame this session's next one to party to, once it is permitted and recorded, and
// leaves its header in s.outgoing.
func (s *Session) stamp(to int, h *header, payload []byte) error {
	if err := contract.CheckKind(h.kind); err != nil {
		return err
	}
	h.contract, h.session, h.sequence = s.config.Contract, s.config.Number, s.sent[to]
	if err := s.permit(h, to, payload); err != nil {
		return err
	}
	s.sent[to]++ // also when sending fails: the number is in the transcript
	s.outgoing = h.appendTo(s.outgoing[:0])
	return nil
}

// receive reads the next frame of an operation from party from and returns its payload, which
// shares memory with buf. A frame that is not exactly the one wanted is a deviation.
func (s *Session) receive(ctx context.Context, from int, want header, buf []byte) (payload, storage []byte, err error) {
	if s.failed != nil {
		return nil, buf, s.failed
	}
	want.contract, want.session, want.sequence = s.config.Contract, s.config.Number, s.received[from]
	waited := s.config.Waits.begin(s.Name(from), want.kind)
	frame, err := s.frame(ctx, from, buf)
	waited()
	if err != nil {
		return nil, buf, s.fail(from, &want, err)
	}
	h, payload, err := parseHeader(frame)
	if err != nil {
		return nil, frame, s.fail(from, &want, deviation("%v", err))
	}
	if h.kind == contract.KindAbort && h.contract == want.contract && h.session == want.session {
		return nil, frame, s.fail(from, &want, &AbortError{fault.DecodeFault(payload)})
	}
	if want.size == anySize {
		want.size = uint64(len(payload))
	}
	if d := h.differs(&want); d != "" {
		return nil, frame, s.fail(from, &want, deviation("frame %d refused: %s", h.sequence, d))
	}
	s.received[from]++
	if err := s.record(EventReceived, from, &want, payload); err != nil {
		return nil, frame, err
	}
	return payload, frame, nil
}

// fail makes the session unusable and returns why, naming the peer and the step.
func (s *Session) fail(peer int, h *header, err error) error {
	if id, ok := gone(err); ok { // a mesh may report another peer than the one being waited for
		for i, p := range s.config.Parties {
			if p.ID == id {
				peer = i
			}
		}
		var g *GoneError
		errors.As(err, &g)
		err = &namedGone{g}
	}
	s.failed = &StepError{Peer: s.Name(peer), Operation: h.operation, Kind: h.kind, Err: err}
	return s.failed
}

// namedGone reads without the peer's id, since the StepError around it gives the name.
type namedGone struct{ *GoneError }

func (e *namedGone) Error() string { return "gone: " + e.Reason }
func (e *namedGone) Unwrap() error { return e.GoneError }
