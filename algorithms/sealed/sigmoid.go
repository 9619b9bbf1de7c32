package sealed

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// scorer is what the logistic loss makes of scores.
type scorer struct {
	*setting
	checkpoints *checkpoints
	events      rss.Share // of the logistic loss, [N], scale sy
}

// The logistic loss wants p(s) = 1 / (1 + exp(-s)) of every training row's score s, on shares. Over a full turn of
// 64 deviations, s modulo 64 as an angle,
//
//	p(s) = 1/2 + sum_i c_i sin(k_i s'),   s' = 2 pi s / 64,   k_i = 1, 3, ..., 31,
//
// is right within 4e-5 for |s| <= 16, within 4e-4 for |s| <= 24, and between 0 and 1 but for as much for every s.
// Scores of a kernel at its optimum are larger than those of a scorecard: there a turn is 128 deviations, k goes up to
// 63, and all is right up to scores of 48 and 56.
//
//  1. Keeper and helper send the label holder the upper 16 bits of their terms of the score modulo a turn, each under a
//     pad that only these two know. With its own term the label holder has A = s + r: uniform, where the other two know
//     r, the sum of both pads.
//  2. sin(k(A - r)) = sin kA cos kr - cos kA sin kr: of each product the label holder knows one factor, and keeper and
//     helper the other. The label holder splits its factors, times c, in two random parts, as with features: one
//     follows from a pad that it shares with one of the two, the other goes to the late one of them.
//  3. Keeper and helper each add up their products and tell each other the sum, less a component of p, which is a pad.
//
// Every factor is rounded up or down at random, with the right mean, and never to the nearest: an error that is the
// same for many rows would move the model, one that is not is lost among the labels. The two that multiply by cos kr
// draw the same number for it. The slope p (1 - p) is p's derivative, and comes of the same factors.

// The kinds of the messages of the sigmoid.
const (
	kindTurns         = "score turns"   // of the keeper and the helper, padded, to the label holder
	kindSines         = "sines"         // the label holder's factors, to the keeper or the helper
	kindProbabilities = "probabilities" // between the keeper and the helper
	kindSlopes        = "slopes"        // the same, of p (1 - p)
)

// Constants of the sigmoid.
const (
	sines     = 16
	turnRange = 6  // a full turn is 2^6 deviations, of cosines twice as many
	turnBits  = 16 // of a score as a turn
	sineBits  = 28 // behind the point of the table that factors are rounded from
	rateBits  = 20 // behind the point of what the slope's sines are multiplied by
	drawBits  = 16 // of what decides whether a factor is rounded up

	mostProbability = 1.02 // of |p|, however its factors are rounded, in words of 32 bits
	mostSlope       = 1.05 // of 4 p (1 - p)
)

// The uses of the pads of a sigmoid.
const (
	useTurnOne   = rss.FirstFree + 21 // over the keeper's turns
	useTurnTwo   = rss.FirstFree + 22 // over the helper's
	useDraws     = rss.FirstFree + 23 // rounds the factors of keeper and helper
	useOwnDraws  = rss.FirstFree + 24 // rounds the label holder's
	useSines     = rss.FirstFree + 25 // the early one's parts of these
	useSecondary = rss.FirstFree + 26 // component 2
	usePrimary   = rss.FirstFree + 27 // component 1
)

// sigmoidWeights are c: the least squares of p(s) - 1/2 on [-16, 16].
var sigmoidWeights = [sines]float64{
	0.6266374992033051, 0.1847004089489984, 0.08803747866693673, 0.045946800049605954,
	0.024559685464793812, 0.013216915239542592, 0.007126689148896162, 0.003844952531753059,
	0.002074761046006249, 0.0011195998374841703, 0.0006041834127562217, 0.0003260381352191219,
	0.00017594686516879564, 9.494538090607821e-05, 5.123895488892569e-05, 2.7648461052701094e-05,
}

// wideWeights are those of twice as many deviations and sines: the least squares on [-32, 32].
var wideWeights = [2 * sines]float64{
	0.6341034585382127, 0.204821549258878, 0.11553087235758022, 0.07542034757065562,
	0.05226392607874336, 0.03725383375547046, 0.026935405513800453, 0.019619938363961743,
	0.01434756095301086, 0.010514052838639284, 0.007713501357436595, 0.0056623440861023975,
	0.004157984117455844, 0.0030538371680557206, 0.002243108087161812, 0.0016476947796075787,
	0.0012103622448744267, 0.0008891200723849244, 0.0006531441012070813, 0.0004797990922582634,
	0.00035246090050834457, 0.0002589183876809851, 0.00019020210118986307, 0.00013972291967769072,
	0.00010264088777399381, 7.540024536619518e-05, 5.538928200443775e-05, 4.068908463900287e-05,
	2.9890364302473333e-05, 2.1957505873693243e-05, 1.6130091887398176e-05, 1.1849169440474548e-05,
}

// waves say in which words a sigmoid is shared, and how many sines it has.
type waves struct {
	turn     int // bits of a score as a turn
	sines    int
	wide     bool // a turn is twice as many deviations
	slope    bool // the result is 4 p (1 - p)
	ring     int  // of the factors, and of sums of their products
	products int  // bits behind the point of a product
	drop     int  // bits that are dropped of sums
}

// weights are those of the sines.
func (w waves) weights() []float64 {
	if w.wide {
		return wideWeights[:w.sines]
	}
	return sigmoidWeights[:w.sines]
}

// span is the binary logarithm of how many deviations a turn is.
func (w waves) span() int {
	if w.wide {
		return turnRange + 1
	}
	return turnRange
}

// point is how many bits behind the point a result has.
func (w waves) point() int { return w.products - w.drop }

// rate is what keeper and helper multiply the angles' sines and cosines of sine i by: of a slope how much the angle
// grows in a deviation.
func (w waves) rate(i int) float64 {
	if w.slope {
		return math.Ldexp(math.Pi*float64(2*i+1), 1-w.span())
	}
	return 1
}

// split is how many of a product's bits behind the point are the label holder's factor's, and how many the other's. One
// is at most c and one at most the rate, each is off by a unit at most, and so the product by as much through either.
func (w waves) split(i int) (holder, pair int) {
	_, e := math.Frexp(w.weights()[i] / w.rate(i))
	holder = (w.products + 1 - e) / 2
	return holder, w.products - holder
}

// waves returns those of p, which has as many bits behind the point as labels.
func (s *scales) waves() waves {
	w := waves{turn: turnBits, sines: 2 * sines, wide: true, ring: wordBits, products: 18}
	switch {
	case s.counted:
		w.sines, w.wide, w.ring, w.products = sines, false, ringSmall, 20
	case s.lifts(): // as with features
		w.ring, w.products, w.drop = factorRing, 24, factorRing-ringSmall
	}
	return w
}

// slopeWaves returns those of p (1 - p), of bins alone: coarser, so that sums of many of them stay in words of 32 bits.
func slopeWaves() waves {
	return waves{turn: turnBits, sines: sines, slope: true, ring: ringSmall, products: 18}
}

// angle is the angle of sine i of a turn, 2^16 of which are a full one.
func (w waves) angle(turn uint64, i int) uint16 {
	return uint16(turn<<(turnBits-w.turn)) * uint16(2*i+1)
}

// sineTable has the cosine of every turn, with sineBits behind the point: keeper and helper must have the same.
var sineTable = sync.OnceValue(func() *[1 << turnBits]int64 {
	t := new([1 << turnBits]int64)
	for i := range t {
		t[i] = int64(math.RoundToEven(math.Ldexp(kernel.Cosine(uint16(i)), sineBits)))
	}
	return t
})

// quarter is a quarter of a turn: the sine of a turn is the cosine of a quarter less.
const quarter = 1 << (turnBits - 2)

// curveRows is how many rows of a sigmoid are under way at once.
const curveRows = 1 << 14

// curve is some rows of a sigmoid.
type curve struct {
	*setting
	waves
	kind string
	rows int
	late rss.Role // the label holder's factors go to it
	step rss.Step
}

// probabilities shares p of all rows, at the scale of derivatives, from the terms of their scores, scale sz+bs.
func (t *scorer) probabilities(ctx context.Context, turn int, terms []uint64) (rss.Share, error) {
	return t.sigmoid(ctx, kindProbabilities, turn, t.waves(), t.Rows, terms)
}

// slopes shares 4 p (1 - p) of n rows, scale slopeBits.
func (t *scorer) slopes(ctx context.Context, turn, n int, terms []uint64) (rss.Share, error) {
	return t.sigmoid(ctx, kindSlopes, turn, slopeWaves(), n, terms)
}

// sigmoid shares either of n rows. Keeper and helper change places from one run of rows to the next.
func (t *scorer) sigmoid(ctx context.Context, kind string, turn int, w waves, n int, terms []uint64) (rss.Share,
	error) {
	out := rss.Zero(t.role, n)
	for lo := 0; lo < n; lo += curveRows {
		hi := min(lo+curveRows, n)
		c := &curve{setting: t.setting, waves: w, kind: kind, rows: hi - lo, late: rss.Helper}
		if (turn+lo/curveRows)%2 == 1 {
			c.late = rss.Keeper
		}
		c.step = t.three.Begin(fmt.Sprintf("sigmoid|%q|%d|%d|%v|%v", kind, lo, hi, w, c.late))
		var own []uint64
		if t.role != rss.Outside {
			own = terms[lo:hi]
		}
		some, err := c.share(ctx, own)
		if err != nil {
			return rss.Share{}, err
		}
		copy(out.Slice(lo, hi).X, some.X)
		copy(out.Slice(lo, hi).Y, some.Y)
	}
	return out, nil
}

// share shares the sigmoid of the curve's rows from the terms of their scores.
func (c *curve) share(ctx context.Context, terms []uint64) (rss.Share, error) {
	turns, err := c.padded(ctx, terms)
	if err != nil {
		return rss.Share{}, err
	}
	parts, err := c.parts(ctx, turns)
	if err != nil {
		return rss.Share{}, err
	}
	half, err := c.half(turns, parts)
	if err != nil {
		return rss.Share{}, err
	}
	return c.exchange(ctx, half)
}

// padded returns A at the label holder, and r at keeper and helper. A floor is half a unit less than a term on the
// mean: the helper adds one unit for the two floors, and the label holder rounds to the nearest unit.
func (c *curve) padded(ctx context.Context, terms []uint64) ([]uint64, error) {
	one, err := c.step.Words(rss.LabelHolder, useTurnOne, c.turn, c.rows)
	if err != nil {
		return nil, err
	}
	two, err := c.step.Words(rss.LabelHolder, useTurnTwo, c.turn, c.rows)
	if err != nil {
		return nil, err
	}
	unit := c.sz + c.bs + c.span() - c.turn // bits of a term below a unit of the turn
	var sent [rss.Roles][]uint64
	var turns []uint64 // that this party knows
	switch c.role {
	case rss.LabelHolder:
		sent[rss.Keeper], sent[rss.Helper] = make([]uint64, c.rows), make([]uint64, c.rows)
	case rss.Keeper:
		sent[rss.Keeper] = make([]uint64, c.rows)
		for j, x := range terms {
			sent[rss.Keeper][j] = x>>unit + one[j]
		}
	case rss.Helper:
		sent[rss.Helper] = make([]uint64, c.rows)
		for j, x := range terms {
			sent[rss.Helper][j] = x>>unit + two[j] + 1
		}
	}
	for _, from := range []rss.Role{rss.Keeper, rss.Helper} {
		if err := c.three.Pass(ctx, kindTurns, from, rss.LabelHolder, c.turn, c.rows, sent[from]); err != nil {
			return nil, err
		}
	}
	if c.role == rss.Outside {
		return nil, nil
	}
	turns = make([]uint64, c.rows)
	for j := range turns {
		if c.role == rss.LabelHolder {
			turns[j] = (terms[j]+1<<(unit-1))>>unit + sent[rss.Keeper][j] + sent[rss.Helper][j]
		} else {
			turns[j] = one[j] + two[j]
		}
	}
	return turns, nil
}

// parts returns keeper's and helper's parts of the label holder's factors: for each row the sines of kA times c, then
// the cosines.
func (c *curve) parts(ctx context.Context, turns []uint64) ([]uint64, error) {
	each := 2 * c.sines
	n := each * c.rows
	early, err := c.step.Words(c.late, useSines, c.ring, n)
	if err != nil {
		return nil, err
	}
	draws, err := c.step.Words(c.late, useOwnDraws, drawBits, n)
	if err != nil {
		return nil, err
	}
	var late []uint64
	switch c.role {
	case rss.LabelHolder:
		late = make([]uint64, n)
		table, weights := sineTable(), make([]float64, c.sines) // these with the factor's bits behind the point
		for i, weight := range c.weights() {
			bits, _ := c.split(i)
			weights[i] = math.Ldexp(weight, bits-sineBits)
		}
		for j, turn := range turns {
			for i, weight := range weights {
				angle, at := c.angle(turn, i), j*each+i
				late[at] = factor(weight, table[angle-quarter], draws[at]) - early[at]
				late[at+c.sines] = factor(weight, table[angle], draws[at+c.sines]) - early[at+c.sines]
			}
		}
	case c.late:
		late = make([]uint64, n)
	}
	if err := c.three.Pass(ctx, kindSines, rss.LabelHolder, c.late, c.ring, n, late); err != nil {
		return nil, err
	}
	if c.role == c.late {
		return late, nil
	}
	return early, nil
}

// factor rounds a sine times its weight up or down: the label holder alone computes it.
func factor(weight float64, sine int64, draw uint64) uint64 {
	return uint64(int64(math.Floor(float64(weight*float64(sine)) + math.Ldexp(float64(draw), -drawBits))))
}

// half returns one party's part of the result, of keeper and helper.
func (c *curve) half(turns, parts []uint64) ([]uint64, error) {
	each := 2 * c.sines
	draws, err := c.step.Words(rss.LabelHolder, useDraws, drawBits, each*c.rows)
	if err != nil || c.role != rss.Keeper && c.role != rss.Helper {
		return nil, err
	}
	table, rates, bits := sineTable(), make([]int64, c.sines), make([]int, c.sines) // and those that a product has more
	for i := range rates {
		rates[i] = int64(math.RoundToEven(math.Ldexp(c.rate(i), rateBits)))
		_, pair := c.split(i)
		bits[i] = sineBits + rateBits - pair
	}
	rounded := func(sine int64, i int, draw uint64) uint64 {
		return uint64((sine*rates[i] + int64(draw)<<(bits[i]-drawBits)) >> bits[i])
	}
	half := make([]uint64, c.rows)
	for j, turn := range turns {
		var sum uint64
		for i := range c.sines {
			angle, at := c.angle(turn, i), j*each+i
			cos, sin := rounded(table[angle], i, draws[at]), rounded(table[angle-quarter], i, draws[at+c.sines])
			if c.slope {
				sum += parts[at+c.sines]*cos + parts[at]*sin
			} else {
				sum += parts[at]*cos - parts[at+c.sines]*sin
			}
		}
		half[j] = sum
		if c.role == rss.Helper && !c.slope {
			half[j] += 1 << (c.products - 1)
		}
	}
	if c.drop > 0 {
		drop(c.role, half)
	}
	return half, nil
}

// exchange shares what keeper and helper have halves of.
func (c *curve) exchange(ctx context.Context, half []uint64) (rss.Share, error) {
	bits := c.ring - c.drop
	var components [rss.Roles][]uint64
	var err error
	if components[1], err = c.step.Words(rss.Keeper, usePrimary, bits, c.rows); err != nil {
		return rss.Share{}, err
	}
	if components[2], err = c.step.Words(rss.Helper, useSecondary, bits, c.rows); err != nil {
		return rss.Share{}, err
	}
	var sent [rss.Roles][]uint64 // of keeper and helper
	if half != nil {
		own, other := components[2], rss.Keeper+rss.Helper-c.role
		if c.role == rss.Helper {
			own = components[1]
		}
		for j := range half {
			half[j] -= own[j]
		}
		sent[c.role], sent[other] = half, make([]uint64, c.rows)
	}
	ends := make([]func(context.Context) error, 0, 2)
	for _, from := range []rss.Role{rss.Keeper, rss.Helper} {
		end, err := c.three.BeginPass(ctx, c.kind, from, rss.Keeper+rss.Helper-from, bits, c.rows, sent[from])
		if err != nil {
			return rss.Share{}, err
		}
		ends = append(ends, end)
	}
	for _, end := range ends {
		if err := end(ctx); err != nil {
			return rss.Share{}, err
		}
	}
	if half != nil {
		components[0] = sent[rss.Keeper]
		for j, w := range sent[rss.Helper] {
			components[0][j] += w
		}
	}
	return rss.Components(c.role, components), nil
}
