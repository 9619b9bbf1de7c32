package cohort

import (
	"context"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// gathering is one round of answers from clients.
type gathering struct {
	*Server
	waiting set
	also    set    // who may send too, and is not waited for; nil: nobody
	kind    string // of the messages that are awaited
	class   contract.Class
	late    set // whose messages of this sum come too late and are discarded; nil: nobody's
}

// run hears from the clients until each that is waited for has finished, or is lost, or the
// server's patience ends. take gets the awaited messages and reports whether that client has
// finished; an error of it loses the client.
func (g *gathering) run(ctx context.Context, accept func(m protocol.Message) (done bool, err error)) error {
	patient, cancel := context.WithTimeout(ctx, g.spec.Patience)
	defer cancel()
	for _, i := range g.waiting.members() {
		if g.lost[i] != nil {
			g.waiting.remove(i)
		}
	}
	for g.waiting.count() > 0 {
		a, err := g.arrivals.Next(patient)
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(patient.Err(), context.DeadlineExceeded):
			for _, i := range g.waiting.members() { // they have no part in sums until they are heard again
				g.waiting.remove(i)
				g.present.remove(i)
				g.note(i, g.kind, nil)
			}
			return nil
		case err != nil:
			return fmt.Errorf("sum %d: %w", g.sum, err)
		}
		if err := g.arrive(a, accept); err != nil {
			return err
		}
	}
	return nil
}

// drop loses a client.
func (g *gathering) drop(client int, err error) {
	g.lose(client, g.kind, err)
	g.waiting.remove(client)
}

// arrive takes one arrival in.
func (g *gathering) arrive(a protocol.Arrival, accept func(m protocol.Message) (bool, error)) error {
	i, ok := g.index[a.From]
	if !ok || g.lost[i] != nil {
		return nil
	}
	if a.Err != nil {
		g.drop(i, &protocol.StepError{Peer: g.links.Name(i), Operation: g.sum, Kind: g.kind, Err: a.Err})
		return nil
	}
	var m protocol.Message
	var err error
	if a.Message != nil {
		m = *a.Message
	} else {
		m, err = g.links.Accept(i, a.Frame)
	}
	var broken *protocol.StepError
	if errors.As(err, &broken) {
		g.drop(i, err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := g.sort(m, accept); err != nil {
		g.drop(i, err)
	}
	return nil
}

// sort decides what a message is: a session key, one of an earlier sum that came too late, the one
// that is awaited, or a deviation.
func (g *gathering) sort(m protocol.Message, accept func(m protocol.Message) (bool, error)) error {
	switch {
	case m.Kind == contract.KindPast: // of its transcript; the links have looked at it
		return nil
	case m.Kind == KindKey && m.Operation == 0:
		// Takes a client's session key, once.
		switch {
		case g.keys[m.From] != nil:
			return g.links.Deviation(m, "it came again")
		case len(m.Payload) != contract.SessionKeySize || m.Class != contract.ClassControl:
			return g.links.Deviation(m, "a session key of %d bytes, want %d", len(m.Payload), contract.SessionKeySize)
		}
		g.keys[m.From] = append([]byte(nil), m.Payload...)
		g.keysSent[m.From] = newSet(g.links.Parties())
		g.present.add(m.From)
		if g.kind == KindKey {
			g.waiting.remove(m.From)
		}
		return nil
	case m.Operation < g.sum, m.Operation == g.sum && g.late != nil && g.late.has(m.From):
		g.present.add(m.From) // it came too late for that sum, and is in time for the next one
		return nil
	case m.Operation != g.sum || m.Kind != g.kind:
		return g.links.Deviation(m, "it came where %s is awaited in sum %d", g.kind, g.sum)
	case !g.waiting.has(m.From) && (g.also == nil || !g.also.has(m.From)):
		return g.links.Deviation(m, "it came again, or unasked")
	case m.Class != g.class:
		return g.links.Deviation(m, "its class is %s, want %s", m.Class, g.class)
	}
	done, err := accept(m)
	if err != nil {
		return g.links.Deviation(m, "%v", err)
	}
	if done {
		g.waiting.remove(m.From)
		if g.also != nil {
			g.also.remove(m.From)
		}
	}
	return nil
}
