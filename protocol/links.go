package protocol

import (
	"context"
	"crypto/ecdh"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Links is one party's end of one execution of a contract between a server and clients that may come and go: messages
// over links that fail one by one, each numbered, permitted and recorded as a Session's frames
// are. Parties need links only to those whom they write to. What was received is checked against
// the contract, the session and the order of the link; whether it is the message that is due is
// for the caller to say. It is not safe for concurrent use.
type Links struct {
	wire         *wire
	encodings    map[string]contract.Encoding
	group        uint16  // of the parties, which these links are within; see Groups
	groups       *Groups // from which messages within a group come
	ephemeral    *ecdh.PrivateKey
	key          []byte
	pairs        []*PairSecret
	returned     *Message
	pastSent     []bool // by party: it has this party's past
	pastReceived []bool // and this party has its
	unsynced     []bool // frames of its link may not be on the disk
	kept         bool   // what the sessions before have left is on the disk
}

// Message is one message over Links.
type Message struct {
	From      int // who sent it; the own index in what this party sends
	Kind      string
	Class     contract.Class
	Group     uint16 // of the parties within which it passes; 0: it is between a server and a client, or two servers
	Operation uint64 // the sum it belongs to, numbered by the server from 1, below 2^48
	Size      uint64 // bytes of the whole vector that the payload is a chunk of
	Chunk     uint32
	Payload   []byte
}

// Arrival is one frame that has come, or the news that none will come from a party any more.
type Arrival struct {
	From    keys.ID
	Frame   []byte   // the receiver's own
	Message *Message // what the frame holds, where it was accepted already; see Groups
	Err     error    // the link to From is broken: its last arrival, without a frame
}

// NewLinks starts over a mesh. encodings says what the payloads of kinds are that are not
// Bytes. The session key that KeyMessage returns is drawn here.
func NewLinks(mesh Mesh, config SessionConfig, encodings map[string]contract.Encoding) (*Links, error) {
	w, err := newWire(mesh, config)
	if err != nil {
		return nil, err
	}
	q := len(config.Parties)
	l := &Links{wire: w, encodings: encodings, pairs: make([]*PairSecret, q),
		pastSent: make([]bool, q), pastReceived: make([]bool, q), unsynced: make([]bool, q)}
	if l.ephemeral, l.key, err = w.newKey(0); err != nil {
		return nil, err
	}
	return l, nil
}

// Self returns this party's index.
func (l *Links) Self() int { return l.wire.self }

// Parties returns how many parties the contract has.
func (l *Links) Parties() int { return l.wire.Parties() }

// Name returns the name of party i.
func (l *Links) Name(i int) string { return l.wire.Name(i) }

// Party returns party i.
func (l *Links) Party(i int) contract.Party { return l.wire.config.Parties[i] }

// Chunk returns the most bytes of a payload.
func (l *Links) Chunk() int { return l.wire.config.Chunk }

// Digest binds parts to the contract, the session, the group and a use.
func (l *Links) Digest(domain string, parts ...[]byte) keys.Hash {
	return l.wire.bound(l.group, domain, parts...)
}

// Sign signs a digest with this party's identity key.
func (l *Links) Sign(domain string, digest keys.Hash) []byte {
	return l.wire.config.Key.Sign(domain, digest[:])
}

// KeyMessage returns this party's signed session key, SessionKeySize bytes.
func (l *Links) KeyMessage() []byte { return l.key }

// Agree takes party i's signed session key, which may have come through others, and derives the
// secret shared with it. A key that party i did not sign for this contract and session is a
// deviation.
func (l *Links) Agree(i int, message []byte) error {
	if len(message) != contract.SessionKeySize {
		return deviation("session key of %d bytes, want %d", len(message), contract.SessionKeySize)
	}
	secret, err := l.wire.derivePair(i, l.group, l.ephemeral, message)
	if err != nil {
		return err
	}
	l.pairs[i] = secret
	return nil
}

// Pair returns the secret shared with party i, nil before Agree.
func (l *Links) Pair(i int) *PairSecret { return l.pairs[i] }

// Send writes one message to party to; before the first goes what the transcript holds of the sessions before. An
// error is a *StepError when the link is at fault, which this party then leaves alone; anything else is this party's
// own failure.
func (l *Links) Send(ctx context.Context, to int, m Message) error {
	if err := l.sendPast(ctx, to); err != nil {
		return err
	}
	return l.send(ctx, to, m)
}

// send is Send without what goes before.
func (l *Links) send(ctx context.Context, to int, m Message) error {
	s := l.wire
	if s.failed != nil {
		return s.failed
	}
	if l.groups != nil && l.groups.gone[to] != nil {
		return &StepError{Peer: s.Name(to), Operation: m.Operation, Kind: m.Kind, Err: l.groups.gone[to]}
	}
	l.unsynced[to] = true
	h := header{class: m.Class, encoding: l.encodings[m.Kind], kind: m.Kind, operation: inGroup(l.group, m.Operation),
		size: m.Size, chunk: m.Chunk}
	if err := s.stamp(to, &h, m.Payload); err != nil {
		return err
	}
	err := s.mesh.Send(ctx, s.config.Parties[to].ID, s.outgoing, m.Payload)
	if err != nil && l.groups != nil { // its number is spent: nothing that follows would be in order
		l.groups.lose(to, err)
	}
	if err != nil {
		return &StepError{Peer: s.Name(to), Operation: m.Operation, Kind: m.Kind, Err: err}
	}
	return nil
}

// Receive waits for the next message of party from. Its payload shares memory with the frame that
// the mesh returned for buf.
func (l *Links) Receive(ctx context.Context, from int, awaited string, buf []byte) (Message, error) {
	if m := l.returned; m != nil && m.From == from {
		l.returned = nil
		return *m, nil
	}
	s := l.wire
	if l.groups != nil {
		return l.groups.receive(ctx, l.group, from, awaited)
	}
	for {
		frame, err := s.mesh.Receive(ctx, s.config.Parties[from].ID, buf)
		if err != nil {
			return Message{}, &StepError{Peer: s.Name(from), Kind: awaited, Err: err}
		}
		if m, err := l.Accept(from, frame); err != nil || m.Kind != contract.KindPast {
			return m, err
		}
	}
}

// Return gives a message back, for the next Receive from the same party.
func (l *Links) Return(m Message) { l.returned = &m }

// Accept checks and records a frame that came from a party. A frame of another contract, of another
// session, or out of order is a deviation, and so is a past that contradicts this party's transcript. The first
// message of a party whose transcript is kept is of kind KindPast, and there is nothing more to do with it. A message
// of a group is a deviation, too; see Groups.
func (l *Links) Accept(from int, frame []byte) (Message, error) {
	m, err := l.accept(from, frame)
	if err == nil && m.Group != 0 {
		return Message{}, l.Deviation(m, "it is of group %d of the servers, in which it has no place here", m.Group)
	}
	return m, err
}

// accept is Accept for messages of any group.
func (l *Links) accept(from int, frame []byte) (Message, error) {
	s := l.wire
	if s.failed != nil {
		return Message{}, s.failed
	}
	h, payload, err := parseHeader(frame)
	if err != nil {
		return Message{}, &StepError{Peer: s.Name(from), Err: deviation("%v", err)}
	}
	blame := func(err error) (Message, error) {
		return Message{}, &StepError{Peer: s.Name(from), Operation: h.operation, Kind: h.kind, Err: err}
	}
	want := h
	want.contract, want.session, want.sequence = s.config.Contract, s.config.Number, s.received[from]
	if d := h.differs(&want); d != "" {
		return blame(deviation("frame %d refused: %s", h.sequence, d))
	}
	if h.kind == contract.KindAbort {
		return blame(&AbortError{fault.DecodeFault(payload)})
	}
	s.received[from]++
	l.unsynced[from] = true
	want.encoding = l.encodings[h.kind]
	if err := s.record(EventReceived, from, &want, payload); err != nil {
		return Message{}, err
	}
	m := Message{From: from, Kind: h.kind, Class: h.class, Size: h.size, Chunk: h.chunk, Payload: payload}
	m.Group, m.Operation = GroupOf(h.operation)
	return m, l.receivePast(m)
}

// Traffic returns the bytes sent to and received from party i.
func (l *Links) Traffic(i int) (sent, received int64) { return l.wire.Traffic(i) }

// Deviation makes the error of a party that sent what it must not.
func (l *Links) Deviation(m Message, format string, args ...any) error {
	return &StepError{Peer: l.Name(m.From), Operation: m.Operation, Kind: m.Kind, Err: deviation(format, args...)}
}

// Opened records what this party learned when the sum with the given number opened.
func (l *Links) Opened(operation uint64, kind string, encoding contract.Encoding, payload []byte) error {
	if err := contract.CheckKind(kind); err != nil {
		return err
	}
	s := l.wire
	for offset, n := 0, uint32(0); offset < len(payload); offset, n = offset+s.config.Chunk, n+1 {
		h := header{encoding: encoding, kind: kind, operation: inGroup(l.group, operation),
			size: uint64(len(payload)), chunk: n}
		if err := s.record(EventOpened, s.self, &h, payload[offset:min(offset+s.config.Chunk, len(payload))]); err != nil {
			return err
		}
	}
	return nil
}

// Link returns the digest of all that passed between this party and party i so far, and this
// party's signature on it. Without a transcript there is none, and the signature is nil.
func (l *Links) Link(i int) (digest keys.Hash, signature []byte, err error) {
	c := l.wire.config
	if c.Recorder == nil {
		return digest, nil, nil
	}
	if l.unsynced[i] { // nothing goes over the links of others in between
		if err = c.Recorder.Sync(); err != nil {
			return digest, nil, err
		}
		clear(l.unsynced)
	}
	if digest, err = c.Recorder.Link(i); err != nil {
		return digest, nil, err
	}
	return digest, c.Key.Sign(DomainLink, digest[:]), nil
}

// CheckLink checks party i's signature on the digest of the link; see Link. Without a transcript on this
// side nothing is checked.
func (l *Links) CheckLink(m Message, digest keys.Hash) error {
	if l.wire.config.Recorder == nil || l.Party(m.From).ID.Verify(DomainLink, digest[:], m.Payload) {
		return nil
	}
	return l.Deviation(m, "its signature is on another record of this link than ours: what one of us "+
		"sent is not what the other received")
}

// Countersigned records party i's signature on the link, after each end has sent its own.
func (l *Links) Countersigned(m Message) error {
	return l.wire.record(EventCountersigned, m.From, &header{
		class: contract.ClassControl, kind: contract.KindCountersign, operation: m.Operation, size: m.Size,
	}, m.Payload)
}
