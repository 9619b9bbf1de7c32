package sum

import (
	"context"
	"errors"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// sumClients is a process of some of the clients.
type sumClients struct {
	network *sumNetwork
	clients []*sumClient
}

// sumClient is one client.
type sumClient struct {
	end    *sumEnd
	client *cohort.Client
	words  []uint64
}

// newSumClients makes clients, which open no hosts yet.
func newSumClients(l *sumNetwork, first, count int) (*sumClients, error) {
	s := &sumClients{network: l}
	for i := range count {
		end, err := newSumEnd(l, first+i)
		if err != nil {
			return nil, err
		}
		s.clients = append(s.clients, &sumClient{end: end})
	}
	return s, nil
}

// each does something for all clients at once, and returns the first error, with the client's name.
func (s *sumClients) each(do func(c *sumClient) error) error {
	errs := make([]error, len(s.clients))
	var all sync.WaitGroup
	for i, c := range s.clients {
		all.Go(func() { errs[i] = c.end.called(do(c)) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sumClients) open(ctx context.Context, number uint32) error {
	return s.each(func(c *sumClient) error { return c.end.open(ctx, number) })
}

func (s *sumClients) stream(ctx context.Context) error {
	return s.each(func(c *sumClient) error { return c.end.stream(ctx) })
}

func (s *sumClients) close() error {
	return s.each(func(c *sumClient) error { return c.end.close() })
}

// keys enters the session.
func (s *sumClients) keys(ctx context.Context) error {
	spec, err := s.network.spec()
	if err != nil {
		return err
	}
	return s.each(func(c *sumClient) (err error) {
		c.client, err = cohort.NewClient(ctx, c.end.links, spec)
		return err
	})
}

// prepare makes the vectors of a sum.
func (s *sumClients) prepare(t sumTask) error {
	for _, c := range s.clients {
		c.end.prepare(t.Leaving[c.end.self])
		c.words = sumVector(s.network.sumCase, c.end.self, t.Sum)
	}
	return nil
}

// sum takes part in one sum, with all clients.
func (s *sumClients) sum(ctx context.Context) (sumAnswer, error) {
	answers := make([]sumAnswer, len(s.clients))
	err := s.each(func(c *sumClient) (err error) {
		answers[c.end.self-s.clients[0].end.self], err = c.sum(ctx)
		return err
	})
	all := sumAnswer{Left: make(map[string]int)}
	for _, a := range answers {
		all.Sent, all.Received = all.Sent+a.Sent, all.Received+a.Received
		all.Stayed, all.LeftOut = all.Stayed+a.Stayed, all.LeftOut+a.LeftOut
	}
	for _, c := range s.clients {
		if c.end.mesh.left {
			all.Left[c.end.mesh.leaveAt]++
		}
	}
	return all, err
}

// sum takes part in one sum. A client that drops out as it was told to has no error, and one that the
// server went on without, or whose link broke, is counted.
func (c *sumClient) sum(ctx context.Context) (a sumAnswer, err error) {
	sent, received := c.end.traffic()
	err = c.client.Sum(ctx, c.end.vector(), c.words)
	a.Sent, a.Received = c.end.traffic()
	a.Sent, a.Received = a.Sent-sent, a.Received-received
	if c.end.mesh.left {
		return a, nil
	}
	_, broken := errors.AsType[*protocol.GoneError](err)
	if broken || errors.Is(err, cohort.ErrLeftOut) {
		a.LeftOut, err = 1, nil
	}
	a.Stayed = a.Sent
	return a, err
}

// stream sends frames as in the latest sum to each of a client's peers while it takes theirs in.
func (e *sumEnd) stream(ctx context.Context) error {
	ids := e.peers(e.self)
	errs := make([]error, 2*len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { errs[2*i] = e.replay(ctx, id) })
		all.Go(func() { errs[2*i+1] = e.takeStream(ctx, id) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// takeStream takes frames of a party in until the empty one.
func (e *sumEnd) takeStream(ctx context.Context, from keys.ID) error {
	var buf []byte
	for {
		frame, err := e.mesh.Mesh.Receive(ctx, from, buf)
		if err != nil || len(frame) == 0 {
			return err
		}
		buf = frame
	}
}
