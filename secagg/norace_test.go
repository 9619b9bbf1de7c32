//go:build !race

package secagg

import "github.com/hanse-project/hanse/protocol/contract"

// watched lists the parties other than the root 0 that receive vectors when four parties sum. A
// star has none.
var watched = map[contract.Topology][]int{contract.Tree: {2}, contract.Ring: {1, 2}}

// modelRoots is how many parties of the model are the root in turn.
const modelRoots = 4

// hidingWords is how many words of a ring a party's view of one sum has.
func hidingWords(Ring) int { return 1 << 20 }
