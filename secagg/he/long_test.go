//go:build long

package he

import (
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// TestSumsEqualRingSumsForEveryNumberOfParties goes through topologies, numbers of parties, roots and
// rings.
func TestSumsEqualRingSumsForEveryNumberOfParties(t *testing.T) {
	for _, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
		for q := 3; q <= 9; q++ {
			t.Run(fmt.Sprintf("%v_%d", topology, q), func(t *testing.T) {
				l := newTestNetwork(t, q, 0, topology, nil)
				for root := range q {
					for _, ring := range []secagg.Ring{secagg.Turns16, secagg.Turns32, secagg.Fixed64} {
						checkSum(t, l, ring, root, 100*q+root)
					}
				}
			})
		}
	}
}

// TestSumsInBatchesOfFullSizeAreExact needs two batches of 32 MiB.
func TestSumsInBatchesOfFullSizeAreExact(t *testing.T) {
	checkSum(t, newTestNetwork(t, 3, 0, contract.Tree, nil), secagg.Turns16, 1, batchSize(batchCiphertexts, 2)+10)
}
