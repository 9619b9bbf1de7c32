package he

import (
	"errors"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestAForgedKeyOrC1StopsBelowTheForger: an inner node that gives its subtree another key would read what is encrypted
// under it, and one that gives it another c1 would open what the shares decrypt. Whoever is below it stops before it
// has encrypted or decrypted anything. The same where the root tells one party something else.
func TestAForgedKeyOrC1StopsBelowTheForger(t *testing.T) {
	const q = 5
	plan := contract.PlanFor(contract.Tree, q, 0)
	relay, victim := -1, -1
	for i, children := range plan.Children {
		if i != 0 && len(children) > 0 {
			relay, victim = i, children[0]
		}
	}
	other := func(p []byte) []byte {
		p[0] ^= 1
		return p
	}
	for _, c := range []struct{ kind, depends string }{{KindKey, "angles"},
		{"angles" + SuffixC1, "angles" + SuffixShare}} {
		for _, attack := range []string{"forger", "equivocator"} {
			t.Run(attack+" of "+c.kind, func(t *testing.T) {
				l, victim := openSessions(t, q, 0, nil), victim
				hook := testnet.Forger{Party: l.IDs[relay], Kind: c.kind, Change: other}.Deviate
				if attack == "equivocator" {
					victim = relay
					hook = testnet.Equivocator{Root: l.IDs[0], Victim: l.IDs[victim], Kind: c.kind, Change: other}.Deviate
				}
				l.OnFrame(hook)
				tap := l.Tap(l.IDs[plan.Parent[victim]])
				errs := l.Each(func(i int) (err error) {
					if l.sums[i], err = NewSums(t.Context(), l.sessions[i], contract.Tree, keys.Hash{1}); err != nil {
						return err
					}
					return l.sums[i].SumTurns(t.Context(), "angles", 0, make([]uint16, 3))
				})
				var step *protocol.StepError
				if !errors.As(errs[victim], &step) || step.Kind != contract.KindShared || !errors.Is(step, contract.ErrDeviation) {
					t.Errorf("the victim's error is %v", errs[victim])
				}
				for _, f := range tap.Frames() {
					if f.From == l.IDs[victim] && f.Kind() == c.depends {
						t.Errorf("the victim has sent %s", c.depends)
					}
				}
			})
		}
	}
}
