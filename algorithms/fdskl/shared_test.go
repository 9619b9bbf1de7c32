package fdskl

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// lie changes a broadcast's payload so that it still reads well.
func lie(kind string) func(payload []byte) []byte {
	return func(p []byte) []byte {
		switch kind {
		case "target":
			p[len(p)-1] ^= 1 // the last letter of a class
		case "resume-point", "width-known", "solver-point":
			copy(p, appendReal(nil, 1))
		case "labelled":
			p[0] = 0xff // more rows than its owner has
		case "batch":
			p[0] ^= 2 // a row that is in no batch of this seed
		default: // the last bit of a number
			p[0] ^= 1
		}
		return p
	}
}

// relayOf returns an inner node of the tree of q parties under a root, and a party below it.
func relayOf(q, root int) (relay, below int) {
	plan := contract.PlanFor(contract.Tree, q, root)
	for i, children := range plan.Children {
		if i != root && len(children) > 0 {
			return i, children[0]
		}
	}
	return -1, -1
}

// TestForgedBroadcastsStopATraining: a forger in the tree, and a leader that equivocates, tell a party other values. It
// stops, and nothing that depends on them has left it. What is told anew in every step of a masked training is compared
// at the end; until then masks hide whatever was added up of different things.
func TestForgedBroadcastsStopATraining(t *testing.T) {
	for _, c := range []struct {
		kind    string
		privacy string
		active  int
		params  Params
		depends []string // what the victim must not have sent
	}{
		{"target", Masked, 1, Params{Features: 24, Iterations: 5}, []string{"distances", "angles"}},
		{"width-known", Masked, 1, Params{Features: 24, Iterations: 5}, []string{"distances", "angles"}},
		{"width", Masked, 1, Params{Features: 24, Iterations: 5}, []string{"angles"}},
		{"resume-point", Masked, 1, Params{Features: 24, Iterations: 5}, []string{"angles"}},
		{"labelled", Masked, 2, Params{Features: 24, Iterations: 5, Sigma: 1}, []string{"scores"}},
		{"solver-point", Masked, 2, Params{Features: 24, Iterations: 5, Sigma: 1}, []string{"scores"}},
		{"batch", Masked, 1, Params{Schedule: DoublyStochastic, Iterations: 4, Batch: 8, BlockFeatures: 4, Sigma: 1}, nil},
		{"objective-total", Masked, 2, Params{Features: 24, Iterations: 5, Sigma: 1}, nil},
		{"target", Published, 1, Params{Features: 24, Iterations: 5}, []string{"published-angles"}},
		{"resume-point", Published, 1, Params{Features: 24, Iterations: 5, Sigma: 1}, []string{"published-angles"}},
		{"batch", Published, 1, Params{Schedule: DoublyStochastic, Iterations: 4, Batch: 8, BlockFeatures: 4, Sigma: 1},
			[]string{"published-angles"}},
	} {
		for _, attack := range []string{"forger", "equivocator"} {
			t.Run(c.privacy+" "+attack+" of "+c.kind, func(t *testing.T) {
				const q, root = 6, 0
				f := newFixture(t, q, 40, c.active, c.params)
				f.privacy = c.privacy
				if c.active > 1 {
					f.splitLabels()
				}
				links := f.federation(t)
				relay, victim := relayOf(q, root)
				hook := testnet.Forger{Party: links.IDs[relay], Kind: c.kind, Change: lie(c.kind)}.Deviate
				if attack == "equivocator" {
					victim = relay
					hook = testnet.Equivocator{Root: links.IDs[root], Victim: links.IDs[victim], Kind: c.kind,
						Change: lie(c.kind)}.Deviate
				}
				links.OnFrame(hook)
				var taps []*testnet.Tap
				for _, id := range links.IDs {
					taps = append(taps, links.Tap(id))
				}
				errs := links.run(func(ctx context.Context, i int, n joint.Network) error {
					_, err := Train(ctx, f.party(i, n, newVault()))
					return err
				})
				if !slices.ContainsFunc(errs, func(err error) bool {
					return errors.Is(err, contract.ErrDeviation) && strings.Contains(err.Error(),
						"it was told other values than this party")
				}) && c.depends != nil {
					t.Errorf("nobody says that other values were told: %v", errs)
				}
				if errs[victim] == nil {
					t.Error("the victim ends well")
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
