package cohort

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// upload sends the vector of this client towards the server, together with those of the members
// below it in the tree or ring.
func (s *clientSum) upload(ctx context.Context, vector []byte) error {
	carried := newSet(s.links.Parties(), s.links.Self())
	for _, child := range s.plan.Children[s.links.Self()] {
		if !s.members.has(child) {
			continue
		}
		if err := s.addChild(ctx, child, carried, vector); err != nil {
			return err
		}
	}
	s.bundle = make([]byte, s.bundleSize(s.links.Parties()))
	s.codec.write(s.bundle[copy(s.bundle, carried):], vector)
	parent := s.plan.Parent[s.links.Self()]
	if parent == s.spec.Server || !s.members.has(parent) {
		return s.resend(ctx)
	}
	sending, cancel := context.WithTimeout(ctx, s.patience/2)
	defer cancel()
	err := s.sendBundle(sending, parent)
	var broken *protocol.StepError
	if errors.As(err, &broken) && ctx.Err() == nil { // the parent is gone, or takes nothing: the server takes it
		return s.resend(ctx)
	}
	return err
}

// resend sends the bundle to the server itself, once.
func (s *clientSum) resend(ctx context.Context) error {
	if s.direct {
		return nil
	}
	s.direct = true
	return s.sendBundle(ctx, s.spec.Server)
}

// sendBundle sends the bundle in chunks.
func (s *clientSum) sendBundle(ctx context.Context, to int) error {
	return SendLong(ctx, s.links, to, s.message(s.vector.Kind, s.spec.Backend.class(), s.bundle))
}

// addChild waits for the bundle of a member below this one and adds it. One that does not come in
// its time, or whose link breaks, is left to the server.
func (s *clientSum) addChild(ctx context.Context, child int, carried set, vector []byte) error {
	// The more levels are below it the longer, and never as long as the server waits.
	share := s.patience * time.Duration(1+s.plan.Below(child)) / time.Duration(1+s.plan.Depth())
	waiting, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	a := assembly{size: s.bundleSize(s.links.Parties())}
	for {
		m, err := s.links.Receive(waiting, child, s.vector.Kind, nil)
		if err != nil {
			var broken *protocol.StepError
			if ctx.Err() == nil && errors.As(err, &broken) && !errors.Is(err, contract.ErrDeviation) {
				return nil
			}
			return err
		}
		if m.Operation < s.operation {
			continue // of a sum that is over
		}
		if m.Operation != s.operation || m.Kind != s.vector.Kind || m.Class != s.spec.Backend.class() {
			return s.links.Deviation(m, "it came where its vector for sum %d is awaited", s.operation)
		}
		done, err := a.add(m, s.links.Chunk())
		if err == nil && done {
			err = s.addBundle(s.plan, child, a.bytes, carried, vector)
		}
		if err != nil {
			return s.links.Deviation(m, "%v", err)
		}
		if done {
			return nil
		}
	}
}

// addBundle adds a client's bundle to a vector, and those whose vectors are in it to carried: the
// client itself and others below it in the tree or ring, each a member and added once.
func (r *round) addBundle(plan contract.Plan, client int, bundle []byte, carried set, vector []byte) error {
	from, err := parseSet(bundle[:len(carried)], len(plan.Parent))
	switch {
	case err != nil:
		return err
	case !from.has(client) || !from.within(r.members):
		return fmt.Errorf("its vector is of nobody, or of clients who are no members, or without its own")
	case !below(plan, client, from):
		return fmt.Errorf("its vector has addends of others than those who send through it")
	case from.meets(carried):
		return fmt.Errorf("its vector has addends that were added before")
	}
	if err := r.codec.add(vector, bundle[len(carried):]); err != nil {
		return err
	}
	carried.join(from)
	return nil
}

// below reports whether all of a set send through a client, or are it.
func below(plan contract.Plan, client int, from set) bool {
	for _, i := range from.members() {
		for i != client && i >= 0 {
			i = plan.Parent[i] // -1 at the server
		}
		if i < 0 {
			return false
		}
	}
	return true
}
