package main

import (
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
)

// Bytes of a word of a result, and of what a truncation sends for each value in words modulo 2^64.
const (
	wordBytes  = 8
	carryBytes = 4 * wordBytes
)

// truncatedBytes is what a truncation of n values modulo 2^k sends.
func truncatedBytes(k, n int64) int64 { return n * (2*k/8 + carryBytes) }

// featureBytes is what sharing the features of n rows sends: 2 bytes for each angle from every party but one, and
// four words.
func featureBytes(p fdskl.Params, n int) int64 {
	return int64(n) * int64(p.Features) * (4*int64(p.Ring)/8 + 2*(benchmarkParties-1))
}

// openedBytes is what a sum that opens n words of so many bits sends.
func openedBytes(bits, n int64) int64 { return (n*bits + 7) / 8 * (benchmarkParties - 1) }

// What opens of a training is at most so many bits; see sealed.OpeningBits.
func openingBits(p fdskl.Params, kind string, training bool) int64 {
	return int64(sealed.OpeningBits(sealed.WithDefaults(p), kind, training))
}

// The steps run for the right side and two secret multiples of it, and 20 numbers of each check them.
const (
	runs   = 3
	checks = (runs - 1) * 20
)

// trainingBytes is the payload under masks and pads of a sealed training, from the formulas of docs/sealed.md.
func trainingBytes(p fdskl.Params, rows int) int64 {
	n, d, k := int64(rows), int64(p.Features), int64(p.Ring)
	steps := int64(p.Iterations)*truncatedBytes(64, 2*runs*d) + truncatedBytes(64, (runs-1)*d+runs*d) // and multiples, and roundings
	total := featureBytes(p, rows)
	total += truncatedBytes(k, d+d*(d+1)/2+runs)                                        // means, Gram matrix, offsets
	total += truncatedBytes(64, 1) + openedBytes(openingBits(p, sealed.Bound, true), 1) // its norm
	total += truncatedBytes(64, checks)
	if p.Loss == kernel.Square.String() {
		return total + n*k/8 + truncatedBytes(k, d) + steps
	}
	e := int64(p.Outer)
	total += e * (n*k/8 + truncatedBytes(k, d) + steps)
	return total + (e-1)*(truncatedBytes(k, n+1)+openedBytes(openingBits(p, sealed.Scores, true), n))
}

// scoringBytes is that of scoring rows.
func scoringBytes(p fdskl.Params, rows int) int64 {
	return featureBytes(p, rows) + truncatedBytes(int64(p.Ring), int64(rows)) +
		openedBytes(openingBits(p, sealed.Scores, false), int64(rows))
}

// expectedMemory is what a holder of shares keeps at least: two components of the Gram matrix with the sums that it
// is made of, and five words of each feature of a block on its way, or of all rows' one component where a loss
// needs them again.
func expectedMemory(p fdskl.Params, rows int) int64 {
	d := int64(p.Features)
	block := int64(4<<20) / wordBytes // rows are shared in blocks of about so many bytes
	total := wordBytes * (2*d*d + d*(d+1)/2 + 5*block)
	if p.Loss != kernel.Square.String() {
		total += wordBytes * d * int64(rows)
	}
	return total
}
