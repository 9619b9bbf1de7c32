package memory

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// encode returns a vector as fixed-point words, rounded to nearest.
func encode(s federated.Sum, v []float64) ([]int64, error) {
	if len(v) != s.N {
		return nil, fmt.Errorf("%s: a vector of %d numbers, want %d", s.Kind, len(v), s.N)
	}
	words := make([]int64, len(v))
	for i, x := range v {
		if !(math.Abs(x) <= s.Bound) { // also refuses NaN
			return nil, fmt.Errorf("%s: element %d is %v, want a magnitude of at most %g", s.Kind, i, x, s.Bound)
		}
		words[i] = int64(math.RoundToEven(math.Ldexp(x, s.Bits)))
	}
	return words, nil
}

// checkSpace refuses a sum whose total may not fit into 64 bits.
func checkSpace(s federated.Sum, addends int) error {
	if !s.Fits(addends) {
		return fmt.Errorf("%s: %d addends of up to %g with %d bits after the point overflow 64 bits", s.Kind, addends,
			s.Bound, s.Bits)
	}
	return nil
}

// add adds words to a total.
func add(total, words []int64) {
	for i, w := range words {
		total[i] += w
	}
}

// decode reads words into values.
func decode(values []float64, words []int64, bits int) {
	for i, w := range words {
		values[i] = math.Ldexp(float64(w), -bits)
	}
}
