package sealed

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// The profiles, by the bits of a shared feature on the wire.
const (
	ringDefault = 64
	ringCompact = 48
)

// Scales and limits that both profiles have.
const (
	gramBits  = 30 // gs: bits behind the point of the Gram matrix
	coefBits  = 22 // bs: of the coefficients
	omegaBits = 20 // of the public factor of the last direction
	boundBits = 20 // of the opened square of the Gram matrix's norm
	trainBits = 4  // p: of scores of training rows, for losses but the square

	boundWidth = 23  // bits that open of the square of the Gram matrix's norm, which is at most 4
	spread     = 1.5 // c: how far below its reach a Chebyshev iteration of T steps aims
	wordBits   = 64  // the ring of coefficients
	topBits    = 62  // a truncation of 64 bits takes magnitudes below 2^62
	largest    = 8   // coefficients and scores are below 2^8
)

// MaxFeatures is the most features of a sealed job: the Gram matrix has their square.
const MaxFeatures = 4096

// scales are the public numbers that all arithmetic of a job follows from.
type scales struct {
	k        int     // the ring of features
	s1       int     // bits of one trigonometric factor
	sz       int     // of a feature
	sy       int     // of labels and loss derivatives
	rows     int     // N
	features int     // D
	p        int     // log2 N' + log2 D' - 1
	s0       float64 // N D / (N' D'), in (1/4, 1]
	lambda   float64 // lambda s0, of (lambda/2)|w|^2 with features sqrt(2/D) cos and, for the square loss, its half
	kappa    float64 // bounds the loss's second derivative; 1 for the square loss
}

// scalesOf derives the scales of a job over so many rows, and refuses one whose numbers could wrap.
func scalesOf(p fdskl.Params, rows int) (*scales, error) {
	loss, err := kernel.ParseLoss(p.Loss)
	if err != nil {
		return nil, err
	}
	s := &scales{k: p.Ring, s1: 10, sy: 16, rows: rows, features: p.Features, kappa: loss.Curvature()}
	most := 1 << 20
	if p.Ring == ringCompact {
		s.s1, s.sy, most = 7, 14, 100_000
		if loss != kernel.Square {
			s.sy = 13
		}
	}
	lambda := p.Lambda
	if loss == kernel.Square { // its loss has no 1/2
		s.kappa, lambda = 1, lambda/2
	}
	if rows < 2 || rows > most {
		return nil, fmt.Errorf("%d rows: sealed jobs with ring = %d take 2 to %d", rows, p.Ring, most)
	}
	s.sz = 2 * s.s1
	n, d := bits.Len(uint(rows-1)), bits.Len(uint(p.Features-1))
	s.p = n + d - 1
	s.s0 = float64(rows) * float64(p.Features) / math.Ldexp(1, n+d)
	s.lambda = lambda * s.s0
	return s, s.check()
}

// check holds every sum against the range of its truncation, by public numbers alone.
func (s *scales) check() error {
	n := math.Log2(float64(s.rows))
	room := float64(s.k - 2)
	for _, c := range []struct {
		what       string
		bits, room float64
	}{
		{"the Gram matrix", 1 + n + float64(2*s.sz), room},
		{"features times labels", float64(s.sz+s.sy) + n + 1 - math.Log2(s.kappa), room},
		{"scores", float64(s.sz + coefBits + largest), room},
		{"Gram matrix times coefficients", coefBits + gramBits + largest, topBits},
		{"lambda times coefficients", math.Log2(s.lambda/s.kappa*s.reach()) + float64(s.sz+s.sy+s.p) + 1, room},
	} {
		if c.bits > c.room {
			return fmt.Errorf("%d rows, %d features, lambda %v: %s could need %.1f bits, ring = %d has %.0f", s.rows, s.features, s.lambda/s.s0, c.what, c.bits, s.k, c.room)
		}
	}
	return nil
}

// scoreWidth is how many bits of a score open that has so many behind the point.
func scoreWidth(p fdskl.Params, point int) int { return point + bits.Len(uint(p.ScoreRange)) }

// reach bounds the coefficients: 2 sqrt(2/D) over the root of what is added to the diagonal, and by range 2^7.
func (s *scales) reach() float64 {
	return min(128, 2*math.Sqrt(2/float64(s.features))/math.Sqrt(s.lambda/s.kappa))
}

// turnTable holds cos and sin of all turns at scale s1: every party that multiplies by one of its entries
// must have the same, so they come from sums and products that every machine rounds alike.
type turnTable [1 << 16][2]int32

// newTurnTable computes the table: the sine of a turn is the cosine of a quarter less.
func newTurnTable(s1 int) *turnTable {
	t := new(turnTable)
	scale := math.Ldexp(1, s1) // products with it are exact
	for i := range t {
		cos := int32(math.RoundToEven(kernel.Cosine(uint16(i)) * scale))
		t[i][0], t[uint16(i+1<<14)][1] = cos, cos
	}
	return t
}

// at returns cos and sin of a turn as words.
func (t *turnTable) at(turn uint16) (cos, sin uint64) {
	e := &t[turn]
	return uint64(int64(e[0])), uint64(int64(e[1]))
}
