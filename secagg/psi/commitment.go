package psi

import (
	"crypto/sha256"

	"golang.org/x/crypto/chacha20"

	"github.com/hanse-project/hanse/keys"
)

// DomainCommitment separates the secret of a commitment from all others that a party's key gives; its data are the
// job's nonce.
const DomainCommitment = "hanse alignment commitment v1"

// Commit commits a party to its lists: the root of a Merkle tree over its IDs, each with 16 random bytes of its own,
// which follow from the secret. Nobody can test a guess by the root. Who shows secret and lists later shows what it
// brought: a list that was padded with guesses cannot be called another one.
func Commit(secret [32]byte, lists [][]ID, workers int) keys.Hash {
	random, err := chacha20.NewUnauthenticatedCipher(secret[:], make([]byte, chacha20.NonceSize))
	if err != nil {
		panic(err) // of lengths that are constant
	}
	var roots [][]byte
	for pass, list := range lists {
		salts := make([]byte, wordSize*len(list))
		random.XORKeyStream(salts, salts)
		nodes := make([]keys.Hash, len(list))
		blocks(workers, len(list), func(lo, hi int) {
			leaf := append(make([]byte, 0, 1+4+wordSize+len(ID{})), 0)
			leaf = append(leaf, number(pass)...)
			for i := lo; i < hi; i++ {
				nodes[i] = sha256.Sum256(append(append(leaf, salts[wordSize*i:wordSize*(i+1)]...), list[i][:]...))
			}
		})
		for len(nodes) > 1 {
			above := make([]keys.Hash, (len(nodes)+1)/2)
			blocks(workers, len(above), func(lo, hi int) {
				for i := lo; i < hi; i++ {
					b := append(append(make([]byte, 0, 1+2*len(keys.Hash{})), 1), nodes[2*i][:]...)
					if 2*i+1 < len(nodes) {
						b = append(b, nodes[2*i+1][:]...)
					}
					above[i] = sha256.Sum256(b)
				}
			})
			nodes = above
		}
		root := number(len(list))
		if len(nodes) == 1 {
			root = append(root, nodes[0][:]...)
		}
		roots = append(roots, root)
	}
	return keys.HashOf("hanse psi lists v1", roots...)
}
