package sealed

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/secagg/rss"
)

// pair is a secant in floating point. What coefficients change by is [D], and behind them of the base; right sides are
// [D], and behind them that of the base. What is solved has the gain.
type pair struct{ taken, fall, solved []float64 }

// lessons are the pairs of a job as a test draws them.
type lessons struct {
	features, rows int
	along          []float64 // s y of each, the oldest first; from 2^-24 on it counts, and below 2^-26 it does not
	steep          int       // y is from 2^(steep-1) to 2^steep times what the fixed matrix makes of s
	length         int       // the direction changes scores by about 2^length, root mean square
	gain           int       // right sides are solved times 2^gain
	seed           uint64
}

// matrix is the diagonal of the fixed matrix, [D], which has nothing else, and behind it that of the base. Its spectrum
// falls by 2^11.
func (l *lessons) matrix(s *scales) (list []float64) {
	for i := range l.features {
		list = append(list, rounded(math.Exp2(-1-11*float64(i)/float64(l.features)), gramBits))
	}
	return append(list, math.Ldexp(float64(l.rows), -s.p))
}

// drawn makes pairs and the last right side, with what it is solved to, of as many bits as words have.
func (l *lessons) drawn(s *scales) (pairs []pair, right, solved []float64) {
	rng := rand.New(rand.NewPCG(l.seed, uint64(l.features)))
	vector := func(f func(i int) float64) (v []float64) {
		for i := range l.features + 1 {
			v = append(v, f(i))
		}
		return v
	}
	matrix := l.matrix(s)
	change := func(v []float64) []float64 { return vector(func(i int) float64 { return rounded(v[i], secantBits) }) }
	side := func(v []float64) []float64 { return vector(func(i int) float64 { return rounded(v[i], gramBits) }) }
	solve := func(v []float64) []float64 {
		return change(vector(func(i int) float64 { return math.Ldexp(v[i]/matrix[i], l.gain) }))
	}
	for _, along := range l.along {
		taken := vector(func(i int) float64 { return rng.NormFloat64() / math.Sqrt(matrix[i]) })
		fall := vector(func(i int) float64 {
			return math.Exp2(float64(l.steep)-rng.Float64()) * matrix[i] * taken[i]
		})
		size, sign := math.Abs(along), 1.
		switch {
		case along == 0: // no step, and another rounding of the right side
			size, sign = math.Exp2(-20), 0
		case along < 0:
			sign = -1
		}
		by := math.Sqrt(size / l.inner(s, taken, fall))
		taken, fall = times(sign*by, taken), times(by, fall)
		pairs = append(pairs, pair{change(taken), side(fall), solve(fall)})
	}
	right = vector(func(i int) float64 { return math.Sqrt(matrix[i]) * rng.NormFloat64() })
	way := l.textbook(pairs, l.gamma(s, pairs[len(pairs)-1]), right, solve(right))
	length := math.Sqrt(l.inner(s, way, vector(func(i int) float64 { return matrix[i] * way[i] })))
	right = side(times(math.Exp2(float64(l.length))/length, right))
	return pairs, right, solve(right)
}

// inner is the inner product of a change and a right side; see trainer.inner.
func (l *lessons) inner(s *scales, change, side []float64) float64 {
	return l.unit(s) * floats.Dot(change, side)
}

// unit is what inner products are multiplied by.
func (l *lessons) unit(s *scales) float64 { return math.Ldexp(1, s.p-bits.Len(uint(l.rows-1))) }

// fixed is y A^-1 y of a pair.
func (l *lessons) fixed(s *scales, p pair) float64 {
	return math.Ldexp(l.inner(s, p.solved, p.fall), -l.gain)
}

// gamma is the largest power of two, from 1 to 256, that is at most s y over y A^-1 y.
func (l *lessons) gamma(s *scales, p pair) float64 {
	gamma := 1.
	for gamma < 256 && 2*gamma*l.fixed(s, p) < l.inner(s, p.taken, p.fall) {
		gamma *= 2
	}
	return gamma
}

// textbook is the direction of L-BFGS, by its two loops over those of the last four pairs that count. What q is solved
// to goes along with it.
func (l *lessons) textbook(pairs []pair, gamma float64, right, solved []float64) []float64 {
	var list []pair
	for i := max(0, len(pairs)-4); i < len(pairs); i++ {
		if l.along[i] > math.Exp2(-26) {
			list = append(list, pairs[i])
		}
	}
	q, z, a := slices.Clone(right), slices.Clone(solved), make([]float64, len(list))
	for i, p := range slices.Backward(list) { // the newest first
		a[i] = floats.Dot(p.taken, q) / floats.Dot(p.taken, p.fall)
		q, z = plus(q, times(-a[i], p.fall)), plus(z, times(-a[i], p.solved))
	}
	z = times(math.Ldexp(gamma, -l.gain), z)
	for i, p := range list {
		b := floats.Dot(p.fall, z) / floats.Dot(p.fall, p.taken)
		z = plus(z, times(a[i]-b, p.taken))
	}
	return z
}

// rounded is a number with so many bits behind the point.
func rounded(x float64, point int) float64 {
	return math.Ldexp(math.Round(math.Ldexp(x, point)), -point)
}

// times is a vector times a number.
func times(by float64, x []float64) (v []float64) {
	for i := range x {
		v = append(v, by*x[i])
	}
	return v
}

// plus is the sum of two vectors.
func plus(x, y []float64) (v []float64) {
	for i := range x {
		v = append(v, x[i]+y[i])
	}
	return v
}

// found is what the three come to.
type found struct {
	direction []float64 // [D], and the base
	list      []pair    // the last pairs, times their factors, the newest first
	inverses  []float64 // 1 over s y of each
	gammas    []float64 // of all pairs, the oldest first
	length    int       // limits that r^2 passes, of which t tells
	distance  int       // and q
}

// shared has the three add the pairs one by one, make a direction and measure it as that of the last step.
func (l *lessons) shared(t testing.TB, f *fixture, s *scales, pairs []pair, right, solved []float64) (got found) {
	t.Helper()
	n, d := l.features+1, l.features
	var words []uint64
	put := func(v []float64, point int) {
		for _, x := range v {
			words = append(words, uint64(int64(math.Ldexp(x, point))))
		}
	}
	for _, p := range pairs { // what they leave, from the step before the first one on
		right, solved = plus(right, p.fall), plus(solved, p.solved)
	}
	put([]float64{math.Ldexp(1, l.gain)}, 0)
	put([]float64{math.Ldexp(1, -l.gain)}, gammaBits)
	put(right, gramBits)
	put(solved, secantBits)
	for _, p := range pairs {
		right, solved = plus(right, times(-1, p.fall)), plus(solved, times(-1, p.solved))
		put(p.taken, secantBits)
		put(right, gramBits)
		put(solved, secantBits)
	}
	for i, x := range l.matrix(s)[:d] {
		row := make([]float64, d)
		row[i] = x
		put(row, gramBits)
	}
	out := f.computed(t, newTape(fmt.Sprint(l.seed)), words, func(ctx context.Context, tr *trainer, all rss.Share) (
		out rss.Share, err error) {
		at := 0
		next := func(n int) rss.Share {
			at += n
			return all.Slice(at-n, at).Clone()
		}
		var o secants
		var gamma rss.Share
		o.gain, o.lessGain = next(1), next(1)
		o.before.fall, o.before.solved = next(n), next(n)
		for range pairs {
			o.before.taken = next(n)
			now := secant{fall: next(n), solved: next(n)}
			if gamma, err = tr.stepper.addSecant(ctx, &o, now.fall, now.solved); err != nil {
				return out, err
			}
			o.before, out = now, joined(out, gamma)
		}
		direction, err := tr.stepper.direction(ctx, o.list, gamma, o.before.fall, o.before.solved)
		if err != nil {
			return out, err
		}
		for _, one := range o.list {
			out = joined(out, joined(joined(one.taken, one.fall), joined(one.solved, one.inverse)))
		}
		word, err := tr.stepper.measured(ctx, &system{gram: next(d * d)}, tr.Params.Outer, o.before.fall, direction)
		return joined(joined(out, direction), word), err
	})
	take := func(n, point int) []float64 {
		v := reals(out[:n], point)
		out = out[n:]
		return v
	}
	got.gammas = times(math.Ldexp(1, l.gain), take(len(pairs), gammaBits))
	for range min(len(pairs), 4) {
		got.list = append(got.list, pair{take(n, secantBits), take(n, gramBits), take(n, secantBits)})
		got.inverses = append(got.inverses, take(1, scalarBits)...)
	}
	got.direction = take(n, secantBits)
	for got.length < lengthLimits && taken(got.length) != out[0] {
		got.length++
	}
	got.distance = int(out[1])
	return got
}

// wrong says what of the three's is not as it should be; nil: nothing.
func (l *lessons) wrong(t testing.TB) error {
	t.Helper()
	f := newFixture(t, 3, 30, fdskl.Params{Features: l.features, Loss: "logistic", Lambda: 1e-5, Ring: ringSmall})
	f.rows, f.params.Lambda = l.rows, max(1e-5, fdskl.Lambda(leastLambda(f.params, l.rows)))
	s, err := scalesOf(f.params, f.rows)
	must(t, err)
	pairs, right, solved := l.drawn(s)
	got := l.shared(t, f, s, pairs, right, solved)
	const unit = 2. / (1 << steepBits) // by which a number may be off that is compared
	for i, gamma := range got.gammas {
		along, fixed := l.inner(s, pairs[i].taken, pairs[i].fall), l.fixed(s, pairs[i])
		if !slices.Contains([]float64{1, 2, 4, 8, 16, 32, 64, 128, 256}, gamma) ||
			gamma > 1 && gamma*fixed > along+gamma*unit || gamma < 256 && 2*gamma*fixed < along-2*gamma*unit {
			return fmt.Errorf("gamma of pair %d is %v, want the power of two below %.4g / %.4g", i, gamma, along, fixed)
		}
	}
	for i, one := range got.list {
		at := len(pairs) - 1 - i
		p := pairs[at]
		along := l.inner(s, p.taken, p.fall)
		factor := math.Round(math.Sqrt(floats.Dot(one.fall, one.fall) / floats.Dot(p.fall, p.fall)))
		if !slices.Equal(one.taken, times(factor, p.taken)) || !slices.Equal(one.fall, times(factor, p.fall)) ||
			!slices.Equal(one.solved, times(factor, p.solved)) {
			return fmt.Errorf("pair %d is multiplied by about %v, and not all of it", at, factor)
		}
		counts, scaled := l.along[at] >= math.Exp2(-24), factor*factor*along
		if counts != (factor > 0) || counts && (scaled < .25-factor*factor*unit || scaled > 1+1e-5) {
			return fmt.Errorf("pair %d, s y %.4g, is multiplied by %v", at, along, factor)
		}
		if counts && !(math.Abs(got.inverses[i]*scaled-1) <= 2e-4) { // (1/3)^8, and rounding
			return fmt.Errorf("pair %d, s y %.4g: its inverse is %v", at, scaled, got.inverses[i])
		}
	}
	want := l.textbook(pairs, got.gammas[len(pairs)-1], right, solved)
	e, matrix := plus(want, times(-1, got.direction)), l.matrix(s)
	most := math.Exp2(-12)*math.Exp2(float64(l.length)) + math.Exp2(-14-float64(l.steep))
	square := 0.
	for i, x := range matrix {
		square += x * e[i] * e[i]
	}
	if off := math.Sqrt(l.unit(s) * square); !(off <= most) {
		return fmt.Errorf("the direction is off by %.2g, want at most %.2g", off, most)
	}
	return l.misled(s, right, got)
}

// misled says whether the progress of a direction is not what its length and its distance are.
func (l *lessons) misled(s *scales, right []float64, got found) error {
	way, squares := got.direction, 0.
	for i, g := range l.matrix(s) {
		if i < l.features {
			g += s.lambda / s.kappa
		}
		squares += g * way[i] * way[i]
	}
	square := math.Ldexp(squares/float64(l.rows), s.p)
	distance := math.Ldexp(floats.Dot(way, right), s.p) * s.kappa
	passed := func(x float64, limits ...float64) (n int) {
		for _, at := range limits {
			if x > at {
				n++
			}
		}
		return n
	}
	var lengths []float64
	for i := range 15 {
		lengths = append(lengths, math.Exp2(float64(i)))
	}
	for _, c := range []struct {
		what string
		got  int
		x    float64
		most []float64
	}{
		{"squared length", got.length, square, lengths},
		{"distance", got.distance, distance, []float64{1. / 32, 16, 1024}},
	} {
		if c.got < passed(leastBlur*c.x*.999-.02, c.most...) || c.got > passed(mostBlur*c.x*1.001+.02, c.most...) {
			return fmt.Errorf("the %s is %.4g, and passes %d limits", c.what, c.x, c.got)
		}
	}
	return nil
}

// TestDirectionsAreTheTextbooks: whatever the last pairs of a job are, the three multiply them as they should, and the
// direction and its progress are those of the two loops in floating point. Of its length a direction is off by 2^-12,
// as 1 over s y is, and by what 20 bits behind the point leave, the more the less steep the loss is.
func TestDirectionsAreTheTextbooks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := &lessons{
			features: 2 * rapid.IntRange(2, 16).Draw(r, "angles"),
			rows:     rapid.IntRange(20, 100_000).Draw(r, "rows"),
			steep:    rapid.IntRange(-7, 0).Draw(r, "steep"),
			gain:     rapid.IntRange(0, 4).Draw(r, "gain"),
			seed:     rapid.Uint64().Draw(r, "seed"),
		}
		l.length = rapid.IntRange(-12, min(5, 2-l.steep)).Draw(r, "length")
		for range rapid.IntRange(1, 6).Draw(r, "pairs") {
			along := math.Exp2(rapid.Float64Range(-24, 0).Draw(r, "s y"))
			if rapid.IntRange(0, 5).Draw(r, "nothing") == 0 {
				along = rapid.SampledFrom([]float64{0, -math.Exp2(-4), math.Exp2(-28)}).Draw(r, "less than nothing")
			}
			l.along = append(l.along, along)
		}
		must(r, l.wrong(t))
	})
}

// TestDirectionsAtTheEndsOfTheirRanges: of few features and of as many as a job has by default, with s y as large and
// as small as it counts, gamma 1 and 64, and directions as long as can be measured.
func TestDirectionsAtTheEndsOfTheirRanges(t *testing.T) {
	for _, features := range []int{4, 16, 1024} {
		for _, steep := range []int{-7, 0} {
			for _, length := range []int{-12, min(7, 2-steep)} {
				l := &lessons{features: features, rows: 50_000, steep: steep, length: length, gain: -steep / 2,
					seed: uint64(features), along: []float64{1, math.Exp2(-24), 0, math.Exp2(-12), 1, math.Exp2(-24)}}
				if err := l.wrong(t); err != nil {
					t.Errorf("%d features, length 2^%d, steepness 2^%d: %v", features, length, steep, err)
				}
			}
		}
	}
}
