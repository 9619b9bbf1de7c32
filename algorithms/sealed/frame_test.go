package sealed

import (
	"context"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// TestARelayCannotFrameAnother: a party outside the three that passes on what one of them tells, and changes it, does
// not have its victim named: all compare what they were told before anybody is judged by it.
func TestARelayCannotFrameAnother(t *testing.T) {
	for _, kind := range []string{kindHeld, kindReady, kindRowCommitment, kindRowCoin, kindCommitment, kindCoin} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 4, 20, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1, Keeper: "p1", Helper: "p3"})
			testNetwork := f.testNetwork(t)
			plan := contract.PlanFor(contract.Tree, 4, 0)
			relay := plan.Parent[3]
			if relay == 0 {
				t.Fatalf("the helper has what the label holder tells from %d: nobody is in between", relay)
			}
			testNetwork.OnFrame(testnet.Forger{Party: testNetwork.IDs[relay], Kind: kind,
				Change: func(p []byte) []byte {
					p[0] ^= 0x40
					return p
				}}.Deviate)
			errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
				_, err := Train(ctx, f.party(i, n, testNetwork.session))
				return err
			})
			if first(errs) == nil {
				t.Fatal("nobody finds that a broadcast was changed")
			}
			for i, err := range errs {
				var blamed *rss.DeviationError
				if errors.As(err, &blamed) {
					t.Errorf("p%d blames %q: %v", i, blamed.Parties, err)
				}
			}
		})
	}
}
