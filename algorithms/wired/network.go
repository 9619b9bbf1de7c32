package wired

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/rss"
)

// realBits is the precision of sums of reals: 2^-36, which leaves room for 128 addends of
// joint.RealBound.
const realBits = 36

// announcer is a session whose broadcasts have the class that the contract gives them.
type announcer struct {
	*protocol.Session
	contract *contract.Contract
}

// Broadcast implements joint.Broadcaster.
func (a announcer) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	return a.Session.Broadcast(ctx, kind, a.contract.ClassOf(kind), root, data, limit)
}

// sums are the protected sums of a session: *secagg.Masked by one-time masks, *he.Sums by homomorphic
// encryption.
type sums interface {
	SumTurns(ctx context.Context, kind string, root int, v []uint16) error
	SumFixed(ctx context.Context, kind string, root int, f secagg.Fixed, v []float64) error
}

// realSums is how the sums of reals are encoded.
func realSums() secagg.Fixed { return secagg.Fixed{Bits: realBits, Bound: joint.RealBound} }

// protectedNetwork is a session as algorithms see it in masked mode.
type protectedNetwork struct {
	announcer
	sums sums
}

// NewNetwork wraps the session of a published or masked job by what protects its sums: nothing, one-time masks, or
// homomorphic encryption, for which the parties make a key that is fresh in every session. opened hears what the mode
// shows this party besides the totals.
func NewNetwork(ctx context.Context, s *protocol.Session, c *contract.Contract, opened func(kind string,
	count int64)) (joint.Network, error) {
	topology, err := contract.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, err
	}
	a := announcer{s, c}
	if c.Job.Privacy == keys.PrivacyPublished {
		return &publishedNetwork{announcer: a, topology: topology, opened: opened}, nil
	}
	n := &protectedNetwork{announcer: a}
	if c.Job.Encrypted() {
		n.sums, err = he.NewSums(ctx, s, topology, he.SessionSeed(c.Hash(), s.Number()))
	} else {
		n.sums, err = maskedSums(s, c)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// maskedSums are a session's sums under masks.
func maskedSums(s *protocol.Session, c *contract.Contract) (*secagg.Masked, error) {
	topology, err := contract.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, err
	}
	var ids []keys.ID
	for _, p := range c.Parties {
		ids = append(ids, p.ID)
	}
	return secagg.NewMasked(s, ids, topology)
}

// SumTurns implements joint.Summer.
func (n *protectedNetwork) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	return n.sums.SumTurns(ctx, kind, root, v)
}

// SumReals implements joint.Summer.
func (n *protectedNetwork) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	return n.sums.SumFixed(ctx, kind, root, realSums(), v)
}

// SumTree implements joint.TreeSummer: masked jobs have no unprotected sums.
func (n *protectedNetwork) SumTree(context.Context, string, int, int, int, []float64) error {
	return errors.New("an unprotected sum in a masked job")
}

// publishedNetwork is a session as algorithms see it in published mode: floats in the clear of TLS.
type publishedNetwork struct {
	announcer
	topology contract.Topology
	opened   func(kind string, count int64)
}

// SumTurns implements joint.Summer: the published protocol knows no turns.
func (n *publishedNetwork) SumTurns(context.Context, string, int, []uint16) error {
	return errors.New("a sum of turns in a published job")
}

// SumReals implements joint.Summer along T0.
func (n *publishedNetwork) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	return secagg.SumPublished(ctx, n.Session, kind, contract.PlanFor(n.topology, n.Parties(), root), v)
}

// SumTree implements joint.TreeSummer.
func (n *publishedNetwork) SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error {
	t1, t2, err := contract.PublishedTrees(n.Parties(), root, excluded)
	if err != nil {
		return err
	}
	plan := t1
	if tree == 2 {
		plan = t2
	}
	if seen := len(plan.Children[n.Self()]) * len(v); seen > 0 && n.Self() != root {
		n.opened("partial angles", int64(seen)) // an inner node of the tree sees its children's sums
	}
	return secagg.SumPublished(ctx, n.Session, kind, plan, v)
}

// SealedNetwork is a session as package sealed sees it.
type SealedNetwork struct {
	announcer
	masked  *secagg.Masked
	workers int
}

// NewSealedNetwork wraps the session of a sealed job; workers bounds the goroutines of its arithmetic.
func NewSealedNetwork(s *protocol.Session, c *contract.Contract, workers int) (*SealedNetwork, error) {
	masked, err := maskedSums(s, c)
	return &SealedNetwork{announcer: announcer{s, c}, masked: masked, workers: workers}, err
}

// BeginPadded implements joint.SealedNetwork.
func (n *SealedNetwork) BeginPadded(
	ctx context.Context, kind string, root int, v []uint16,
) (end func(context.Context) error, err error) {
	return n.masked.BeginPadded(ctx, kind, root, v)
}

// SumPacked implements joint.SealedNetwork.
func (n *SealedNetwork) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	return n.masked.SumPacked(ctx, kind, root, bits, v)
}

// Three implements joint.SealedNetwork.
func (n *SealedNetwork) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.Join(n.Session, parties, n.workers)
}
