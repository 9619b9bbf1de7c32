package fdskl

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"math"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
)

// PhaseSeed is one party's secret for one model: it gives the phase beta_i that the party adds to
// every angle of feature i. It is part of the model part and never leaves the party.
type PhaseSeed [32]byte

// NewPhaseSeed draws a seed from the operating system's randomness.
func NewPhaseSeed() PhaseSeed {
	var s PhaseSeed
	rand.Read(s[:]) // never fails: see crypto/rand
	return s
}

// String hides the secret.
func (PhaseSeed) String() string { return "phase seed" }

// words returns one uniform 64-bit word for each feature in [first, first+n).
func (s PhaseSeed) words(first, n int) []uint64 {
	key := keys.HashOf("hanse phase v1", s[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("aes refuses a 32-byte key: " + err.Error())
	}
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[8:], uint64(first/2)) // two words a block
	stream := make([]byte, 8*(first%2+n))
	cipher.NewCTR(block, iv[:]).XORKeyStream(stream, stream)
	words := make([]uint64, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(stream[8*(first%2+i):])
	}
	return words
}

// Turns returns the phases of features [first, first+n) in Z_{2^16}, uniform.
func (s PhaseSeed) Turns(first, n int) []uint16 {
	turns := make([]uint16, n)
	for i, w := range s.words(first, n) {
		turns[i] = uint16(w)
	}
	return turns
}

// Radians returns the phases of features [first, first+n) as reals uniform in [0, 2 pi), the
// masks b of the published protocol (Algorithm 3, line 2).
func (s PhaseSeed) Radians(first, n int) []float64 {
	phases := make([]float64, n)
	for i, w := range s.words(first, n) {
		phases[i] = 2 * math.Pi * float64(w>>11) / (1 << 53)
	}
	return phases
}

// PhaseFile is where a party's vault keeps its secret phase seed for a job.
const PhaseFile = "phase"

// PhaseOf returns the party's secret phase seed for a job, drawn once and kept.
func PhaseOf(v joint.Vault) (seed PhaseSeed, err error) {
	err = joint.DrawnOnce(v, PhaseFile, seed[:], func() { seed = NewPhaseSeed() })
	return seed, err
}
