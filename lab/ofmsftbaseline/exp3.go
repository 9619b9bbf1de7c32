package ofmsftbaseline

import (
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// exp3 draws among some networks and learns from the loss of the one that was drawn: weights fall by
// exp(-eta loss / p) (Auer et al. 2003, as the paper has it: with losses, and no draws beyond the weights).
type exp3 struct {
	set     []int // the networks
	weights *ofmsft.Weights
	rate    float64
	drawn   int // in set
}

// newExp3 starts with equal weights.
func newExp3(set []int, rate float64) *exp3 {
	return &exp3{set: set, weights: ofmsft.NewWeights(len(set)), rate: rate}
}

// draw returns a network.
func (e *exp3) draw(source *rand.Rand) int {
	e.drawn = e.weights.Draw(source.Float64())
	return e.set[e.drawn]
}

// learn takes the loss of the network that was drawn last.
func (e *exp3) learn(loss float64) {
	e.weights.Lower(e.drawn, e.rate*loss/e.weights.Shares()[e.drawn])
	e.weights.Refresh()
}
