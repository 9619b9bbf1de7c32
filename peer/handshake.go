package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol/fault"
)

// greeting is the dialler's side of a hello.
type greeting struct {
	target
	self  keys.ID
	mine  hello
	runs  program             // of the dialler
	weigh func(hello) verdict // the dialler's own judgement
	heard *tally
	now   func() time.Time // the time of day here
	met   bool             // the other side has known this key before
}

// refusal is an error that both sides know the reason of.
type refusal struct {
	text  string
	told  *RefusedError // by the node that refuses; nil: nobody has said anything
	other *program      // of the peer, where it speaks another wire; nil: it does not
}

// Unwrap is what the node that refuses has said.
func (r *refusal) Unwrap() error {
	if r.told == nil {
		return nil
	}
	return r.told
}

// RefusedError is what a node says of why it refuses a connection.
type RefusedError struct{ Fault *fault.Fault }

// Error implements error.
func (e *RefusedError) Error() string { return e.Fault.String() }

func (r *refusal) Error() string { return r.text }

// exchange says hello on a fresh connection and returns the link once both sides have accepted,
// with the level that this side grants. After an error the connection is closed.
func (g greeting) exchange(ctx context.Context, conn network.Conn) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, session.AnswerTime)
	defer cancel()
	l, err := g.converse(ctx, conn)
	if err == nil {
		return l, nil
	}
	switch {
	case refusesCertificate(err):
		err = g.explainCertificate()
	case ended(err) && g.met:
		err = fmt.Errorf("%s left: it closed the connection right after the TLS handshake, as a node does that stops", g.name)
	case ended(err):
		// TLS has shown our key by now, and hosts cut strangers at this point. An invitation
		// expires by the clock at the other end, which is not known here.
		meaning := "; ask a member for an invitation"
		switch g.mine.Role {
		case roleInvitee:
			meaning = ", or the invitation for it has expired by the clock there" + meaning
		case roleWorker:
			meaning = " as a worker's, or has as many workers as it takes"
		}
		err = &refusal{text: fmt.Sprintf("%s closed the connection right after the TLS handshake: it does not know the key "+
			"%s%s", g.name, g.self, meaning)}
	}
	conn.Close()
	return nil, err
}

// converse sends the hello, reads the other side's hello and its verdict, and answers with its own.
func (g greeting) converse(ctx context.Context, conn network.Conn) (*link, error) {
	var first buffer
	writeControl(&first, kindHello, g.mine.encode())
	s, err := openStream(ctx, conn, protoHello, first)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	release := session.InterruptIO(ctx, s.SetDeadline)
	theirs, v, err := g.receive(s)
	rtt, heard := time.Since(asked), g.now()
	if release() {
		return nil, fmt.Errorf("%s did not answer the hello: %w", g.name, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	if theirs.Version != WireVersion {
		sayProgram(s, g.runs.version)
		other := program{g.name, theirs.Version, receiveProgram(s)}
		awaitEnd(s)
		return nil, &refusal{text: apart(g.runs, other), other: &other}
	}
	switch v.code {
	case verdictDuplicate:
		return nil, errDuplicate
	case verdictRefused:
		return nil, &refusal{text: fmt.Sprintf("%s refused the connection: %s", g.name, v.told),
			told: &RefusedError{v.told}}
	}
	mine := g.weigh(theirs)
	if _, err := writeControl(s, kindVerdict, mine.encode()); err != nil {
		return nil, err
	}
	if mine.code != verdictAccepted {
		awaitEnd(s)
		return nil, &refusal{text: fmt.Sprintf("refused the connection to %s: %s", g.name, mine.reason)}
	}
	l := newLink(g.id, g.name, s, g.heard, g.now)
	l.theirs, l.told = theirs, g.mine.Charter
	l.clock.set(clockAhead(theirs.Clock, heard, rtt))
	l.rtt.Store(int64(rtt))
	return l, nil
}

// receive reads the other side's hello and, unless it speaks another wire, its verdict on ours.
func (g greeting) receive(s network.Stream) (theirs hello, v verdict, err error) {
	if err := readProtocol(s, protoHello); err != nil {
		return theirs, v, err
	}
	body, err := expectControl(s, kindHello)
	if err != nil {
		return theirs, v, err
	}
	if theirs, err = decodeHello(body); err != nil {
		return theirs, v, fmt.Errorf("%s sent a malformed hello: %w", g.name, err)
	}
	if theirs.Version != WireVersion {
		return theirs, v, nil
	}
	if body, err = expectControl(s, kindVerdict); err != nil {
		return theirs, v, err
	}
	if v, err = decodeVerdict(body); err != nil {
		return theirs, v, fmt.Errorf("%s sent a malformed verdict: %w", g.name, err)
	}
	return theirs, v, nil
}

// awaitEnd gives the other side a moment to read what was sent last and to close the stream.
// Closing the connection at once might drop it on the way.
func awaitEnd(s network.Stream) {
	s.CloseWrite()
	s.SetReadDeadline(time.Now().Add(partTimeout))
	var b [1]byte
	s.Read(b[:])
}

// buffer is bytes that cannot fail to be written to.
type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
