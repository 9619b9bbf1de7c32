package secagg

import (
	"testing"

	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestAForgedBroadcastOpensNoise: a forger in the tree gives its subtree other row numbers, so that the vectors added
// up are not of the same rows. The masks of parties that were told different things do not cancel: the total is noise,
// and so is what is left when the forger and the root put together all that they have.
func TestAForgedBroadcastOpensNoise(t *testing.T) {
	const q, n, root = 5, 4096, 0
	plan := contract.PlanFor(contract.Tree, q, root)
	relay := -1
	for i, children := range plan.Children {
		if i != root && len(children) > 0 {
			relay = i
		}
	}
	for _, forged := range []bool{false, true} {
		l := newTestNetwork(t, q, 0)
		if forged {
			l.OnFrame(testnet.Forger{Party: l.IDs[relay], Kind: "batch", Change: func(p []byte) []byte {
				p[0]++
				return p
			}}.Deviate)
		}
		m := l.masked(t, contract.Tree)
		totals := make([][]uint16, q)
		l.Must(t, func(i int) error {
			rows, err := l.sessions[i].Broadcast(t.Context(), "batch", contract.ClassOpening, root, []byte{7, 0, 0, 0}, 8)
			if err != nil {
				return err
			}
			totals[i] = make([]uint16, n)
			for j := range totals[i] {
				totals[i][j] = uint16(rows[0]) * uint16(i+1)
			}
			return m[i].SumTurns(t.Context(), "angles", root, totals[i])
		})
		counts := make(map[uint16]int)
		for _, w := range totals[root] {
			counts[w]++
		}
		most := 0
		for _, c := range counts {
			most = max(most, c)
		}
		if !forged && most != n {
			t.Errorf("without the forger the total has %d different words, want one", len(counts))
		}
		if forged && most > 8 { // 4096 uniform words of 16 bits: the chance of nine alike is below 1e-11
			t.Errorf("the forger opened a total: %d of %d words are the same", most, n)
		}
	}
}
