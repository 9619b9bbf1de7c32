package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
)

// greeting is the dialler's side of a hello.
type greeting struct {
	target
	self  keys.ID
	mine  hello
	weigh func(hello) verdict // the dialler's own judgement
	heard *tally
	now   func() time.Time // the time of day here
}

// refusal is an error that both sides know the reason of.
type refusal struct {
	text string
}

func (r *refusal) Error() string { return r.text }

// exchange says hello on a fresh connection and returns the link once both sides have accepted,
// with the level that this side grants. After an error the connection is closed.
func (g greeting) exchange(ctx context.Context, conn network.Conn) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	l, err := g.talk(ctx, conn)
	if err == nil {
		return l, nil
	}
	switch {
	case refusesCertificate(err):
		err = g.explainCertificate()
	case ended(err):
		err = g.explainCut(g.self, g.mine.role)
	}
	conn.Close()
	return nil, err
}

// talk sends the hello, hears the answer and the verdict, and answers with its own.
func (g greeting) talk(ctx context.Context, conn network.Conn) (*link, error) {
	var first buffer
	writeControl(&first, kindHello, g.mine.encode())
	s, err := openStream(ctx, conn, protoHello, first)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	release := onDone(ctx, s.SetDeadline)
	theirs, v, err := g.hear(s)
	rtt, heard := time.Since(asked), g.now()
	if release() {
		return nil, fmt.Errorf("%s did not answer the hello: %w", g.name, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	if err := g.settle(s, theirs, v); err != nil {
		return nil, err
	}
	l := newLink(g.id, g.name, s, g.heard, g.now)
	l.theirs, l.told = theirs, g.mine.charter
	l.clock.set(clockAhead(theirs.clock, heard, rtt))
	l.rtt.Store(int64(rtt))
	return l, nil
}

// hear reads the other side's hello and its verdict on ours.
func (g greeting) hear(s network.Stream) (hello, verdict, error) {
	if err := readProtocol(s, protoHello); err != nil {
		return hello{}, verdict{}, err
	}
	body, err := expectControl(s, kindHello)
	if err != nil {
		return hello{}, verdict{}, err
	}
	theirs, err := decodeHello(body)
	if err != nil {
		return hello{}, verdict{}, fmt.Errorf("%s sent a malformed hello: %w", g.name, err)
	}
	if body, err = expectControl(s, kindVerdict); err != nil {
		return hello{}, verdict{}, err
	}
	v, err := decodeVerdict(body)
	if err != nil {
		return hello{}, verdict{}, fmt.Errorf("%s sent a malformed verdict: %w", g.name, err)
	}
	return theirs, v, nil
}

// settle brings the two verdicts together: nil if both sides accept.
func (g greeting) settle(s network.Stream, theirs hello, v verdict) error {
	switch v.code {
	case verdictDuplicate:
		return errDuplicate
	case verdictRefused:
		return &refusal{fmt.Sprintf("%s refused the connection: %s", g.name, v.told)}
	}
	mine := g.weigh(theirs)
	if _, err := writeControl(s, kindVerdict, mine.encode()); err != nil {
		return err
	}
	if mine.code == verdictAccepted {
		return nil
	}
	awaitEnd(s)
	return &refusal{fmt.Sprintf("refused the connection to %s: %s", g.name, mine.reason)}
}

// awaitEnd gives the other side a moment to read what was sent last and to close the stream.
// Closing the connection at once might drop it on the way.
func awaitEnd(s network.Stream) {
	s.CloseWrite()
	s.SetReadDeadline(time.Now().Add(partTimeout))
	var b [1]byte
	s.Read(b[:])
}

// answer is the acceptor's side of a hello. It runs as long as the link does.
func (h *Host) answer(s network.Stream) {
	conn := s.Conn()
	l, err := h.receive(s)
	if err != nil {
		h.mu.Lock()
		h.decide(conn, nil)
		h.mu.Unlock()
		conn.Close()
		h.noteRefusal(conn, err)
		return
	}
	h.tend(l)
}

// receive hears a hello, answers it, and hears whether the dialler accepts as well.
func (h *Host) receive(s network.Stream) (*link, error) {
	if s.Conn().Stat().Direction != network.DirInbound {
		return nil, errors.New("sent a hello on a connection that it did not dial")
	}
	from, err := memberID(s.Conn().RemotePeer())
	if err != nil {
		return nil, err
	}
	s.SetDeadline(time.Now().Add(helloTimeout))
	defer s.SetDeadline(time.Time{})
	body, err := expectControl(s, kindHello)
	if err != nil {
		return nil, err
	}
	heard := h.cfg.Now()
	theirs, err := decodeHello(body)
	if err != nil {
		return nil, fmt.Errorf("sent a malformed hello: %w", err)
	}
	h.mu.Lock()
	j := h.judge
	h.mu.Unlock()
	v, err := h.reply(s, j, from, theirs)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	l, err := h.conclude(s, nameIn(j.charter, from), from)
	if err != nil {
		return nil, err
	}
	rtt := time.Since(asked)
	l.rtt.Store(int64(rtt))
	l.clock.set(clockAhead(theirs.clock, heard, rtt))
	l.theirs, l.told = theirs, j.stance
	return l, h.admit(l, v.level)
}

// reply sends this side's hello and verdict. An error is the reason of a refusal.
func (h *Host) reply(s network.Stream, j judge, from keys.ID, theirs hello) (verdict, error) {
	v := j.weigh(from, theirs)
	if v.level >= levelCharter {
		v = h.weighRival(from, theirs.instance, v)
	}
	mine := h.hello(j)
	if v.code != verdictAccepted {
		mine.addresses = nil // no business of somebody who is refused
	}
	var b buffer
	writeControl(&b, kindHello, mine.encode())
	writeControl(&b, kindVerdict, v.encode())
	if _, err := s.Write(b); err != nil {
		return v, err
	}
	switch v.code {
	case verdictAccepted:
		return v, nil
	case verdictDuplicate:
		awaitEnd(s)
		return v, errDuplicate
	default:
		awaitEnd(s)
		return v, &refusal{"refused the connection: " + v.reason}
	}
}

// conclude waits for the dialler's verdict and makes the link if it accepts.
func (h *Host) conclude(s network.Stream, name string, from keys.ID) (*link, error) {
	body, err := expectControl(s, kindVerdict)
	if err != nil {
		return nil, err
	}
	v, err := decodeVerdict(body)
	if err != nil {
		return nil, fmt.Errorf("sent a malformed verdict: %w", err)
	}
	if v.code != verdictAccepted {
		return nil, &refusal{"the other side refused the connection: " + v.told.String()}
	}
	return newLink(from, name, s, h.meter.of(s.Conn().RemotePeer()), h.cfg.Now), nil
}

// admit opens an accepted connection to the streams that its level allows.
func (h *Host) admit(l *link, granted level) error {
	if granted != levelJoin {
		if !h.install(l) {
			return errDuplicate
		}
		return nil
	}
	l.level.Store(uint32(levelJoin))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decide(l.conn, l)
	return nil
}

// hello returns what this side says of itself.
func (h *Host) hello(j judge) hello {
	mine := hello{
		version:  wireVersion,
		role:     roleMember,
		dht:      h.cfg.discovers(DiscoverDHT),
		instance: h.instance,
		clock:    clockMillis(h.cfg.Now()),
		charter:  j.stance,
		name:     j.self,
	}
	for _, a := range h.node.host.Addrs() {
		if len(mine.addresses) < maxAddresses && len(a.String()) <= maxAddress {
			mine.addresses = append(mine.addresses, a.String())
		}
	}
	return mine
}

// buffer is bytes that cannot fail to be written to.
type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
