//go:build race

package secagg

import "github.com/hanse-project/hanse/protocol/contract"

// The race detector makes arithmetic twenty times slower: exhaustive tests do a part of their work.

// modelRoots is how many parties of the model are the root in turn.
const modelRoots = 1

// hidingWords is how many words of a ring a party's view of one sum has: enough for five of each
// 16-bit word, which is what the tests ask for.
func hidingWords(r Ring) int { return 8 * 6 << 17 / contract.Encoding(r).Bits() &^ 7 }

// watched lists parties other than the root 0 that receive vectors when four parties sum.
var watched = map[contract.Topology][]int{contract.Ring: {2}}
