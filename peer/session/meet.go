package session

import (
	"context"
	"io"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Answers to a session stream. Numbers are never used again for another meaning.
const (
	answerIn   = 1 // the session is open here too: frames follow
	answerUsed = 2 // it was open here and is not to be opened again
	answerFull = 3 // too many streams of yours wait here: ask again later
	answerSkew = 4 // the charters differ: ask again when they agree
)

// Times of the meeting of peers.
const (
	earlyTime    = 30 * time.Second       // an early stream waits for Open
	askAgain     = 250 * time.Millisecond // after a stream was lost
	askMuchLater = 2 * time.Second        // after the other side asked for patience
)

// AnswerTime is how long the other side may take over a step of a handshake: a few bytes there, and a few back. It is
// the same in every handshake of hosts, and bounds what half-open ones keep. On a line of half a second there and back
// three packets may be lost in a row, which are sent again after 1.5, 3 and 6 s; and a busy machine may take some
// seconds until it comes to it.
const AnswerTime = 20 * time.Second

// opensTo reports whether this side opens the stream to a peer, rather than answer it.
func (t *Transport) opensTo(peer keys.ID) bool { return t.self.Compare(peer) < 0 }

// meetOne makes the stream to one peer.
func (t *Transport) meetOne(ctx context.Context, e end) (s *stream, err error) {
	if t.opensTo(e.peer) {
		s, err = t.open(ctx, e)
	} else {
		s, err = t.await(ctx, e)
	}
	if err == nil {
		t.matcher.join(e, s)
	}
	return s, err
}

// open opens the stream to a peer and waits until it is in, over as many links as it takes.
func (t *Transport) open(ctx context.Context, e end) (*stream, error) {
	for {
		l, err := t.network.Link(ctx, e.peer)
		if err != nil {
			return nil, err
		}
		raw, answer, err := ask(ctx, l, e.session)
		pause := askAgain
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			// The link broke, or the other side stopped waiting for its Open: ask again.
		case answer == answerIn:
			return newStream(l, raw), nil
		case answer == answerUsed:
			return nil, &protocol.GoneError{Peer: e.peer, Reason: "it has left this session already"}
		default:
			pause = askMuchLater
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		}
	}
}

// ask opens a session stream, waits for the answer and, if that is answerIn, repeats it, so that
// the other side knows that it has arrived. The stream is only returned with answerIn.
func ask(ctx context.Context, l Link, id protocol.SessionID) (RawStream, byte, error) {
	s, err := l.Open(ctx, id[:])
	if err != nil {
		return nil, 0, err
	}
	release := InterruptIO(ctx, s.SetDeadline)
	var answer [1]byte
	_, err = io.ReadFull(s, answer[:])
	if err == nil && answer[0] == answerIn {
		_, err = s.Write(answer[:])
	}
	if release() && err == nil {
		err = ctx.Err()
	}
	if err != nil || answer[0] != answerIn {
		s.Reset()
		return nil, answer[0], err
	}
	return s, answerIn, nil
}

// await waits for a peer's stream and answers it.
func (t *Transport) await(ctx context.Context, e end) (*stream, error) {
	arrivals := t.matcher.arrivals(e)
	defer t.matcher.dismiss(e)
	for {
		select {
		case a := <-arrivals:
			if letIn(ctx, a.raw) {
				return newStream(a.link, a.raw), nil
			}
			a.raw.Reset()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.life.Done():
			return nil, ErrClosed
		}
	}
}

// letIn answers a stream and reads that the answer has arrived: a stream that waited for a
// while may belong to a link that is dead without anybody having noticed.
func letIn(ctx context.Context, s RawStream) bool {
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	release := InterruptIO(ctx, s.SetDeadline)
	answer := []byte{answerIn}
	_, err := s.Write(answer)
	if err == nil {
		_, err = io.ReadFull(s, answer)
	}
	return !release() && err == nil && answer[0] == answerIn
}

// Accept handles a session stream that a peer has opened. It returns when the stream belongs to a
// session, or is refused.
func (t *Transport) Accept(l Link, s RawStream) {
	s.SetReadDeadline(time.Now().Add(AnswerTime))
	var id protocol.SessionID
	if _, err := io.ReadFull(s, id[:]); err != nil {
		s.Reset()
		return
	}
	s.SetReadDeadline(time.Time{})
	refuse := func(answer byte) {
		s.SetWriteDeadline(time.Now().Add(AnswerTime))
		s.Write([]byte{answer})
		s.Close()
	}
	if !l.CarriesSessions() {
		refuse(answerSkew)
		return
	}
	e := end{l.Peer(), id}
	a := &arrival{link: l, raw: s, claimed: make(chan struct{})}
	switch t.matcher.arrive(e, a) {
	case placeUsed:
		refuse(answerUsed)
	case placeFull:
		refuse(answerFull)
	case placeEarly: // it stays until Open takes it or it has waited long enough
		wait := time.NewTimer(earlyTime)
		defer wait.Stop()
		select {
		case <-a.claimed:
			return
		case <-wait.C:
		case <-l.Over():
		case <-t.life.Done():
		}
		if t.matcher.withdraw(e, a) {
			s.Reset()
		}
	}
}

// Left handles a peer's news that it has closed a session: it reads no more.
func (t *Transport) Left(peer keys.ID, id protocol.SessionID) { t.matcher.left(end{peer, id}) }

// Waiting returns how many streams of others wait here for an Open.
func (t *Transport) Waiting() int {
	t.matcher.mu.Lock()
	defer t.matcher.mu.Unlock()
	return len(t.matcher.early)
}

// InterruptIO makes the end of ctx interrupt I/O that keeps to the deadline set by setDeadline.
// The function it returns must be called after the I/O: it reports whether ctx ended it, and
// clears the deadline then, so that the stream can go on if no byte was lost.
func InterruptIO(ctx context.Context, setDeadline func(time.Time) error) (release func() bool) {
	if ctx.Done() == nil {
		return func() bool { return false }
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		setDeadline(time.Unix(1, 0))
		close(fired)
	})
	return func() bool {
		if stop() {
			return false
		}
		<-fired
		setDeadline(time.Time{})
		return true
	}
}
