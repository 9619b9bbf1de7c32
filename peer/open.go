package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
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
	if err := h.checkPeers(peers); err != nil {
		return nil, err
	}
	if !h.enter() {
		return nil, errClosed
	}
	defer h.leave()
	callers := slices.DeleteFunc(slices.Clone(peers), h.lower)
	if err := h.rooms.begin(room, callers); err != nil {
		return nil, err
	}
	m := &mesh{room: room, rooms: h.rooms, lanes: make(map[keys.ID]*lane, len(peers))}
	if absent := h.gather(ctx, m, peers); len(absent) > 0 {
		m.Close()
		return nil, h.explainOpen(ctx, room, absent)
	}
	return m, nil
}

// checkPeers refuses a list that no mesh can be made of.
func (h *Host) checkPeers(peers []keys.ID) error {
	for i, id := range peers {
		if slices.Contains(peers[:i], id) {
			return fmt.Errorf("%s is listed twice among the peers of a session", id.Short())
		}
		if _, _, _, err := h.lookup(id, levelFull); err != nil {
			return err
		}
	}
	return nil
}

// gather meets all peers at once and returns why some did not come. The first peer that can
// never come ends the wait for the others, who are not to blame then.
func (h *Host) gather(ctx context.Context, m *mesh, peers []keys.ID) map[keys.ID]error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	late, never := make(map[keys.ID]error), make(map[keys.ID]error)
	var meetings sync.WaitGroup
	for _, id := range peers {
		meetings.Go(func() {
			a, err := h.meet(waiting, seat{id, m.room})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				m.lanes[id] = a
			case waiting.Err() != nil:
				late[id] = err
			default:
				never[id] = err
				stop()
			}
		})
	}
	meetings.Wait()
	if len(never) > 0 {
		return never
	}
	return late
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

// explainOpen names those who did not come.
func (h *Host) explainOpen(ctx context.Context, room protocol.Room, absent map[keys.ID]error) error {
	e := &openError{}
	var clauses []string
	for _, id := range slices.SortedFunc(maps.Keys(absent), keys.ID.Compare) {
		gone, ok := errors.AsType[*protocol.GoneError](absent[id])
		if !ok {
			gone = &protocol.GoneError{Peer: id, Reason: cmp.Or(h.absence(id, levelFull), "connected, but it has not opened the session")}
		}
		e.causes = append(e.causes, gone)
		clauses = append(clauses, fmt.Sprintf("%s: %s", called(h.nameOf(id), id), gone.Reason))
	}
	e.text = fmt.Sprintf("session %x did not start without %s", room[:4], strings.Join(clauses, "; "))
	if err := ctx.Err(); err != nil {
		e.causes = append(e.causes, err)
		e.text += ": " + err.Error()
	}
	return e
}

// openError says who is missing in a session.
type openError struct {
	text   string
	causes []error
}

func (e *openError) Error() string   { return e.text }
func (e *openError) Unwrap() []error { return e.causes }
