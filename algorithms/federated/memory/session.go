package memory

import (
	"context"
	"sync"
)

// Session is a hub and its clients while they attend, each in a goroutine of its own. It is for one goroutine.
type Session struct {
	*Hub
	stop []context.CancelFunc
	errs []chan error
	wait sync.WaitGroup
}

// NewSession returns a session of so many clients, all away, whose totals open with at least least of them.
func NewSession(clients, least int) *Session {
	return &Session{Hub: NewHub(clients, least), stop: make([]context.CancelFunc, clients),
		errs: make([]chan error, clients)}
}

// RunClient has a client come, or come back, and run its part, with its view of the hub. It leaves when the part
// ends.
func (s *Session) RunClient(ctx context.Context, client int, part func(ctx context.Context, network *Client) error) {
	ctx, s.stop[client] = context.WithCancel(ctx)
	network, ended := s.Join(client), make(chan error, 1)
	s.errs[client] = ended
	s.wait.Go(func() {
		defer network.Leave()
		ended <- part(ctx, network)
	})
}

// Stop cancels the context of a client's newest part.
func (s *Session) Stop(client int) { s.stop[client]() }

// Ended waits for a client's newest part to end, and returns its error. It is for one call a part.
func (s *Session) Ended(client int) error { return <-s.errs[client] }

// Wait waits for all parts to end.
func (s *Session) Wait() {
	s.wait.Wait()
	for _, stop := range s.stop {
		if stop != nil {
			stop()
		}
	}
}
