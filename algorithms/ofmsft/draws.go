package ofmsft

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// uniform returns a number in [0, 1): 53 bits of the source.
func uniform(source rand.Source) float64 { return float64(source.Uint64()>>11) * 0x1p-53 }

// pick returns a whole number below n at the point u in [0, 1), or 0 if n is 0.
func pick(u float64, n int) int { return max(0, min(int(u*float64(n)), n-1)) }

// derivedSeed derives the i-th seed of a simulation.
func derivedSeed(seed [32]byte, i int) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64(seed[:], uint64(i)))
}
