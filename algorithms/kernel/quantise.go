package kernel

import (
	"math"

	"github.com/hanse-project/hanse/internal/raced"
)

// Added to a number, shifter leaves its nearest integer in the low bits, provided that the sum
// keeps the exponent of shifter: for numbers up to 2^51 in size.
const (
	shifter         = 1.5 * (1 << 52)
	shifterExponent = 1023 + 52
)

// shifted returns the nearest integer's low bits, and whether it has them.
func shifted(units float64) (bits uint64, ok bool) {
	bits = math.Float64bits(units + shifter)
	return bits, bits>>52 == shifterExponent
}

// quantise returns the integer nearest to units, modulo one turn; units are 2^-16 turns.
func quantise(units float64) uint16 {
	if bits, ok := shifted(units); ok {
		return uint16(bits)
	}
	return quantiseLarge(units)
}

// addQuantised adds quantise of each of units to dst. They have the same length.
//
//go:norace
func addQuantised(dst []uint16, units []float64) {
	raced.Write(dst)
	raced.Read(units)
	units = units[:len(dst):len(units)]
	for i, u := range units {
		bits, ok := shifted(u) // quantise itself is too long to be inlined
		if !ok {
			bits = uint64(quantiseLarge(u))
		}
		dst[i] += uint16(bits)
	}
}

// quantiseLarge is quantise for numbers that the shifter cannot take, as wide-tailed kernels
// now and then draw: those from 2^53 on have no fraction left, and all are reduced exactly.
// Out of line, it keeps the loop above small.
//
//go:noinline
func quantiseLarge(units float64) uint16 {
	return uint16(int64(math.Mod(math.RoundToEven(units), circle)))
}
