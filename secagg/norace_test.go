//go:build !race

package secagg

import "github.com/hanse-project/hanse/protocol"

// watched lists the parties other than the root 0 that receive vectors when four parties sum. A
// star has none.
var watched = map[protocol.Topology][]int{protocol.Tree: {2}, protocol.Ring: {1, 2}}

// modelRoots is how many parties of the model are the root in turn.
const modelRoots = 4

// hidingWords is how many words of a ring a party's view of one sum has.
func hidingWords(Ring) int { return 1 << 20 }
