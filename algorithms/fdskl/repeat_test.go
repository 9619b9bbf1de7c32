package fdskl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// addends notes what every party adds to every sum.
type addends struct {
	mu   sync.Mutex
	seen map[string]bool
}

// note notes the numbers of a vector: which of the angles that a party lacks are in one sum depends on what it has.
func note[N uint16 | float64](a *addends, party int, kind string, v []N) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range v {
		a.seen[fmt.Sprintf("p%d %s %x", party, kind, x)] = true
	}
}

// noting is a joint.Network of a party whose addends are noted, and that fails at one operation, or never.
type noting struct {
	*failingNetwork
	*addends
	party int
}

func (n *noting) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	note(n.addends, n.party, kind, v)
	return n.failingNetwork.SumTurns(ctx, kind, root, v)
}

func (n *noting) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	note(n.addends, n.party, kind, v)
	return n.failingNetwork.SumReals(ctx, kind, root, v)
}

func (n *noting) SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error {
	note(n.addends, n.party, kind, v)
	return n.failingNetwork.SumTree(ctx, kind, tree, root, excluded, v)
}

// repeated runs a training to its end; while it is interrupted, party who fails at its operation at, then at twice that
// number in the next session, and so on. It returns all addends and the model parts.
func (f *fixture) repeated(t *testing.T, who, at int) (*addends, []*Model) {
	t.Helper()
	links := f.federation(t)
	seen := &addends{seen: make(map[string]bool)}
	var vaults []*memory
	for range f.names {
		vaults = append(vaults, newVault())
	}
	for cut := at; ; cut += at {
		models := make([]*Model, len(f.names))
		f.workers = 1 + cut%3 // another machine may have other processors
		err := errors.Join(links.run(func(ctx context.Context, i int, n joint.Network) (err error) {
			network := &noting{failingNetwork: &failingNetwork{Network: n}, addends: seen, party: i}
			if i == who {
				network.at = cut
			}
			p := f.party(i, network, vaults[i])
			p.blockBytes = 1 << 10
			models[i], err = Train(ctx, p)
			return err
		})...)
		if err == nil {
			return seen, models
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
	}
}

// TestWhatOpensAgainIsTheSameNumber: in the masked and the published mode, and in that of homomorphic sums, whose
// totals are exact too, a party adds to a sum what follows from its table, its phases, its checkpoints and public
// seeds. So a sum that an interruption brings about once more tells what it told before, with whatever number of
// processors.
func TestWhatOpensAgainIsTheSameNumber(t *testing.T) {
	for name, p := range map[string]Params{
		"fixed": {Loss: "logistic", Features: 24, Lambda: 1e-6, Seed: "s", Iterations: 9},
		"doubly stochastic": {Schedule: DoublyStochastic, Loss: "logistic", Iterations: 60, Batch: 2, BlockFeatures: 2,
			Step: 0.3, Seed: "s"},
	} {
		for _, privacy := range []string{Masked, Published} {
			for _, active := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s, %s, %d active", name, privacy, active), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, 3, 40, active, p)
					f.privacy = privacy
					want, models := f.repeated(t, -1, 1)
					for who := range f.names {
						got, _ := f.repeated(t, who, 4+7*who)
						for addend := range got.seen {
							if !want.seen[addend] {
								t.Fatalf("p%d was interrupted, and %s is not what is added without", who, addend)
							}
						}
					}
					f.wantSameScores(t, models)
				})
			}
		}
	}
}

// wantSameScores scores rows in two sessions and wants the same addends.
func (f *fixture) wantSameScores(t *testing.T, models []*Model) {
	t.Helper()
	rows := f.newRows(t, 12)
	var all []*addends
	for range 2 {
		seen := &addends{seen: make(map[string]bool)}
		links := f.federation(t)
		must(t, links.run(func(ctx context.Context, i int, n joint.Network) error {
			network := &noting{failingNetwork: &failingNetwork{Network: n}, addends: seen, party: i}
			s, err := NewScorer(Scoring{Self: i, Receiver: 2, Models: models[i : i+1], Network: network, Workers: 1 + len(all)})
			if err == nil {
				_, err = s.Score(ctx, []*kernel.Matrix{rows[i]})
			}
			return err
		}))
		all = append(all, seen)
	}
	for addend := range all[0].seen {
		if !all[1].seen[addend] {
			t.Fatalf("%s is added in one prediction and not in the next", addend)
		}
	}
}
