package attack

import (
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/hanse-project/hanse/internal/raced"
)

// histogramBins are the bins of UniformityResult.Histogram.
const histogramBins = 64

// Uniformity tests, payload by payload, whether words look like independent uniform numbers. It
// looks at the first 16 bits of each word and at the last byte.
type Uniformity struct {
	word, stride int
	words        int64
	top, low     bins
	lags         []*lag
	tops         []uint16 // of the payload at hand
}

// bins counts bytes, in several tables so that equal bytes in turn do not wait for each other.
type bins [4][256]int64

// lag looks at words and the words some places on.
type lag struct {
	name        string
	by          int
	pairs       int64
	products    float64
	differences bins
}

// TestResult is the outcome of one test.
type TestResult struct {
	Name  string
	P     float64 // probability of what was seen, or worse, if the words are uniform; not corrected for other tests
	Count int64   // words or pairs of words tested
}

// UniformityResult is what the tests said.
type UniformityResult struct {
	Words int64
	// smallest p-value of the tests, times their number (Bonferroni); 1 when none could be run
	P         float64
	Test      string               // which test gave it
	Tests     []TestResult         // those that could be run: fewer than five words a bin tell nothing
	Histogram [histogramBins]int64 // of the first six bits
}

// NewUniformity returns tests of little-endian words of 2, 4 or 8 bytes. Words are also compared
// with those stride places on, such as the same feature in the next row; 0 or 1 leaves that out.
func NewUniformity(word, stride int) (*Uniformity, error) {
	if word != 2 && word != 4 && word != 8 {
		return nil, fmt.Errorf("uniformity: words of %d bytes, want 2, 4 or 8", word)
	}
	if stride < 0 {
		return nil, fmt.Errorf("uniformity: stride is %d words, want 0 or more", stride)
	}
	u := &Uniformity{word: word, stride: stride, lags: []*lag{{name: "neighbours", by: 1}}}
	if stride > 1 {
		u.lags = append(u.lags, &lag{name: "rows", by: stride})
	}
	return u, nil
}

// Add tests one payload; words of different payloads are not compared. It keeps no part of it.
func (u *Uniformity) Add(payload []byte) error {
	if len(payload)%u.word != 0 {
		return fmt.Errorf("uniformity: a payload has %d bytes, want a multiple of %d", len(payload), u.word)
	}
	raced.Read(payload) // the loops below do not say so of each word
	u.tops = firstBits(u.tops[:0], payload, u.word)
	u.words += int64(len(u.tops))
	u.top.addHigh(u.tops)
	u.low.addLow(payload, u.word)
	for _, l := range u.lags {
		l.add(u.tops)
	}
	return nil
}

// Merge takes in what another has counted, with words and stride of the same sizes.
func (u *Uniformity) Merge(other *Uniformity) error {
	if u.word != other.word || u.stride != other.stride {
		return fmt.Errorf("uniformity: words of %d bytes and stride %d, want %d and %d", other.word,
			other.stride, u.word, u.stride)
	}
	u.words += other.words
	u.top.merge(&other.top)
	u.low.merge(&other.low)
	for i, l := range other.lags {
		to := u.lags[i]
		to.pairs, to.products = to.pairs+l.pairs, to.products+l.products
		to.differences.merge(&l.differences)
	}
	return nil
}

// merge adds the counts of others.
func (b *bins) merge(other *bins) {
	for t := range other {
		for i, c := range other[t] {
			b[t][i] += c
		}
	}
}

// firstBits appends the first 16 bits of each word.
//
//go:norace
func firstBits(dst []uint16, payload []byte, word int) []uint16 {
	for at := word - 2; at+1 < len(payload); at += word {
		dst = append(dst, binary.LittleEndian.Uint16(payload[at:]))
	}
	return dst
}

//go:norace
func (b *bins) addHigh(tops []uint16) {
	for ; len(tops) >= 4; tops = tops[4:] {
		b[0][tops[0]>>8]++
		b[1][tops[1]>>8]++
		b[2][tops[2]>>8]++
		b[3][tops[3]>>8]++
	}
	for _, t := range tops {
		b[0][t>>8]++
	}
}

//go:norace
func (b *bins) addLow(payload []byte, word int) {
	for ; len(payload) >= 4*word; payload = payload[4*word:] {
		b[0][payload[0]]++
		b[1][payload[word]]++
		b[2][payload[2*word]]++
		b[3][payload[3*word]]++
	}
	for ; len(payload) > 0; payload = payload[word:] {
		b[0][payload[0]]++
	}
}

func (b *bins) counts() []int64 {
	out := make([]int64, 256)
	for _, table := range b {
		for i, c := range table {
			out[i] += c
		}
	}
	return out
}

// add compares the words of one payload with those further on.
func (l *lag) add(tops []uint16) {
	const block = 1 << 20 // the sum of so many products fits 64 bits
	for ; len(tops) > l.by; tops = tops[min(block, len(tops)-l.by):] {
		n := min(block, len(tops)-l.by)
		l.products += float64(l.differences.addPairs(tops[:n], tops[l.by:l.by+n]))
		l.pairs += int64(n)
	}
}

// addPairs counts the first bytes of the wrapped differences of two lists, and returns the sum of
// the products, each number x as 2x - 65535, so that its mean is 0.
//
//go:norace
func (b *bins) addPairs(from, to []uint16) int64 {
	to = to[:len(from)]
	var sum0, sum1 int64
	i := 0
	for ; i+1 < len(from); i += 2 {
		x0, y0, x1, y1 := from[i], to[i], from[i+1], to[i+1]
		b[0][(y0-x0)>>8]++
		b[1][(y1-x1)>>8]++
		sum0 += (2*int64(x0) - 65535) * (2*int64(y0) - 65535)
		sum1 += (2*int64(x1) - 65535) * (2*int64(y1) - 65535)
	}
	for ; i < len(from); i++ {
		b[0][(to[i]-from[i])>>8]++
		sum0 += (2*int64(from[i]) - 65535) * (2*int64(to[i]) - 65535)
	}
	return sum0 + sum1
}

// Result says what the tests have found so far.
func (u *Uniformity) Result() UniformityResult {
	r := UniformityResult{Words: u.words, P: 1}
	top := u.top.counts()
	for i, c := range top {
		r.Histogram[i*histogramBins/len(top)] += c
	}
	r.chiSquare("first byte", top, u.words)
	r.chiSquare("last byte", u.low.counts(), u.words)
	for _, l := range u.lags {
		r.chiSquare("differences of "+l.name, l.differences.counts(), l.pairs)
		r.correlation("correlation of "+l.name, l)
	}
	for i, t := range r.Tests {
		if i == 0 || t.P < r.P {
			r.P, r.Test = t.P, t.Name
		}
	}
	r.P = corrected(r.P, max(1, len(r.Tests)))
	return r
}

// chiSquare runs one test of counts.
func (r *UniformityResult) chiSquare(name string, counts []int64, n int64) {
	if p, ok := chiSquareUniform(counts); ok {
		r.Tests = append(r.Tests, TestResult{Name: name, P: p, Count: n})
	}
}

// correlation tests the mean product of words. The variance of 2x - 65535 is (65536^2 - 1) / 3.
func (r *UniformityResult) correlation(name string, l *lag) {
	if l.pairs < perBin*256 {
		return
	}
	const variance = (65536.0*65536.0 - 1) / 3
	z := l.products / (variance * math.Sqrt(float64(l.pairs)))
	r.Tests = append(r.Tests, TestResult{Name: name, P: twoSided(z), Count: l.pairs})
}

// surely is the exponent beyond which the second best turn does not count.
const surely = 36

// unfold returns mean and variance of a normal variable with the given mean and variance, once it
// is known to be value plus a whole number of turns.
func unfold(value, mean, variance float64) (float64, float64) {
	offset := wrap(value - mean)
	near := math.Abs(offset)
	if (1-2*near)/(2*variance) > surely {
		return mean + offset, 0
	}
	m, v := turns(near, variance)
	return mean + math.Copysign(m, offset), v
}

// turns returns mean and variance over the numbers near + k, k = -3 .. 3, weighted by a normal
// density around 0, for near in [0, 1/2].
func turns(near, variance float64) (float64, float64) {
	q := math.Exp(-1 / (2 * variance)) // of one turn
	a := math.Exp(-(1 - 2*near) / (2 * variance))
	b := a * math.Exp(-2*near/variance)
	weights := [7]float64{a * a * a * q * q * q * q * q * q, a * a * q * q, a, 1, b, b * b * q * q,
		b * b * b * q * q * q * q * q * q}
	var total, first, second float64
	for k, w := range weights {
		x := near + float64(k-3)
		total += w
		first += w * x
		second += w * x * x
	}
	mean := first / total
	return mean, max(second/total-mean*mean, 0)
}

// perBin is the least expected count of a bin for which a chi-square test is run.
const perBin = 5

// chiSquareUniform returns the probability of counts as uneven as these, or more so, under a
// uniform distribution over the bins. It reports false when there are fewer than five a bin.
func chiSquareUniform(counts []int64) (float64, bool) {
	total := int64(0)
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	if expected < perBin {
		return 1, false
	}
	x := 0.0
	for _, c := range counts {
		d := float64(c) - expected
		x += d * d / expected
	}
	return mathext.GammaIncRegComp(float64(len(counts)-1)/2, x/2), true
}

// twoSided returns the probability of a standard normal variable at least this far from 0.
func twoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// corrected is a p-value that is the smallest of some number of tests (Bonferroni).
func corrected(p float64, tests int) float64 { return min(1, p*float64(tests)) }
