package sealed

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// ending is a source that looks at what is in memory when all blocks but the last one are in.
type ending struct {
	source
	look func()
}

// each implements source.
func (e *ending) each(ctx context.Context, lo, hi, size int, take func(b *block, z rss.Share) error,
	behind func(ctx context.Context, row int) error) error {
	return e.source.each(ctx, lo, hi, size, take, func(ctx context.Context, row int) error {
		if row == hi-size {
			e.look()
		}
		return behind(ctx, row)
	})
}

// TestBlocksLeaveNothingBehind: towards the end of the rows the turns of a few blocks are in memory, however many there
// were; with a loss that needs the rows again, too.
func TestBlocksLeaveNothingBehind(t *testing.T) {
	const blocks, most = 50, 12
	for name, p := range map[string]fdskl.Params{
		"square":   {Features: 16, Iterations: 2, Sigma: 1, Lambda: 1e-2},
		"logistic": {Features: 16, Iterations: 2, Sigma: 1, Lambda: 1e-2, Loss: "logistic", Outer: 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 3, 400, p)
			f.block, f.save = 8, blocks
			testNetwork := f.testNetwork(t)
			left := make([]int, len(f.names))
			must(t, first(testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
				party := f.party(i, n, testNetwork.session)
				party.Party.Network = network{n}
				begun, err := fdskl.Begin(ctx, party.Party)
				if err != nil {
					return err
				}
				tr, err := newTrainer(party)
				if err != nil {
					return err
				}
				tr.begun = begun
				var made []weak.Pointer[uint16]
				tr.angles.turns = func(lo, hi int) ([]uint16, error) {
					turns, err := begun.Turns(begun.Matrices(), lo, hi)
					if err == nil {
						made = append(made, weak.Make(&turns[0]))
					}
					return turns, err
				}
				tr.columns = &ending{tr.columns, func() {
					runtime.GC()
					if len(made) != blocks {
						t.Errorf("%s has made turns of %d blocks, want %d", f.names[i], len(made), blocks)
					}
					for _, turns := range made {
						if turns.Value() != nil {
							left[i]++
						}
					}
				}}
				_, err = tr.train(ctx)
				return err
			})))
			for i, n := range left {
				if n > most {
					t.Errorf("%s still has the turns of %d blocks of %d, want %d at most", f.names[i], n, blocks, most)
				}
			}
		})
	}
}
