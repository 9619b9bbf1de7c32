package peer

import (
	"context"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Answers to a session stream. Numbers are never used again for another meaning.
const (
	roomIn   = 1 // the room is open here too: frames follow
	roomUsed = 2 // it was open here and is not to be opened again
	roomFull = 3 // too many streams of yours wait here: ask again later
	roomSkew = 4 // the charters differ: ask again when they agree
)

// Times of the meeting of sessions.
const (
	parkTime    = 30 * time.Second       // an early stream waits for Open
	askAgain    = 250 * time.Millisecond // after a stream was lost
	askMuchLess = 2 * time.Second        // after the other side asked for patience
)

// Open joins a room with the peers and returns when all are in. Of each pair the lower id opens
// the stream, and the other one answers it once it has opened the room itself. If ctx ends
// first, or a peer cannot come any more, the error names those who are missing, and why; it
// wraps a *protocol.GoneError for each.
func (h *Host) Open(ctx context.Context, room protocol.Room, peers []keys.ID) (protocol.Mesh, error) {
	a, err := h.assemble(ctx, room, peers, true)
	if err != nil {
		return nil, err
	}
	absent := a.never
	if len(absent) == 0 {
		absent = a.late
	}
	if len(absent) > 0 {
		a.mesh.Close()
		return nil, h.explainOpen(ctx, room, absent)
	}
	return a.mesh, nil
}

// meet makes the lane to one peer.
func (h *Host) meet(ctx context.Context, s seat) (a *lane, err error) {
	if h.lower(s.peer) {
		a, err = h.callIn(ctx, s)
	} else {
		a, err = h.waitFor(ctx, s)
	}
	if err == nil {
		h.rooms.join(s, a)
	}
	return a, err
}

// callIn opens the stream to a peer and waits until it is in, over as many links as it takes.
func (h *Host) callIn(ctx context.Context, s seat) (*lane, error) {
	for {
		l, err := h.awaitLink(ctx, s.peer, levelFull)
		if err != nil {
			return nil, err
		}
		stream, answer, err := knock(ctx, l, s.room)
		pause := askAgain
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			// The link broke, or the other side stopped waiting for its Open: ask again.
		case answer == roomIn:
			return newLane(l, stream), nil
		case answer == roomUsed:
			return nil, &protocol.GoneError{Peer: s.peer, Reason: "it has left this session already"}
		default:
			pause = askMuchLess
		}
		if !sleep(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// knock opens a session stream, waits for the answer and, if that is roomIn, repeats it, so that
// the other side knows that it has arrived. The stream is only returned with roomIn.
func knock(ctx context.Context, l *link, room protocol.Room) (network.Stream, byte, error) {
	s, err := openStream(ctx, l.conn, protoSession, room[:])
	if err != nil {
		return nil, 0, err
	}
	release := onDone(ctx, s.SetDeadline)
	err = readProtocol(s, protoSession)
	var answer [1]byte
	if err == nil {
		_, err = io.ReadFull(s, answer[:])
	}
	if err == nil && answer[0] == roomIn {
		_, err = s.Write(answer[:])
	}
	if release() && err == nil {
		err = ctx.Err()
	}
	if err != nil || answer[0] != roomIn {
		s.Reset()
		return nil, answer[0], err
	}
	return s, roomIn, nil
}

// waitFor waits for a peer's stream and answers it.
func (h *Host) waitFor(ctx context.Context, s seat) (*lane, error) {
	arrivals := h.rooms.arrivals(s)
	defer h.rooms.dismiss(s)
	for {
		select {
		case a := <-arrivals:
			if letIn(ctx, a.stream) {
				return newLane(a.link, a.stream), nil
			}
			a.stream.Reset()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.life.Done():
			return nil, errClosed
		}
	}
}

// letIn answers a stream and hears that the answer has arrived: a stream that was parked for a
// while may belong to a link that is dead without anybody having noticed.
func letIn(ctx context.Context, s network.Stream) bool {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	release := onDone(ctx, s.SetDeadline)
	answer := []byte{roomIn}
	_, err := s.Write(answer)
	if err == nil {
		_, err = io.ReadFull(s, answer)
	}
	return !release() && err == nil && answer[0] == roomIn
}

// answerSession handles a session stream that a peer has opened. It returns when the stream
// belongs to a mesh, or is refused.
func (h *Host) answerSession(s network.Stream) {
	l := h.admitted(s.Conn())
	s.SetReadDeadline(time.Now().Add(streamTimeout))
	var room protocol.Room
	if _, err := io.ReadFull(s, room[:]); err != nil || l == nil {
		s.Reset()
		return
	}
	s.SetReadDeadline(time.Time{})
	if !l.may(levelFull) {
		refuseRoom(s, roomSkew)
		return
	}
	at := seat{l.peer, room}
	a := &arrival{link: l, stream: s, claimed: make(chan struct{})}
	switch h.rooms.arrive(at, a) {
	case placeTaken:
	case placeParked:
		h.park(at, a)
	case placeUsed:
		refuseRoom(s, roomUsed)
	case placeFull:
		refuseRoom(s, roomFull)
	}
}

// park keeps an early stream until Open takes it or it has waited long enough.
func (h *Host) park(at seat, a *arrival) {
	wait := time.NewTimer(parkTime)
	defer wait.Stop()
	select {
	case <-a.claimed:
		return
	case <-wait.C:
	case <-a.link.over:
	case <-h.life.Done():
	}
	if h.rooms.withdraw(at, a) {
		a.stream.Reset()
	}
}

func refuseRoom(s network.Stream, answer byte) {
	s.SetWriteDeadline(time.Now().Add(streamTimeout))
	s.Write([]byte{answer})
	s.Close()
}
