package secagg

import (
	"fmt"
	"math"
)

// Fixed says how real numbers become fixed64 words: value times 2^Bits, rounded to nearest.
type Fixed struct {
	Bits  int     // binary digits after the point, 0 to 62
	Bound float64 // the largest magnitude of one addend
}

// RangeError says that a vector's element does not fit its encoding. Nothing was sent.
type RangeError struct {
	Vector  string // the sum's kind
	Element int
	Value   float64
	Bound   float64
}

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("%s: element %d is %v, want a finite number of magnitude at most %g", e.Vector,
		e.Element, e.Value, e.Bound)
}

// Check refuses an encoding whose total of addends could wrap: Bound 2^Bits addends < 2^63, with
// the bound rounded as its addends are. The product rounds towards refusal, never away from it.
func (f Fixed) Check(vector string, addends int) error {
	if f.Bits < 0 || f.Bits > 62 || !(f.Bound > 0) || math.IsInf(f.Bound, 0) {
		return fmt.Errorf("%s: encoding with %d bits and bound %g: want 0 to 62 bits and a positive bound",
			vector, f.Bits, f.Bound)
	}
	if f.most()*float64(addends) >= 1<<63 {
		return fmt.Errorf("%s: %d addends of up to %g with %d bits after the point overflow 64 bits", vector,
			addends, f.Bound, f.Bits)
	}
	return nil
}

// most is the largest magnitude of a word.
func (f Fixed) most() float64 { return math.RoundToEven(math.Ldexp(f.Bound, f.Bits)) }

// Most returns the largest magnitude of a word; f has passed Check.
func (f Fixed) Most() uint64 { return uint64(f.most()) }

// Encode writes values into words, in two's complement. One that is not finite or beyond the bound is
// a *RangeError.
func (f Fixed) Encode(vector string, words []uint64, values []float64) error {
	scale := math.Ldexp(1, f.Bits)
	for i, v := range values {
		if !(math.Abs(v) <= f.Bound) { // also refuses NaN
			return &RangeError{Vector: vector, Element: i, Value: v, Bound: f.Bound}
		}
		words[i] = uint64(int64(math.RoundToEven(v * scale)))
	}
	return nil
}

// Decode reads words into values.
func (f Fixed) Decode(values []float64, words []uint64) {
	scale := math.Ldexp(1, -f.Bits)
	for i, w := range words {
		values[i] = float64(int64(w)) * scale
	}
}
