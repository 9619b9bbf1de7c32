package sealed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// assembler makes the system of a step: the Gram matrix and its right sides.
type assembler struct {
	*setting
	checkpoints *checkpoints
	checker     *checker
	scorer      *scorer
	bounds      *series // of the Gram matrix's norm
}

// The kinds of the messages that make the system of equations.
const (
	kindLabels  = "labels"
	kindMeans   = "means"
	kindGram    = "gram"
	kindSides   = "sides"
	kindBound   = "bound"
	kindReach   = "reach"
	kindOffset  = "offset"
	kindProduct = "step"
	kindRounded = "coefficients"
)

// sums are what the rows add up to, as terms and shares of one party: all that a square loss keeps of them.
type sums struct {
	next   int    // rows that are in
	parts  []part // of the rows; a second one of those kept out of the first solution
	cuts   []cut
	lifted int // cuts that are behind
}

// part is what some rows add up to; where sums are lifted, those of the window under way.
type part struct {
	squares []uint64  // of the features i <= j, row after row of the upper triangle; see rss.Party.AddSquares
	window  []uint32  // in place of squares where sums are lifted
	columns rss.Share // of the features, [D]
	sides   []uint64  // term: of features times labels, [windows, sides, D]
	labels  rss.Share // of the labels, [windows, sides]
	ends    []int     // where windows of labels end

	// Shares of the sums of all windows before, at the scale of rows: products of features, row after row of the upper
	// triangle, features, features times labels, and labels.
	total rss.Share
}

// system is a shared system of equations (G + lambda) beta = h, with what is public of it.
type system struct {
	gram  rss.Share // G, [D, D], scale gs
	sides rss.Share // h and its multiples, [runs, sides, D], scale gs + extra; the square loss

	held       rss.Share // the part of G of the rows kept out, [D, D], scale gs; where there are any
	labelSides rss.Share // h of all rows and of those kept out, [2, sides, D], scale gs; the same

	precision
	multiples  rss.Share // the secret factors of the second and the third run
	means      rss.Share // of the features, [D], scale sz
	reach      float64   // L, at least the largest eigenvalue of G
	labelMeans []float64 // of the labels, [sides], at the label holder

	session uint32 // that made it
}

// gram makes the system from all rows, or takes it from a checkpoint.
func (t *assembler) gram(ctx context.Context, from point) (*system, error) {
	s, err := t.savedSystem(from)
	if err != nil || s != nil && t.loss == kernel.Square {
		return s, err
	}
	if t.Sums != nil {
		acc, means, err := t.gathered(ctx)
		if err != nil {
			return nil, err
		}
		return t.systemOf(ctx, acc, means)
	}
	acc, labels, means, err := t.prepare(ctx, from)
	if err != nil {
		return nil, err
	}
	if s == nil && t.candidates != nil { // once the labels are shared
		coin, err := t.checker.tossRows(ctx, acc.next > 0)
		if err != nil {
			return nil, err
		}
		t.checker.heldOut = heldOutOf(t.Rows, 0, t.Rows, coin)
	}
	if !t.square {
		if t.scorer.events, err = t.scorer.shareEvents(ctx); err != nil {
			return nil, err
		}
	}
	if t.counted { // once they are shared
		if t.checker.coin, err = t.checker.tossRows(ctx, from.stage >= stageSystem); err != nil {
			return nil, err
		}
	}
	take := func(b *block, z rss.Share) error {
		if err := t.checkpoints.kept.add(b, z); err != nil {
			return err
		}
		if s == nil {
			t.addBlock(acc, b, z, labels)
		}
		acc.next = b.hi
		t.report("columns", b.hi, t.Rows)

		// Keeps the sums of a square loss now and then; other losses need the rows themselves again.
		done := s != nil
		block, every := (acc.next+t.BlockRows-1)/t.BlockRows, cmp.Or(t.SaveEvery, blocksToSave(t.features, t.BlockRows))
		if t.role == rss.Outside || done || t.loss != kernel.Square || block%every != 0 || acc.next == t.Rows {
			return nil
		}
		return t.saveSums(block/every, acc)
	}
	behind := func(ctx context.Context, row int) error {
		if s != nil {
			return nil
		}
		return t.liftWindows(ctx, acc, row)
	}
	if err := behind(ctx, acc.next); err != nil {
		return nil, err
	}
	if err := t.columns.each(ctx, acc.next, t.Rows, t.BlockRows, take, behind); err != nil {
		return nil, err
	}
	t.columns.done()
	t.space = space{}
	if s != nil {
		return s, nil
	}
	return t.systemOf(ctx, acc, means)
}

// systemOf makes the system of the sums of all rows and keeps it, with the labels' means.
func (t *assembler) systemOf(ctx context.Context, acc *sums, means []float64) (*system, error) {
	s, err := t.finish(ctx, acc)
	if err != nil {
		return nil, err
	}
	s.labelMeans = means
	return s, t.saveSystem(s)
}

// triangle is how many entries the upper triangle of a matrix has.
func triangle(d int) int { return d * (d + 1) / 2 }

// prepare starts the sums, from a checkpoint if there is one, and shares the labels of a square loss, [sides, N].
func (t *assembler) prepare(ctx context.Context, from point) (acc *sums, labels rss.Share, means []float64, err error) {
	if acc, err = t.savedSums(from); err != nil {
		return nil, labels, nil, err
	}
	if !t.sharesLabels() {
		return acc, labels, nil, nil
	}
	var words []uint64
	if t.role == rss.LabelHolder {
		means, words = t.labelWords()
	}
	labels, err = t.three.Input(ctx, kindLabels, t.k, t.sides*t.Rows, words)
	return acc, labels, means, err
}

// labelWords returns the labels' mean for each side, and what is left of them as words, [sides, N].
func (t *assembler) labelWords() (means []float64, words []uint64) {
	for k := range t.sides {
		mean, of := t.labels(t.begun.Targets(k))
		means, words = append(means, mean), append(words, of...)
	}
	return means, words
}

// labels returns the mean of values, and what is left of them as words for rows, which add up to exactly 0.
func (t *assembler) labels(values []float64) (mean float64, words []uint64) {
	if !t.lifts() {
		return centred(values, t.sy)
	}
	return diffused(values, t.sy)
}

// centred returns the mean of values, and what is left of them at a scale, as words that add up to
// exactly 0: the features are not centred, and a remainder would count once for every row.
func centred(values []float64, scale int) (mean float64, words []uint64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	words = make([]uint64, len(values))
	var rest int64
	for i, v := range values {
		w := int64(math.RoundToEven(math.Ldexp(v-mean, scale)))
		rest += w
		words[i] = uint64(w)
	}
	one := int64(1)
	if rest < 0 {
		one = -1
	}
	for i := 0; rest != 0; i++ {
		words[i%len(words)] -= uint64(one)
		rest -= one
	}
	return mean, words
}

// addBlock adds a block to the sums, with the labels of all rows.
func (t *assembler) addBlock(acc *sums, b *block, z, labels rss.Share) {
	if t.role == rss.Outside {
		return
	}
	of := make([]rss.Share, labels.Len()/t.Rows) // the block's labels of each side, where they are shared
	for k := range of {
		of[k] = labels.Slice(k*t.Rows+b.lo, k*t.Rows+b.hi)
	}
	if t.candidates == nil {
		t.addRows(&acc.parts[0], b.lo, z, of)
		return
	}
	for i, kept := range []bool{false, true} {
		var rows []int
		for j := b.lo; j < b.hi; j++ {
			if t.checker.heldOut[j] == kept {
				rows = append(rows, j-b.lo)
			}
		}
		some := make([]rss.Share, len(of))
		for k := range some {
			some[k] = picked(of[k], rows, 1)
		}
		t.addRows(&acc.parts[i], b.lo, picked(z, rows, t.features), some)
	}
}

// picked returns some rows of a matrix with so many columns.
func picked(m rss.Share, rows []int, columns int) (some rss.Share) {
	for _, j := range rows {
		row := m.Slice(j*columns, (j+1)*columns)
		some.X, some.Y = append(some.X, row.X...), append(some.Y, row.Y...)
	}
	return some
}

// addRows adds rows of the block from row lo on to a part of the sums, with their labels of each side.
func (t *assembler) addRows(p *part, lo int, z rss.Share, labels []rss.Share) {
	if z.Len() == 0 {
		return
	}
	if t.lifts() {
		t.three.AddSquares32(p.window, z, t.features)
	} else {
		t.three.AddSquares(p.squares, z, t.features)
	}
	p.columns.AddColumns(z)
	for k, of := range labels {
		at := windowOf(p.ends, lo)*t.sides + k
		t.three.MulVecT(p.sides[at*t.features:(at+1)*t.features], z, of)
		p.labels.Slice(at, at+1).AddColumns(of)
	}
}

// centredSides returns the terms of sum_r (z - m)_i y over a part's rows. All labels add up to 0, but not a part's.
func (t *assembler) centredSides(p *part, m rss.Share) []uint64 {
	if t.candidates == nil || t.role == rss.Outside {
		return p.sides
	}
	var out []uint64
	for k := range t.sides {
		out = append(out, t.three.Times(m, p.labels.Slice(k, k+1))...)
	}
	for i, w := range p.sides {
		out[i] = w - out[i]
	}
	return out
}

// finish makes the system of the sums: the means, the centred Gram matrix, the right side, and a bound on
// the spectrum.
func (t *assembler) finish(ctx context.Context, acc *sums) (*system, error) {
	s := new(system)
	t.settle(acc)
	var err error
	if s.means, err = t.means(ctx, acc); err != nil {
		return nil, err
	}
	d, parts, all := t.features, t.parts(), t.sides*t.features
	var squares, products []uint64
	for i := range acc.parts {
		squares = append(squares, t.centre(&acc.parts[i], t.checker.rowsOf(i), s.means)...)
		products = append(products, t.centredSides(&acc.parts[i], s.means)...)
	}
	upper, err := t.truncate(ctx, kindGram, 1, t.sums.k, squares,
		rss.Shift{Count: parts * triangle(d), Bits: 1 + 2*t.sums.sz + t.p - gramBits})
	if err != nil {
		return nil, err
	}
	s.gram = mirrored(upper.Slice(0, triangle(d)), d)
	if t.sharesLabels() {
		if s.sides, err = t.truncate(ctx, kindSides, 0, t.sums.k, products,
			rss.Shift{Count: parts * all, Bits: t.sums.sz + t.sums.sy + t.p - gramBits}); err != nil {
			return nil, err
		}
	}
	if t.candidates != nil { // the two add up to the whole
		s.held, s.labelSides = mirrored(upper.Slice(triangle(d), 2*triangle(d)), d), s.sides
		s.gram.Add(s.held)
		s.labelSides.Slice(0, all).Add(s.labelSides.Slice(all, 2*all))
		s.sides = rss.Share{}
		if t.loss == kernel.Square {
			s.sides = s.labelSides.Slice(0, all)
		}
	}
	if s.reach, err = t.bound(ctx, s.gram); err != nil {
		return nil, err
	}
	s.precision = t.precisionOf(s.reach)
	if s.multiples, err = t.checker.drawMultiples(); err != nil {
		return nil, err
	}
	if t.loss == kernel.Square {
		if s.sides, err = t.checker.multiplied(ctx, s, s.multiples, s.sides); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parts is how many parts the rows have.
func (t *assembler) parts() int {
	if t.candidates != nil {
		return 2
	}
	return 1
}

// rowsOf is how many rows a part has.
func (t *checker) rowsOf(part int) int {
	if part == 1 {
		return t.heldOutRows()
	}
	return t.Rows - t.heldOutRows()
}

// means shares the features' means, zeros for the square loss with a public bound: then the Gram matrix is not centred.
func (t *assembler) means(ctx context.Context, acc *sums) (rss.Share, error) {
	d := t.features
	if t.Params.Bound == boundPublic && t.square {
		return rss.Zero(t.role, d), nil
	}
	e := t.meanBits()
	var term []uint64
	if t.role != rss.Outside {
		term = make([]uint64, d)
		for i := range acc.parts {
			acc.parts[i].columns.AddTo(term, uint64(math.Round(math.Ldexp(1, e)/float64(t.Rows))))
		}
	}
	return t.truncate(ctx, kindMeans, 0, t.sums.k, term, rss.Shift{Count: d, Bits: e})
}

// meanBits is how many bits behind the point the inverse of a number of rows has that sums of features are divided by:
// 16 of them count, or more.
func (s *scales) meanBits() int {
	return min(max(36, 16+bits.Len(uint(s.rows-1))), s.sums.k-4-s.sums.sz)
}

// centre returns the terms of 2 sum_r (z - m)_i (z - m)_j for i <= j, row by row of the upper triangle, over a part's
// rows. It is positive semidefinite however the means are rounded, and of whatever rows they are.
func (t *assembler) centre(acc *part, rows int, m rss.Share) []uint64 {
	if t.role == rss.Outside {
		return nil
	}
	d, n := t.features, uint64(rows)
	s := acc.columns
	out := make([]uint64, 0, triangle(d))
	twice := acc.squares // of lifted sums these are the terms
	if !t.lifts() {
		twice = t.three.TwiceGram(acc.squares)
	}
	both, rest := make([]uint64, d), make([]uint64, d)
	for j := range d { // of m, and of s - N m
		both[j] = m.X[j] + m.Y[j]
		rest[j] = s.X[j] + s.Y[j] - n*both[j]
	}
	for i := range d {
		sx, sy, mx, my := s.X[i], s.Y[i], m.X[i], m.Y[i]
		for j := i; j < d; j++ {
			product := sx*both[j] + sy*m.X[j] + mx*rest[j] + my*(s.X[j]-n*m.X[j])
			out = append(out, twice[len(out)]-2*product)
		}
	}
	return out
}

// mirrored makes a symmetric matrix of the rows of its upper triangle.
func mirrored(upper rss.Share, d int) rss.Share {
	if upper.X == nil {
		return upper
	}
	full := rss.Share{X: make([]uint64, d*d), Y: make([]uint64, d*d)}
	at := 0
	for i := range d {
		for j := i; j < d; j++ {
			full.X[i*d+j], full.X[j*d+i] = upper.X[at], upper.X[at]
			full.Y[i*d+j], full.Y[j*d+i] = upper.Y[at], upper.Y[at]
			at++
		}
	}
	return full
}

// boundTolerance is the share of the square of the norm, as a power of two, by which the matrices of two sessions may
// differ: a bound that was fixed may be of the shares of an earlier session, rounded in another way.
const boundTolerance = 10

// boundPublic is the parameter that asks for a bound without an opening.
const boundPublic = "public"

// publicReach is a bound of the spectrum that nothing opens for: the trace, and what rounding adds. Of bins it is at
// most s0; of cosines and sines it is s0, since the squares of the two of an angle add up to 1, but for the rounding of
// the four factors that they are made of.
func (t *assembler) publicReach() float64 {
	norm := 1.0 // of the two features of an angle
	if !t.Params.Binned() {
		norm = math.Pow(1+math.Sqrt2/2*math.Ldexp(1, -t.s1), 2)
	}
	if t.lifts() {
		norm += math.Sqrt2 * math.Ldexp(1, -t.sz) // they are rounded by a dither
	}
	return norm*norm*t.s0 + math.Ldexp(float64(t.features), 1-gramBits)
}

// bound returns a power of the root of two that is at least the Gram matrix's largest eigenvalue: of its
// Frobenius norm, of whose square the order of magnitude opens to the label holder, who tells all; see order. A public
// bound is the trace's.
func (t *assembler) bound(ctx context.Context, gram rss.Share) (float64, error) {
	if t.Params.Bound == boundPublic {
		return t.publicReach(), nil
	}
	opened, err := t.openings.openVector(ctx, t.bounds, 1, 1, func() (rss.Share, error) { return t.order(ctx, gram) })
	if err != nil {
		return 0, err
	}
	exponent := make([]byte, 1)
	if t.role == rss.LabelHolder {
		t.told(kindBound, 1)
		exponent[0] = min(byte(opened[0]&(1<<orderBits-1)), mostOrder)
	}
	if exponent, err = t.Network.Broadcast(ctx, kindReach, t.parties[rss.LabelHolder], exponent, 1); err != nil {
		return 0, err
	}
	if err := t.Network.Confirm(ctx); err != nil {
		return 0, err
	}
	if len(exponent) != 1 || exponent[0] > mostOrder {
		return 0, fmt.Errorf("%s: %s sent %v, want one byte up to %d", kindReach, t.Names[t.parties[rss.LabelHolder]],
			exponent, mostOrder)
	}
	if t.role != rss.LabelHolder {
		t.told(kindReach, 1)
	}
	return math.Sqrt(math.Ldexp(1, int(exponent[0])-boundBits)), nil
}
