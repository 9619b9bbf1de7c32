package sealed

import (
	"context"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
)

// BenchmarkTrain trains 8,192 rows with 1,024 features among three parties in one process, in sessions over a
// network in memory.
func BenchmarkTrain(b *testing.B) {
	f := newFixture(b, 3, 8192, fdskl.Params{Features: 1024, Iterations: 50, Sigma: 2})
	f.block, f.save = 0, 0
	testNetwork := newFederation(b, f.names)
	d, err := f.disclose()
	must(b, err)
	testNetwork.declare(b, d)
	for b.Loop() {
		for i := range f.vaults {
			f.vaults[i] = newVault()
		}
		must(b, first(testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := Train(ctx, f.party(i, n, testNetwork.session))
			return err
		})))
	}
}
