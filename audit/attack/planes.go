package attack

import "math/bits"

// Most lists of words that are compared have nothing to do with each other. So the bits of their first bytes are
// compared first, 64 words at a time, and the bytes one by one only where the differences look uneven. Nothing is left
// out: both count the same differences (docs/decisions/0060-audits-in-seconds.md).
const (
	planeBits = 8 // of a byte; the lower half of them tells only what is borrowed from the upper one
	// planeLimit is the chi-square of differences in sixteen bins below which no pair is reported.
	planeLimit = 4 * reuseBins
)

// block is the bits of 64 bytes: of each byte the first bit in the first number, and so on.
type block [planeBits]uint64

// planes returns the bits of bytes; opposed, those of the bytes subtracted from 0.
func planes(list []uint8, opposed bool) []block {
	blocks := make([]block, (len(list)+63)/64)
	for i, x := range list {
		if opposed {
			x = -x
		}
		b := &blocks[i/64]
		for k := range b {
			b[k] |= uint64(x>>(7-k)&1) << (i % 64)
		}
	}
	return blocks
}

// moved returns planes of the words from some place below 64 on.
func moved(blocks []block, by int) []block {
	out := make([]block, len(blocks))
	for i := range out {
		for k := range out[i] {
			out[i][k] = blocks[i][k] >> by
			if i+1 < len(blocks) {
				out[i][k] |= blocks[i+1][k] << (64 - by) // nothing where by is 0
			}
		}
	}
	return out
}

// uneven reports whether the differences of so many words of two lists fill sixteen bins unevenly enough to look
// closer. Chi-square over the values of four bits is the sum, over all choices of some of the bits, of the square of
// how often an even number of them is set less how often an odd number is, divided by the number of words.
//
//go:norace
func uneven(a, b []block, words int) bool {
	n := (words + 63) / 64
	a, b = a[:n], b[:n]
	last := ^uint64(0) >> (64*n - words)
	var odd [reuseBins]int // in how many differences an odd number of these bits is set
	for i := range a {
		x, y, mask := &a[i], &b[i], ^uint64(0)
		if i == n-1 {
			mask = last
		}
		borrow := y[7] &^ x[7]
		borrow = y[6]&^x[6] | borrow&^(x[6]^y[6])
		borrow = y[5]&^x[5] | borrow&^(x[5]^y[5])
		borrow = y[4]&^x[4] | borrow&^(x[4]^y[4])
		d3 := x[3] ^ y[3]
		next := y[3]&^x[3] | borrow&^d3
		d3 = (d3 ^ borrow) & mask
		d2 := x[2] ^ y[2]
		borrow = y[2]&^x[2] | next&^d2
		d2 = (d2 ^ next) & mask
		d1 := x[1] ^ y[1]
		next = y[1]&^x[1] | borrow&^d1
		d1 = (d1 ^ borrow) & mask
		d0 := (x[0] ^ y[0] ^ next) & mask
		d01, d23 := d0^d1, d2^d3
		odd[1] += bits.OnesCount64(d0)
		odd[2] += bits.OnesCount64(d1)
		odd[3] += bits.OnesCount64(d01)
		odd[4] += bits.OnesCount64(d2)
		odd[5] += bits.OnesCount64(d2 ^ d0)
		odd[6] += bits.OnesCount64(d2 ^ d1)
		odd[7] += bits.OnesCount64(d2 ^ d01)
		odd[8] += bits.OnesCount64(d3)
		odd[9] += bits.OnesCount64(d3 ^ d0)
		odd[10] += bits.OnesCount64(d3 ^ d1)
		odd[11] += bits.OnesCount64(d3 ^ d01)
		odd[12] += bits.OnesCount64(d23)
		odd[13] += bits.OnesCount64(d23 ^ d0)
		odd[14] += bits.OnesCount64(d23 ^ d1)
		odd[15] += bits.OnesCount64(d23 ^ d01)
	}
	squares := 0
	for _, count := range odd[1:] {
		squares += (words - 2*count) * (words - 2*count)
	}
	return squares >= planeLimit*words
}
