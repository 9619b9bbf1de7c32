package kernel

import "math"

// shifter, added to a number below 2^51 in size, leaves its nearest integer in the low bits.
const shifter = 1.5 * (1 << 52)

// quantise returns the integer nearest to units, modulo one turn; units are 2^-16 turns.
func quantise(units float64) uint16 {
	if math.Abs(units) < 1<<51 {
		return uint16(math.Float64bits(units + shifter))
	}
	return quantiseLarge(units)
}

// quantiseLarge is quantise for numbers that the shifter cannot take, as wide-tailed kernels
// now and then draw: those from 2^53 on have no fraction left, and all are reduced exactly.
func quantiseLarge(units float64) uint16 {
	return uint16(int64(math.Mod(math.RoundToEven(units), circle)))
}
