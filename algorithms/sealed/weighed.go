package sealed

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The second derivative of the logistic loss weighs each row by p (1 - p). Of bins it is cheap on shares: a bin is 0 or
// 1, so that a weighed one is a product that wants no truncation. A step needs it of a sample of the rows alone, which
// a coin draws.

// The kinds of the messages of a weighed Gram matrix.
const (
	kindWeighed     = "weighed rows"   // bins times weights
	kindWeighedSums = "weighed sums"   // of products
	kindCentres     = "weighed means"  // of bins
	kindInverse     = "inverse weight" // Newton's iteration for 1 over the mean weight
	kindWeighedGram = "weighed gram"
)

// Scales and limits of a weighed Gram matrix.
const (
	slopeBits   = 16      // behind the point of weights, 4 p (1 - p)
	centreBits  = 20      // of weighed means
	inverseBits = 16      // of 1 over the mean weight
	meanPoint   = 30      // of means over a sample's rows
	mostInverse = 1 << 10 // of 1 over 4 share (1 - share)
	weightSteps = 12      // of the iteration: enough for a weight of a hundredth of that
)

// Samples of the rows that the Gram matrix of a step is made of; the last one is kept for all steps behind.
const (
	leastSample, sampleShare = 1 << 12, 32
	leastLast, lastShare     = 1 << 13, 8
	lastWeighed              = 5 // the step, from 0, that makes the last one
)

// weighed is a Gram matrix of a sample's rows, each weighed by 4 p (1 - p), with what belongs to it.
type weighed struct {
	gram    rss.Share // [D, D], scale gs
	finer   rss.Share // the same, at another scale, where one is asked for
	means   rss.Share // of bins where each row counts as its weight, [D], scale centreBits
	inverse rss.Share // 1 over the mean weight, [1], scale inverseBits
}

// sampleRows is how many rows a sample of about one in share has, not less than least: the job's rows over a power of
// two, whose exponent is of.
func sampleRows(rows, least, share int) (n, of int) {
	least = max(least, rows/share)
	for rows>>(of+1) >= least {
		of++
	}
	return rows >> of, of
}

// sample is how many rows the Gram matrix of a step, from 0 on, is of, one of 2^of; none where it takes an earlier one.
func sample(rows, step int) (n, of int) {
	switch {
	case step == 0 || step > lastWeighed:
		return 0, 0
	case step == lastWeighed:
		return sampleRows(rows, leastLast, lastShare)
	}
	return sampleRows(rows, leastSample, sampleShare)
}

// WeighedRows is how many rows the weighed Gram matrices of a training are made of, all steps together.
func WeighedRows(p fdskl.Params, rows int) (total int) {
	if !p.Binned() {
		return 0
	}
	for step := range p.Outer {
		n, _ := sample(rows, step)
		total += n
	}
	return total
}

// sampled draws n of all rows, in their order, by the coin of the rows and a step's number.
func (t *assembler) sampled(n, step int) []int {
	number := binary.BigEndian.AppendUint32(nil, uint32(step))
	draw := rand.NewChaCha8(keys.HashOf("hanse sampled rows v1", t.checker.coin[:], number))
	list := make([]int, 0, n)
	for j := 0; len(list) < n; j++ {
		if at, _ := bits.Mul64(draw.Uint64(), uint64(t.Rows-j)); int(at) < n-len(list) {
			list = append(list, j)
		}
	}
	return list
}

// weighed shares the weighed Gram matrix of rows, one of 2^of of all, at the scores that they have; unless finer is 0,
// at that scale, too. Of sums S of products, c of bins and W of weights it is
//
//	S - c m^T - m (c - W m)^T,
//
// which has the square alone of what the means m are off by: the bins of a column add up to 1, and in the direction in
// which they move together the matrix must be nothing beside lambda.
func (t *assembler) weighed(ctx context.Context, turn int, rows []int, of int, scores []uint64,
	finer int) (*weighed, error) {
	var terms []uint64
	if t.role != rss.Outside {
		for _, j := range rows {
			terms = append(terms, scores[j])
		}
	}
	weights, err := t.scorer.slopes(ctx, turn, len(rows), terms)
	if err != nil {
		return nil, err
	}
	sums, err := t.weighedSums(ctx, rows, weights)
	if err != nil {
		return nil, err
	}
	d := t.features
	columns := sums.Slice(triangle(d), triangle(d)+d+1)
	w, err := t.weighedMeans(ctx, len(rows), columns)
	if err != nil {
		return nil, err
	}
	all, err := t.truncate(ctx, kindCentres, 2, wordBits, t.three.Times(w.means, columns.Slice(d, d+1)),
		rss.Shift{Count: d, Bits: centreBits})
	if err != nil {
		return nil, err
	}
	left := columns.Slice(0, d).Clone() // what rounding leaves of the sums of bins less the means
	minus(left, all)
	terms = nil
	if t.role != rss.Outside {
		for i := range d {
			rest := t.three.Times(left.Slice(i, d), w.means.Slice(i, i+1))
			for j, product := range t.three.Times(w.means.Slice(i, d), columns.Slice(i, i+1)) {
				at := len(terms)
				terms = append(terms, sums.X[at]<<centreBits-4*(product+rest[j]))
			}
		}
	}
	point, n := 2+slopeBits+centreBits+t.p-of, triangle(d)
	shifts := []rss.Shift{{Count: n, Bits: point - gramBits}}
	if finer > 0 {
		terms, shifts = append(terms, terms...), append(shifts, rss.Shift{Count: n, Bits: point - finer})
	}
	upper, err := t.truncate(ctx, kindWeighedGram, turn, wordBits, terms, shifts...)
	if err != nil {
		return nil, err
	}
	w.gram = mirrored(upper.Slice(0, n), d)
	if finer > 0 {
		w.finer = mirrored(upper.Slice(n, 2*n), d)
	}
	return w, nil
}

// weighedSums shares, of a sample's rows, four times the sums of two bins' products times the weight, row after row of
// the upper triangle, then the sums of bins times weights, and of weights, all at scale slopeBits.
func (t *assembler) weighedSums(ctx context.Context, rows []int, weights rss.Share) (rss.Share, error) {
	d := t.features
	total := rss.Zero(t.role, triangle(d)+d+1)
	window, at := rss.Share{}, 0 // features of the rows of the window under way, of which at stand before
	first := 0
	add := func(n int) error {
		some, err := t.weighedWindow(ctx, first/slopeRows(), window, weights.Slice(first, first+n), n)
		if err != nil {
			return err
		}
		total.Add(some)
		first, window = first+n, rss.Share{}
		return nil
	}
	err := t.checkpoints.kept.each(ctx, func(b *block, z rss.Share) error {
		for ; at < len(rows) && rows[at] < b.hi; at++ {
			if t.role != rss.Outside {
				row := z.Slice((rows[at]-b.lo)*d, (rows[at]-b.lo+1)*d)
				window.X, window.Y = append(window.X, row.X...), append(window.Y, row.Y...)
			}
			if n := at + 1 - first; n == slopeRows() || at+1 == len(rows) {
				if err := add(n); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return total, err
}

// weighedWindow is weighedSums of n rows, whose sums stay in words of 32 bits. Four products of two vectors are the
// squares of their sum less those of their difference.
func (t *assembler) weighedWindow(ctx context.Context, number int, z, weights rss.Share, n int) (rss.Share, error) {
	d := t.features
	var terms []uint64
	for j := range weights.Len() {
		terms = append(terms, t.three.Times(z.Slice(j*d, (j+1)*d), weights.Slice(j, j+1))...)
	}
	products, err := t.three.Reshare(ctx, kindWeighed, t.k, terms, n*d)
	if err != nil {
		return rss.Share{}, err
	}
	var twice []uint64
	if t.role != rss.Outside {
		both, less := make([]uint32, triangle(d)), make([]uint32, triangle(d))
		z.Add(products)
		t.three.AddSquares32(both, z, d)
		minus(z, products)
		minus(z, products)
		t.three.AddSquares32(less, z, d)
		differences := t.three.TwiceGram32(less)
		for i, w := range t.three.TwiceGram32(both) {
			twice = append(twice, w-differences[i])
		}
		columns := rss.Zero(t.role, d+1)
		columns.Slice(0, d).AddColumns(products)
		columns.Slice(d, d+1).AddColumns(weights)
		for _, w := range columns.X {
			twice = append(twice, 2*w)
		}
	}
	return t.lift(ctx, kindWeighedSums, number, triangle(d)+d+1, twice)
}

// weighedMeans shares the weighed means of bins, and 1 over the mean weight, of the sums over n rows of bins times
// weights, and of weights. The inverse comes of Newton's iteration x = x (2 - a x) for 1/a, which begins below it, at a
// quarter of what it is where all rows have the same probability.
func (t *assembler) weighedMeans(ctx context.Context, n int, sums rss.Share) (*weighed, error) {
	d, e := t.features, 16+bits.Len(uint(n))
	var terms, begin []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, d+1)
		sums.AddTo(terms, uint64(math.Round(math.Ldexp(1, e)/float64(n))))
	}
	means, err := t.truncate(ctx, kindCentres, 0, wordBits, terms,
		rss.Shift{Count: d + 1, Bits: slopeBits + e - meanPoint})
	if err != nil {
		return nil, err
	}
	if t.role == rss.LabelHolder {
		begin = []uint64{uint64(math.Ldexp(min(1/t.scorer.evenWeight(), mostInverse)/4, inverseBits))}
	}
	x, err := t.three.Input(ctx, kindInverse, wordBits, 1, begin)
	if err != nil {
		return nil, err
	}
	for step := range weightSteps {
		product, err := t.truncate(ctx, kindInverse, 2*step, wordBits, t.three.Products(means.Slice(d, d+1), x),
			rss.Shift{Count: 1, Bits: inverseBits})
		if err != nil {
			return nil, err
		}
		lessThan(t.role, product, 2<<meanPoint)
		if x, err = t.truncate(ctx, kindInverse, 2*step+1, wordBits, t.three.Products(product, x),
			rss.Shift{Count: 1, Bits: meanPoint}); err != nil {
			return nil, err
		}
	}
	centres, err := t.truncate(ctx, kindCentres, 1, wordBits, t.three.Times(means.Slice(0, d), x),
		rss.Shift{Count: d, Bits: meanPoint + inverseBits - centreBits})
	return &weighed{means: centres, inverse: x}, err
}

// evenWeight is the weight that all rows have at the beginning, at the label holder.
func (t *scorer) evenWeight() float64 {
	share := t.eventShare()
	return 4 * share * (1 - share)
}

// even shares the Gram matrix where all rows have the same weight, which is shared, scale coefBits.
func (t *scorer) even(ctx context.Context, s *system, weight rss.Share) (rss.Share, error) {
	d := t.features
	var upper rss.Share
	if t.role != rss.Outside {
		for i := range d {
			row := s.gram.Slice(i*d+i, (i+1)*d)
			upper.X, upper.Y = append(upper.X, row.X...), append(upper.Y, row.Y...)
		}
	}
	upper, err := t.truncate(ctx, kindWeighedGram, 0, wordBits, t.three.Times(upper, weight),
		rss.Shift{Count: triangle(d), Bits: coefBits})
	return mirrored(upper, d), err
}

// lessThan makes a share that of a public number less it.
func lessThan(r rss.Role, s rss.Share, number uint64) {
	for i := range s.X {
		s.X[i], s.Y[i] = -s.X[i], -s.Y[i]
		s.AddPublic(r, i, number)
	}
}
