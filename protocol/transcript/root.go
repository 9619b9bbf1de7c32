package transcript

import "github.com/hanse-project/hanse/keys"

// Domains of the hashes of a tree, so that no leaf is taken for a node.
const (
	domainLeaf = "hanse transcripts leaf v1"
	domainNode = "hanse transcripts node v1"
)

// Root is the root of the Merkle tree over the heads of transcripts, in order: a node stands for the two below it, and
// one that is left over for itself. Of no transcripts it is zero.
func Root(heads []keys.Hash) keys.Hash {
	if len(heads) == 0 {
		return keys.Hash{}
	}
	level := make([]keys.Hash, len(heads))
	for i, h := range heads {
		level[i] = keys.HashOf(domainLeaf, h[:])
	}
	for len(level) > 1 {
		next := level[:0]
		for i := 0; i+1 < len(level); i += 2 {
			next = append(next, keys.HashOf(domainNode, level[i][:], level[i+1][:]))
		}
		if len(level)%2 == 1 {
			next = append(next, level[len(level)-1])
		}
		level = next
	}
	return level[0]
}
