package cohort

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// Client is a client's end of the sums of a session. It is not safe for concurrent use.
type Client struct {
	links   *protocol.Links
	spec    Spec
	plan    contract.Plan
	last    uint64 // the latest sum that this client has entered
	noticed uint64 // the number that the server's latest message beside the sums had
	clients set    // the server's
	past    past
	counted uint64             // coins that the disk counts, some ahead
	keep    func([]byte) error // see Remember
	schemes map[[2]int]*shamir.Scheme
	keys    clientKeys
}

// NewClient enters a session: it sends the server this client's session key.
func NewClient(ctx context.Context, links *protocol.Links, spec Spec) (*Client, error) {
	spec, err := spec.complete(links.Parties())
	if err != nil {
		return nil, err
	}
	if links.Self() == spec.Server {
		return nil, errors.New("the server is no client of its own")
	}
	c := &Client{
		links: links, spec: spec, plan: contract.PlanAmong(spec.Topology, links.Parties(), spec.Server, spec.Clients),
		clients: newSet(links.Parties(), spec.Clients...), schemes: make(map[[2]int]*shamir.Scheme),
	}
	key := links.KeyMessage()
	m := protocol.Message{Kind: KindKey, Class: contract.ClassControl, Size: uint64(len(key)), Payload: key}
	return c, links.Send(ctx, spec.Server, m)
}

// Server returns the server's index.
func (c *Client) Server() int { return c.spec.Server }

// Sum takes part in the next sum that the server begins, with words below 2^v.Bits. It returns when
// this client's part is done. ErrLeftOut says that the server went on without the vector; after
// any other error the client's part in the session is over.
func (c *Client) Sum(ctx context.Context, v Vector, words []uint64) error {
	if err := v.check(); err != nil {
		return err
	}
	if len(words) != v.Words {
		return fmt.Errorf("%s: a vector of %d words, want %d", v.Kind, len(words), v.Words)
	}
	if i := misfit(words, v.Bits); i >= 0 {
		return fmt.Errorf("%s: word %d is %d, want less than 2^%d", v.Kind, i, words[i], v.Bits)
	}
	s, err := c.enter(ctx, v, 0)
	if err != nil {
		return err
	}
	switch c.spec.Backend {
	case Masked:
		return c.untilDrawn(ctx, s, words)
	case HE:
		return c.untilOpened(ctx, s, words)
	}
	s.members = s.candidates
	if err := s.upload(ctx, toBytes(words)); err != nil {
		return err
	}
	_, err = s.receiveSet(ctx, KindSurvivors, s.members, "survivors")
	return err
}

// enter waits for the server to begin a sum and checks that it is the one this client expects: a new
// one, or the repetition of the given one.
func (c *Client) enter(ctx context.Context, v Vector, again uint64) (*clientSum, error) {
	// What prepares the key of a homomorphic sum comes first.
	m, err := c.links.Receive(ctx, c.spec.Server, KindBegin, nil)
	for err == nil && c.spec.Backend == HE && (m.Kind == KindHolders || m.Kind == KindHEKey) {
		if err = c.prepare(ctx, m); err == nil {
			m, err = c.links.Receive(ctx, c.spec.Server, KindBegin, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	if !ofSums(m.Kind) { // the server has come to something else
		c.links.Return(m)
		return nil, ErrLeftOut
	}
	if m.Kind != KindBegin || m.Class != contract.ClassControl {
		return nil, c.links.Deviation(m, "it came where a sum begins")
	}
	if m.Operation <= c.last {
		return nil, c.links.Deviation(m, "sum %d begins after sum %d: each has one turn", m.Operation, c.last)
	}
	b, err := parseBegin(m.Payload, c.links.Parties())
	if err != nil {
		return nil, c.links.Deviation(m, "%v", err)
	}
	if b.again != again && again != 0 { // another sum: for whoever asks next
		c.links.Return(m)
		return nil, ErrLeftOut
	}
	c.last = m.Operation
	if b.again != again && c.spec.Backend == HE {
		return nil, c.links.Deviation(m, "it repeats sum %d, in which this client has no vector", b.again)
	}
	if b.vector != v {
		return nil, c.links.Deviation(m, "the server sums %d words of %d bits (%s), this client has %d of %d (%s)",
			b.vector.Words, b.vector.Bits, b.vector.Kind, v.Words, v.Bits, v.Kind)
	}
	if err := c.checkSet(m, b.candidates, "candidates"); err != nil {
		return nil, err
	}
	for _, k := range b.keys {
		if err := c.learn(m, k); err != nil {
			return nil, err
		}
	}
	r, err := newRound(c.spec, m.Operation, v, b.candidates)
	if err != nil {
		return nil, c.links.Deviation(m, "%v", err)
	}
	if c.spec.Backend == HE || r.neighbours != nil { // along a graph, those who commit themselves count
		if err := c.checkFall(m, b.candidates.count()); err != nil {
			return nil, err
		}
	}
	return &clientSum{Client: c, round: r, patience: b.patience}, nil
}

// learn takes another client's session key, which it has signed; the first one stays.
func (c *Client) learn(m protocol.Message, k clientKey) error {
	if k.client == c.links.Self() || k.client == c.spec.Server {
		return c.links.Deviation(m, "it brings a key of %s, want other clients'", c.links.Name(k.client))
	}
	if c.links.Pair(k.client) != nil {
		return c.links.Deviation(m, "it brings a second key of %s", c.links.Name(k.client))
	}
	if err := c.links.Agree(k.client, k.message); err != nil {
		return c.links.Deviation(m, "key of %s: %v", c.links.Name(k.client), err)
	}
	return nil
}

// checkSet refuses a set of clients that is too small, lacks this client or has the server in it.
func (c *Client) checkSet(m protocol.Message, s set, what string) error {
	switch n := s.count(); {
	case !s.has(c.links.Self()):
		return c.links.Deviation(m, "the %s it names are without this client", what)
	case s.has(c.spec.Server):
		return c.links.Deviation(m, "the %s it names have the server among them", what)
	case !s.within(c.clients):
		return c.links.Deviation(m, "the %s it names have others than the server's clients among them", what)
	case n < c.spec.MinContributors:
		return c.links.Deviation(m, "it names %d %s, want at least %d: a total of fewer is not to be opened",
			n, what, c.spec.MinContributors)
	}
	return nil
}

// clientSum is a client's part in one sum.
type clientSum struct {
	*Client
	*round
	patience time.Duration
	bundle   []byte // what this client sent: its vector and those it added for others
	direct   bool   // it has gone to the server itself
}

// receive waits for the server's next message of this sum. If the server has begun something else
// the message is kept for whoever asks next.
func (s *clientSum) receive(ctx context.Context, kind string) (protocol.Message, error) {
	for {
		m, err := s.links.Receive(ctx, s.spec.Server, kind, nil)
		switch {
		case err != nil:
			return m, err
		case m.Operation == s.operation && m.Kind == KindResend && kind == KindSurvivors:
			if err := s.resend(ctx); err != nil {
				return m, err
			}
		case m.Operation == s.operation && m.Kind == kind && m.Class == contract.ClassControl:
			return m, nil
		case m.Operation <= s.operation && ofSums(m.Kind):
			return m, s.links.Deviation(m, "it came where %s is awaited in sum %d", kind, s.operation)
		default:
			s.links.Return(m)
			return m, ErrLeftOut
		}
	}
}

// ofSums reports whether a kind of message belongs to sums and to nothing else.
func ofSums(kind string) bool {
	switch kind {
	case KindBegin, KindPledged, KindNonces, KindMembers, KindResend, KindSurvivors, KindTagged, KindOpened,
		KindHolders, KindDealt, KindHEKey, KindSwitch:
		return true
	}
	return false
}

// receiveSet waits for a set that the server names: part of those before it, with this client in it.
func (s *clientSum) receiveSet(ctx context.Context, kind string, of set, what string) (set, error) {
	m, err := s.receive(ctx, kind)
	if err != nil {
		return nil, err
	}
	return s.setIn(m, m.Payload, of, what)
}

// setIn reads a set that the server names.
func (s *clientSum) setIn(m protocol.Message, encoded []byte, of set, what string) (set, error) {
	named, err := parseSet(encoded, s.links.Parties())
	if err != nil {
		return nil, s.links.Deviation(m, "%v", err)
	}
	if !named.within(of) {
		return nil, s.links.Deviation(m, "its %s are not all among those before", what)
	}
	return named, s.checkSet(m, named, what)
}

// sendControl sends the server a control message of this sum.
func (s *clientSum) sendControl(ctx context.Context, kind string, payload []byte) error {
	return s.links.Send(ctx, s.spec.Server, s.message(kind, contract.ClassControl, payload))
}
