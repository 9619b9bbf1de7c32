package sealed

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// The profiles, by the bits of a shared feature on the wire.
const (
	ringDefault = 64
	ringCompact = 48
	ringSmall   = 32
)

// Scales and limits that both profiles have.
const (
	gramBits  = 30 // gs: bits behind the point of the Gram matrix
	coefBits  = 22 // bs: of the coefficients
	omegaBits = 20 // of the public factor of the last direction
	boundBits = 20 // of the square of the Gram matrix's norm whose order of magnitude opens
	eventBits = 20 // of derivatives of the logistic loss, beside bins

	mostOrder = boundBits + 2 // of the square of the norm, times u: it is below 4

	spread   = 1.5 // c: how far below its reach a Chebyshev iteration of T steps aims
	wordBits = 64  // the ring of coefficients
	topBits  = 62  // a truncation of 64 bits takes magnitudes below 2^62
	largest  = 8   // coefficients and scores are below 2^8
)

// MaxFeatures is the most features of a sealed job: the Gram matrix has their square.
const MaxFeatures = 4096

// scales are the public numbers that all arithmetic of a job follows from.
type scales struct {
	k        int     // the ring of features
	s1       int     // bits of one trigonometric factor
	sz       int     // of a feature
	sy       int     // of labels and loss derivatives
	sums     wide    // of what the rows add up to
	bs       int     // of the coefficients in scores
	rows     int     // N
	features int     // D
	weight   int     // W: D for cosines, twice the columns for bins; see below
	sides    int     // functions that are learned, on one matrix: one for each of three or more classes, else one
	p        int     // log2 N' + log2 W' - 1
	s0       float64 // N W / (N' W'), in (1/4, 1]
	lambda   float64 // lambda s0, of (lambda/2)|w|^2 with features sqrt(2/W) z and, for the square loss, its half
	least    float64 // the smallest that it can be: that of the smallest candidate of a job that chooses
	square   bool    // whether the loss is the square
	secant   bool    // whether steps of the logistic loss are over cosines
	counted  bool    // whether features are bins in words of 32 bits, with none behind the point
	kappa    float64 // bounds the loss's second derivative; 1 for the square loss
}

// wide are the ring and the scales of what the rows add up to. They are those of rows, but where the rows' ring is too
// small for sums over all rows: there sums of a window of rows are lifted to 64 bits, as they are, and get the scales
// of that ring.
type wide struct{ k, sz, sy int }

// lifts reports whether sums over rows are lifted.
func (s *scales) lifts() bool { return s.k != s.sums.k }

// mostRows is the most rows of a job whose sums can have fewer bits behind the point, the more rows there are: those of
// words of 32 bits, whose features have 8 anyway, and those of bins, which are exact at any scale. Of more than 2^21
// rows twice a sum of products would pass the ring at the usual scale.
const mostRows = 1 << 28

// The most rows of all other jobs.
const (
	mostUsual   = 1 << 20
	mostCompact = 100_000 // with ringCompact
)

// In words of 32 bits twice a sum of products stays below 2^smallSum in so many rows as a window has. Features that are
// cosines have smallBits behind the point there, as labels have; bins have none, and are 0 or 1.
const (
	smallBits  = 8
	smallSum   = 30
	smallScore = 16 // bits behind the point of coefficients in scores, of cosines
)

// largestFeature bounds a feature in words of 32 bits, as a word: a cosine is rounded up or down.
func largestFeature(p fdskl.Params) int {
	if p.Binned() {
		return 1
	}
	return 1<<smallBits + 1
}

// rowsTimes is how many rows' products of a feature and a number, whose words are at most so large, add up in words of
// 32 bits.
func rowsTimes(feature, most int) int { return (1<<smallSum - 1) / (2 * feature * most) }

// gramRows is how many rows' products of features do.
func gramRows(p fdskl.Params) int { return rowsTimes(largestFeature(p), largestFeature(p)) }

// labelRows is how many rows' products with a label, less its mean, do: of classes it is 2 at most, of a number the
// label holder refuses a job where it passes score_range.
func labelRows(p fdskl.Params) int {
	most := 2
	if p.Target == joint.Regression {
		most = p.ScoreRange + 1
	}
	return rowsTimes(largestFeature(p), most<<smallBits)
}

// derivativeRows is how many rows' products with a derivative of the logistic loss do.
func derivativeRows(p fdskl.Params) int {
	point := smallBits
	if p.Binned() {
		point = eventBits
	}
	return rowsTimes(largestFeature(p), int(math.Ceil(math.Ldexp(mostProbability, point)))+1)
}

// slopeRows is how many rows' products of two bins and a slope do; see information.
func slopeRows() int { return rowsTimes(1, 4*int(math.Ldexp(mostSlope, slopeBits))) }

// blockRowsOf is how many rows a block of a job has.
func blockRowsOf(p fdskl.Params) int {
	rows := blockRows(p.Features)
	if p.Ring != ringSmall {
		return rows
	}
	if !p.Binned() {
		rows = min(rows, gramRows(p), labelRows(p))
	}
	if p.Loss != kernel.Square.String() {
		rows = min(rows, derivativeRows(p))
	}
	return rows
}

// windowEnds cuts rows [at, hi), block by block, so that a part of them has no more than most in each window, or one
// block: it returns where windows end, the last at hi. of tells how many of so many rows are of the part at most, nil
// that all are.
func windowEnds(at, hi, block, most int, of func(rows int) int) (ends []int) {
	count := 0
	for lo := at; lo < hi; lo += block {
		n := min(block, hi-lo)
		if of != nil {
			n = of(n)
		}
		if count > 0 && count+n > most {
			ends, count = append(ends, lo), 0
		}
		count += n
	}
	return append(ends, hi)
}

// A row's features z are D cosines and sines, whose squares add up to D/2, or bins, of which at most C are 1 and the
// others 0, where C is the number of columns of all parties. With W = D or W = 2 C the features sqrt(2/W) z of a row
// have norm 1 or less. So the trace of the Gram matrix and the coefficients w = sqrt(W/2) beta have bounds that depend
// on neither, and all ranges below hold for both. A bin is exact at any scale, a cosine may pass 1 by its rounding.

// weightOf is W.
func weightOf(p fdskl.Params) int {
	if !p.Binned() {
		return p.Features
	}
	n := 0
	for _, columns := range p.PartyColumns {
		n += 2 * columns
	}
	return n
}

// scalesOf derives the scales of a job over so many rows, and refuses one whose numbers could wrap.
func scalesOf(p fdskl.Params, rows int) (*scales, error) {
	loss, err := kernel.ParseLoss(p.Loss)
	if err != nil {
		return nil, err
	}
	s := &scales{k: p.Ring, s1: 10, sy: 16, bs: coefBits, rows: rows, features: p.Features, weight: weightOf(p),
		sides: p.Scores(), kappa: loss.Curvature()}
	most := mostUsual
	if p.Ring == ringCompact {
		s.s1, s.sy, most = 7, 14, mostCompact
	}
	if loss == kernel.Square {
		s.kappa = 1
	}
	s.square = loss == kernel.Square
	s.counted, s.secant = p.Ring == ringSmall && p.Binned(), !s.square && !p.Binned()
	switch {
	case s.counted:
		s.sy = eventBits
	case !s.square && p.Ring == ringDefault:
		s.sy = eventBits - 2 // beside features of as many bits, whose sums have no room for more
	}
	coarser := s.square && (p.Ring == ringSmall || p.Ring == ringDefault && p.Binned())
	if coarser {
		most = mostRows
	}
	if rows < 2 || rows > most {
		return nil, fmt.Errorf("%d rows: sealed jobs with ring = %d take 2 to %d", rows, p.Ring, most)
	}
	if s.sz = 2 * s.s1; s.counted {
		s.sz = 0
	}
	s.sums = wide{s.k, 2 * s.s1, s.sy}
	switch {
	case s.counted:
		s.sums.k = wordBits
	case p.Ring == ringSmall:
		s.s1, s.sz, s.sy, s.bs = 12, smallBits, smallBits, smallScore
		s.sums.k = wordBits
	}
	n, w := bits.Len(uint(rows-1)), bits.Len(uint(s.weight-1))
	if coarser {
		s.sums.sz = min(s.sums.sz, (topBits-1-n)/2)
		if p.Binned() {
			s.sz = s.sums.sz
		}
	}
	s.p = n + w - 1
	s.s0 = float64(rows) * float64(s.weight) / math.Ldexp(1, n+w)
	lambda := float64(p.Lambda)
	if lambda == 0 {
		all := fdskl.Candidates()
		lambda = all[len(all)-1]
	}
	s.lambda = s.scaled(lambda)
	s.least = s.lambda
	return s, s.check(lambda)
}

// scaled returns a regulariser as it is added to the diagonal, times kappa: the square loss has no 1/2.
func (s *scales) scaled(lambda float64) float64 {
	if s.square {
		lambda /= 2
	}
	return lambda * s.s0
}

// check holds every sum against the range of its truncation, by public numbers alone. lambda is the job's.
func (s *scales) check(lambda float64) error {
	n := math.Log2(float64(s.rows))
	space, sums := float64(s.k-2), float64(s.sums.k-2)
	for _, c := range []struct {
		what        string
		bits, space float64
	}{
		{"the Gram matrix", 1 + n + float64(2*s.sums.sz), sums},
		{"features times labels", float64(s.sums.sz+s.sums.sy) + n + 1, sums},
		{"scores", float64(s.sz + s.bs + s.scoreSize()), space},
		{"Gram matrix times coefficients", coefBits + gramBits + largest, topBits},
		{"lambda times coefficients", math.Log2(s.lambda*s.reach()) + float64(s.sums.sz+s.sums.sy+s.p) + 1, sums},
	} {
		if c.bits > c.space {
			return fmt.Errorf("%d rows, %d features, lambda %v: %s could need %.1f bits, ring = %d has %.0f", s.rows,
				s.features, lambda, c.what, c.bits, s.k, c.space)
		}
	}
	return nil
}

// scoreSize is how many bits before the point scores may have on their way. In words of 32 bits a larger score comes
// out as another, off by a multiple of 2^8, of which the bits that open tell nothing: see Validate.
func (s *scales) scoreSize() int {
	if s.lifts() {
		return smallSum - s.sz - s.bs
	}
	return largest
}

// scoreWidth is how many bits of a score open that has so many behind the point.
func scoreWidth(p fdskl.Params, point int) int { return point + bits.Len(uint(p.ScoreRange)) }

// reach bounds the coefficients: 2 sqrt(2/W) over the root of what is added to the diagonal, and by range 2^7. The
// roots are taken one by one: of the largest lambdas the quotient would not be finite.
func (s *scales) reach() float64 {
	return min(128, 2*math.Sqrt(2/float64(s.weight))/(math.Sqrt(s.lambda)/math.Sqrt(s.kappa)))
}

// turnTable holds cos and sin of all turns at scale s1: every party that multiplies by one of its entries
// must have the same, so they come from sums and products that every machine rounds alike.
type turnTable [1 << 16][2]int32

// turnTables are the tables that were asked for, by scale. There are few scales, and no table ever changes.
var turnTables struct {
	sync.Mutex
	of map[int]*turnTable
}

// turnTableOf returns the table of a scale: the sine of a turn is the cosine of a quarter less.
func turnTableOf(s1 int) *turnTable {
	turnTables.Lock()
	defer turnTables.Unlock()
	if t := turnTables.of[s1]; t != nil {
		return t
	}
	t := new(turnTable)
	scale := math.Ldexp(1, s1) // products with it are exact
	for i := range t {
		cos := int32(math.RoundToEven(kernel.Cosine(uint16(i)) * scale))
		t[i][0], t[uint16(i+1<<14)][1] = cos, cos
	}
	if turnTables.of == nil {
		turnTables.of = make(map[int]*turnTable)
	}
	turnTables.of[s1] = t
	return t
}

// at returns cos and sin of a turn as words.
func (t *turnTable) at(turn uint16) (cos, sin uint64) {
	e := &t[turn]
	return uint64(int64(e[0])), uint64(int64(e[1]))
}
