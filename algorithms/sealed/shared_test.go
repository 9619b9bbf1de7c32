package sealed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// lie changes a broadcast's payload so that it still reads well, where it can.
func lie(kind string) func(payload []byte) []byte {
	return func(p []byte) []byte {
		switch kind {
		case kindResume: // a point more
			return append(p, point{stage: stageSums, session: 1, number: 16}.encode()...)
		case kindHeld: // the words of the first opening wait
			binary.BigEndian.PutUint32(p[8:], 1)
		case kindReady: // of another session
			p[len(p)-1] ^= 1
		case "target":
			p[len(p)-1] ^= 1
		default:
			p[0] ^= 1
		}
		return p
	}
}

// TestForgedBroadcastsStopASealedTraining: a forger in the tree, and a root that equivocates, lead a party to another
// target, to other points to go on from, to other openings. Led there, the three would draw one pad for two messages.
// The party stops before anything leaves it that depends on what it was told.
func TestForgedBroadcastsStopASealedTraining(t *testing.T) {
	const q = 6
	plan := contract.PlanFor(contract.Tree, q, 0)
	below := slices.IndexFunc(plan.Parent, func(parent int) bool { return parent > 0 }) // has its broadcasts from a relay
	told := plan.Children[0][0]                                                         // has them from the root
	if told == below {
		t.Fatal("nobody passes anything on")
	}
	for _, c := range []struct {
		kind    string
		sigma   float64
		depends []string // what the victim must not have sent
	}{
		{"target", 0, []string{"distances", kindLabels, kindAngles}},
		{"width", 0, []string{kindLabels, kindAngles, kindFactors}},
		{kindResume, 1, []string{kindLabels, kindAngles, kindFactors}},
		{kindHeld, 1, []string{kindLabels, kindAngles, kindFactors}},
		{kindReady, 1, []string{kindBound}},
		{kindReach, 1, []string{kindProduct + rss.SuffixIn, kindProduct + rss.SuffixCarry, kindProduct + rss.SuffixOut}},
	} {
		for _, attack := range []string{"forger", "equivocator"} {
			t.Run(attack+" of "+c.kind, func(t *testing.T) {
				f := newFixture(t, q, 40, fdskl.Params{Features: 6, Iterations: 2, Sigma: c.sigma,
					Keeper: fmt.Sprint("p", below), Helper: fmt.Sprint("p", told)})
				links := newFederation(t, f.names)
				d, err := f.disclose()
				must(t, err)
				links.declare(t, d)
				victim := below
				hook := testnet.Forger{Party: links.IDs[plan.Parent[below]], Kind: c.kind, Change: lie(c.kind)}.Deviate
				if attack == "equivocator" {
					victim = told
					hook = testnet.Equivocator{Root: links.IDs[0], Victim: links.IDs[victim], Kind: c.kind,
						Change: lie(c.kind)}.Deviate
				}
				links.OnFrame(hook)
				var taps []*testnet.Tap
				for _, id := range links.IDs {
					taps = append(taps, links.Tap(id))
				}
				errs := links.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
					_, err := Train(ctx, f.party(i, n, links.session))
					return err
				})
				var deviates *rss.DeviationError
				if errs[victim] == nil || !slices.ContainsFunc(errs, func(err error) bool {
					return errors.Is(err, contract.ErrDeviation) || errors.As(err, &deviates)
				}) {
					t.Errorf("the errors are %v", errs)
				}
				for _, tap := range taps {
					for _, sent := range tap.Frames() {
						if sent.From == links.IDs[victim] && slices.Contains(c.depends, sent.Kind()) {
							t.Fatalf("the victim has sent %s", sent.Kind())
						}
					}
				}
			})
		}
	}
}
