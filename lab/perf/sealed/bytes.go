package sealed

import (
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Bytes of a word of a result, and of what a truncation sends for each value in words modulo 2^64.
const (
	wordBytes  = 8
	carryBytes = 4 * wordBytes
)

// truncatedBytes is what a truncation of n values modulo 2^k sends.
func truncatedBytes(k, n int64) int64 { return n * (2*k/8 + carryBytes) }

// featureBytes is what sharing the features of n rows sends. Of angles, one for every two features: 2 bytes for each
// from every party but one, and six words, of which two are factors. Of bins: a word for each of one of the first three
// parties, who hold shares, and two for each of another, which gives four keys besides.
func featureBytes(p fdskl.Params, n int) int64 {
	if p.Binned() {
		words, keys := 0, 0
		for i, bins := range p.PartyBins {
			words += bins
			if i >= rss.Roles && bins > 0 {
				words, keys = words+bins, keys+4
			}
		}
		return int64(n)*int64(words)*int64(p.Ring)/8 + int64(keys)*rss.KeyWords*wordBytes
	}
	words := 2*max(p.Ring, 48) + 4*p.Ring // factors have 48 bits at the least
	return int64(n) * int64(p.Angles()) * int64(words/8+2*(sets.Parties-1))
}

// openedBytes is what a sum that opens n words of so many bits sends.
func openedBytes(bits, n int64) int64 { return (n*bits + 7) / 8 * (sets.Parties - 1) }

// What opens of a training is at most so many bits; see sealed.OpeningBits.
func openingBits(p fdskl.Params, kind string, training bool) int64 {
	return int64(sealed.OpeningBits(sealed.WithDefaults(p), kind, training))
}

// The steps run for the right side and two secret multiples of it, and 20 numbers of each check them.
const (
	runs   = 3
	checks = (runs - 1) * 20
)

// sumRing is the ring of what rows add up to.
func sumRing(ring int) int64 {
	if ring == smallRing {
		return 64
	}
	return int64(ring)
}

// Features in words of 32 bits: of products with one another as many rows fit a window as gramRows says, with labels
// and with derivatives of the logistic loss as many as the others do. Bins are 0 or 1, so that only those with
// derivatives and with slopes, which have more bits, are few. Windows are of whole blocks, but those with slopes.
const (
	smallRing         = 32
	gramRows          = 8128
	labelRows         = 4080
	derivativeRows    = 7942
	binDerivativeRows = 501
	slopeRows         = 1950
)

// windowBytes is what lifting sums of windows of n rows sends: their Gram matrices, columns, and products with labels,
// whose windows are within those; and in each outer step of a loss, those with derivatives. Nothing with larger words.
func windowBytes(p fdskl.Params, n int) (once, step int64) {
	if p.Ring != smallRing {
		return 0, 0
	}
	d, block := int64(p.Features), (4<<20)/wordBytes/p.Features
	labels, products, derivatives := p.Loss == kernel.Square.String(), gramRows, derivativeRows
	if p.Binned() {
		products, derivatives = n, binDerivativeRows
		block = min(block, derivatives)
	} else {
		block = min(block, labelRows)
	}
	ends := func(from, to, most int) (list []int) { // of windows
		start := from
		for lo := from; lo < to; lo += block {
			if lo > start && min(lo+block, to)-start > most {
				list, start = append(list, lo), lo
			}
		}
		return append(list, to)
	}
	if !labels {
		step = truncatedBytes(smallRing, int64(len(ends(0, n, derivatives)))*(d+1))
	}
	sums, from := int64(0), 0
	for _, to := range ends(0, n, products) {
		sums += d*(d+1)/2 + d
		if labels {
			sums += int64(len(ends(from, to, labelRows))) * (d + 1)
		}
		from = to
	}
	return truncatedBytes(smallRing, sums), step
}

// trainingBytes is the payload under masks and pads of a sealed training, from the formulas of docs/sealed.md, of
// which so many outer steps were taken.
func trainingBytes(p fdskl.Params, rows, outer int) int64 {
	n, d, k, sums := int64(rows), int64(p.Features), int64(p.Ring), sumRing(p.Ring)
	steps := int64(p.SolverSteps())*truncatedBytes(64, 2*runs*d) + truncatedBytes(64,
		(runs-1)*d+runs*d) // and multiples, and roundings
	lifted, each := windowBytes(p, rows)
	total := featureBytes(p, rows) + lifted
	total += truncatedBytes(sums, d+d*(d+1)/2) // means, Gram matrix
	total += normBytes()
	total += truncatedBytes(64, checks)
	total += zBytes(p, rows)
	if p.Loss == kernel.Square.String() {
		return total + n*k/8 + truncatedBytes(sums, d+runs) + steps // labels, right side, offsets
	}
	total += n*k/8 + 2*wordBytes // events, and where the steps begin
	bases := int64(0)            // right sides of the base
	if p.Binned() {
		total += truncatedBytes(sums, runs) // offsets
	} else {
		bases = 1
		total += truncatedBytes(sums, 1)
		total += truncatedBytes(64, d+1) + 2*wordBytes // the last form; and the gain, twice
	}
	for e := range outer {
		total += truncatedBytes(sums, d+1+bases) + each + steps
		if e > 0 {
			total += truncatedBytes(sums, 1) + sigmoidBytes(p, n)
		}
		total += progressBytes(p, e)
		if !p.Binned() {
			total += secantBytes(d, min(int64(e), 4))
		}
		switch {
		case p.Binned() && e == 0:
			total += truncatedBytes(64, d*(d+1)/2) // the Gram matrix, of even weights
		case p.Binned() && e < lastWeighed:
			total += weighedBytes(d, sampled(n, 1<<12, 32))
		case p.Binned() && e == lastWeighed:
			total += weighedBytes(d, sampled(n, 1<<13, 8))
		}
	}
	return total
}

// lastWeighed is the step, from 0, that makes the last weighed Gram matrix.
const lastWeighed = 5

// sampled is how many of n rows a sample of one in share has: n over a power of two, and least or more.
func sampled(n, least, share int64) int64 {
	least = max(least, n/share)
	for n/2 >= least {
		n /= 2
	}
	return n
}

// sigmoidBytes is what the probabilities of n rows send: two turns of 16 bits, the two factors of 16 sines, and two
// halves. Of cosines there are 32 sines, and factors have 48 bits at the least.
func sigmoidBytes(p fdskl.Params, n int64) int64 {
	factors, sines := int64(p.Ring), int64(16)
	if !p.Binned() {
		factors, sines = max(factors, 48), 32
	}
	return n * (2*2 + 2*sines*factors/8 + 2*int64(p.Ring)/8)
}

// weighedBytes is what a Gram matrix of m rows sends, each weighed by its slope: the slopes, bins times slopes at each
// of the three, the sums of windows, means and the matrix, and the iteration for 1 over the mean weight.
func weighedBytes(d, m int64) int64 {
	const inverse = 2 * 12 // truncations
	triangle, windows := d*(d+1)/2, (m+slopeRows-1)/slopeRows
	total := m*(2*2+(2*16+2)*smallRing/8) + rss.Roles*m*d*smallRing/8 + truncatedBytes(smallRing, windows*(triangle+d+1))
	return total + truncatedBytes(64, d+1+2*d+triangle+inverse) + wordBytes
}

// comparedBytes is what comparing n numbers of so many bits with 0 sends, by trees of so many carries.
func comparedBytes(width, carries, n int64) int64 {
	return truncatedBytes(64, n*(width+2*carries+1)) + n*width*wordBytes
}

// progressBytes is what measuring step e, from 0, and taking a part of it sends: the length and the distance, which are
// compared with limits. Of the distance there are two where it opens, and four after the last.
func progressBytes(p fdskl.Params, e int) int64 {
	d, limits, kept := int64(p.Features), int64(15), int64(1)
	if p.Binned() {
		kept = runs
	}
	if e+1 == p.Outer || p.Binned() && e+1 >= 5 || !p.Binned() && e+1 >= 24 && (e+1)%8 == 0 {
		limits += 2
	}
	if e+1 == p.Outer {
		limits += 2
	}
	total := truncatedBytes(64, d+2+2+kept*d+1) + comparedBytes(42, 20+10+5+3+1+1, limits)
	if !p.Binned() {
		total += truncatedBytes(64, 1) // the base
	} else {
		total += truncatedBytes(64, 1+d+1) // squares and fourth powers
		if e > 0 {
			total += truncatedBytes(64, 2) // what it moves by
		}
	}
	return total
}

// secantBytes is what a direction of k secants sends: the right side times the gain, and the direction; with secants
// rounded coefficients, two numbers, 22 comparisons, three scalars, three vectors times their factor, six products for
// an inverse, the products of all, and a number for each secant in turn.
func secantBytes(d, k int64) int64 {
	total := rss.Roles*(d+1)*wordBytes + truncatedBytes(64, d+1)
	if k == 0 {
		return total
	}
	total += truncatedBytes(64, d+1+2+1+6+2*k*(2+2*k)+(k-1)+2*k+k) + comparedBytes(50, 24+12+6+3+2+1, 13+9)
	return total + rss.Roles*(3*(d+1)+3)*wordBytes
}

// Of the norm's order of magnitude so many values are truncated on the way, the label holder shares so many bits, and
// what opens is in a word of 8 bits.
const (
	normValues  = 404
	normBits    = 23
	normOpening = 8
)

// normBytes is what the order of magnitude of the Gram matrix's norm sends.
func normBytes() int64 {
	return truncatedBytes(64, normValues) + normBits*wordBytes + openedBytes(normOpening, 1)
}

// zBytes is that of z-scores of all bins for one party, nothing where none open.
func zBytes(p fdskl.Params, rows int) int64 {
	inverses, roots, err := sealed.ZSteps(p, rows)
	if err != nil || p.ZScores == "" {
		return 0
	}
	n, d := int64(rows), int64(p.Features)
	total := int64(inverses)*truncatedBytes(64, d*d+d*(d+1)/2) + truncatedBytes(64, d*d+2*d) // M, and what comes of it
	total += int64(roots) * truncatedBytes(64, 3*d)
	total += truncatedBytes(64, d) + openedBytes(openingBits(p, sealed.ZScores, true), d)
	if p.Loss == kernel.Square.String() {
		return total + truncatedBytes(64, 2*d+2) // the residual variance
	}
	// the information matrix, once more with finer bits
	return total + truncatedBytes(64, 1+d*(d+1)/2) + weighedBytes(d, sampled(n, 1<<14, 8))
}

// scoringBytes is that of scoring rows.
func scoringBytes(p fdskl.Params, rows int) int64 {
	return featureBytes(p, rows) + truncatedBytes(int64(p.Ring), int64(rows)) +
		openedBytes(openingBits(p, sealed.Scores, false), int64(rows))
}

// expectedMemory is what a holder of shares keeps at least: two components of the Gram matrix with the sums that it
// is made of, and five words of each feature of a block on its way.
func expectedMemory(p fdskl.Params) int64 {
	d := int64(p.Features)
	block := int64(4<<20) / wordBytes // rows are shared in blocks of about so many bytes
	return wordBytes * (2*d*d + d*(d+1)/2 + 5*block)
}
