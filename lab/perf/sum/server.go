package sum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// sumServer is the server's process.
type sumServer struct {
	end    *sumEnd
	inbox  *inbox.Inbox
	server *cohort.Server
	task   sumTask // of the sum that is prepared
}

// newSumServer makes the server, which opens no host yet.
func newSumServer(l *sumNetwork) (*sumServer, error) {
	end, err := newSumEnd(l, sumServerIndex)
	return &sumServer{end: end}, err
}

// open ends the session before and opens the next one with all clients.
func (s *sumServer) open(ctx context.Context, number uint32) error {
	if err := s.closeInbox(); err != nil {
		return err
	}
	if err := s.end.open(ctx, number); err != nil {
		return err
	}
	s.inbox = inbox.New(s.end.mesh, s.end.peers(sumServerIndex))
	return nil
}

// closeInbox ends the inbox of a session.
func (s *sumServer) closeInbox() error {
	if s.inbox == nil {
		return nil
	}
	err := s.inbox.Close()
	s.inbox = nil
	return err
}

// sumArrivals are an inbox as a cohort wants it.
type sumArrivals struct{ *inbox.Inbox }

// Next returns the next arrival.
func (a sumArrivals) Next(ctx context.Context) (protocol.Arrival, error) {
	x, err := a.Inbox.Next(ctx)
	return protocol.Arrival(x), err
}

// keys takes in the session keys of all clients.
func (s *sumServer) keys(ctx context.Context) error {
	spec, err := s.end.spec()
	if err != nil {
		return err
	}
	var clients []int
	for i := range s.end.Clients {
		clients = append(clients, i+1)
	}
	s.server, err = cohort.NewServer(ctx, s.end.links, sumArrivals{s.inbox}, clients, spec)
	return err
}

// prepare gets ready for a sum.
func (s *sumServer) prepare(t sumTask) error {
	s.task = t
	s.end.prepare("")
	if n := len(s.server.Present()); n != s.end.Clients {
		return fmt.Errorf("%d clients are present, want %d", n, s.end.Clients)
	}
	return nil
}

// sum opens one total and checks it, which does not count.
func (s *sumServer) sum(ctx context.Context) (sumAnswer, error) {
	start, before := time.Now(), lab.CPU()
	total, err := s.server.Sum(ctx, s.end.vector(), s.server.Present())
	a := sumAnswer{Seconds: time.Since(start).Seconds(), CPU: lab.CPU() - before}
	if err != nil {
		return a, err
	}
	a.Survivors, a.Wrong = len(total.Survivors), wrongWords(total, s.end.sumCase, s.task.Sum)
	a.Unplanned, a.Why = s.unplanned(total)
	return a, nil
}

// unplanned counts the clients that were lost though they were to stay, or whose vectors are missing
// though they were to send them, and says why the first is gone.
func (s *sumServer) unplanned(total *cohort.Total) (n int, why string) {
	off := make(map[int]bool)
	for _, loss := range total.Lost {
		off[loss.Client] = s.task.Leaving[loss.Client] == ""
		if off[loss.Client] && why == "" {
			why = loss.String()
		}
	}
	for i := range s.end.Clients {
		if step := s.task.Leaving[i+1]; step != cohort.KindDeposit && step != sumKind &&
			!slices.Contains(total.Survivors, i+1) {
			off[i+1] = true
		}
	}
	for _, is := range off {
		if is {
			n++
		}
	}
	return n, why
}

// stream sends the clients frames as in the latest sum, and takes theirs in.
func (s *sumServer) stream(ctx context.Context) error {
	ids := s.end.peers(sumServerIndex)
	errs := make([]error, len(ids))
	var sending sync.WaitGroup
	for i, id := range ids {
		sending.Go(func() { errs[i] = s.end.replay(ctx, id) })
	}
	err := s.takeStreams(ctx, len(ids))
	sending.Wait()
	return errors.Join(err, errors.Join(errs...))
}

// takeStreams takes frames in until all clients have sent their last, which is empty.
func (s *sumServer) takeStreams(ctx context.Context, clients int) error {
	for clients > 0 {
		a, err := s.inbox.Next(ctx)
		if err == nil {
			err = a.Err
		}
		if err != nil {
			return err
		}
		if len(a.Frame) == 0 {
			clients--
		}
		s.inbox.Release(a.Frame)
	}
	return nil
}

// close ends everything.
func (s *sumServer) close() error { return errors.Join(s.closeInbox(), s.end.close()) }

// replay sends a party frames of the sizes that it was sent in the latest sum, and an empty one.
func (e *sumEnd) replay(ctx context.Context, to keys.ID) error {
	for _, size := range e.sent[to] {
		if err := e.mesh.Mesh.Send(ctx, to, make([]byte, size)); err != nil {
			return err
		}
	}
	return e.mesh.Mesh.Send(ctx, to, nil)
}
