package sealed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// logistic is p(s).
func logistic(s float64) float64 { return 1 / (1 + math.Exp(-s)) }

// sineOf is sine i of a score, the sine itself and its derivative.
func sineOf(w waves, i int, s float64) (sine, slope float64) {
	k := 2 * math.Pi * math.Ldexp(float64(2*i+1), -w.span())
	sine, slope = math.Sincos(k * s)
	return sine, k * slope
}

// ofSines returns the sum of sines that stands for p, and four times its derivative.
func ofSines(w waves, s float64) (p, slope float64) {
	p = 0.5
	for i, c := range w.weights() {
		sine, d := sineOf(w, i, s)
		p += c * sine
		slope += 4 * c * d
	}
	return p, slope
}

// TestSigmoidWeightsAreTheLeastSquares solves for them on a grid, and holds what they are off by against what is
// promised. Beyond a quarter of a turn a sum of odd sines is that of what is left of half a turn.
func TestSigmoidWeightsAreTheLeastSquares(t *testing.T) {
	off := 0.0 // of slopes, as their sines' rates are rounded
	for i, c := range sigmoidWeights {
		rate := math.Ldexp(math.Round(math.Ldexp(slopeWaves().rate(i), rateBits)), -rateBits)
		off += 4 * c * math.Abs(rate-math.Pi/32*float64(2*i+1))
	}
	if off > 2e-6 {
		t.Errorf("4 p (1 - p) may be off by %.2g by the rates alone", off)
	}
	for name, w := range usualWaves() {
		const points = 1 << 14 // of each side: odd functions need one
		n, half := w.sines, math.Ldexp(1, w.span()-1)
		normal, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		for at := range points {
			s := (float64(at) + 0.5) * half / 2 / points
			row := mat.NewVecDense(n, nil)
			for i := range n {
				sine, _ := sineOf(w, i, s)
				row.SetVec(i, sine)
			}
			normal.SymRankOne(normal, 1, row)
			right.AddScaledVec(right, logistic(s)-0.5, row)
		}
		var solve mat.Cholesky
		if !solve.Factorize(normal) {
			t.Fatal("the sines depend on one another")
		}
		var want mat.VecDense
		must(t, solve.SolveVecTo(&want, right))
		for i, c := range w.weights() {
			if off := math.Abs(c - want.AtVec(i)); off > 1e-7 {
				t.Errorf("%s: weight %d is %v, want %v", name, i, c, want.AtVec(i))
			}
		}
		var near, far, slope, least, most float64
		for s := -half; s <= half; s += 1.0 / 128 {
			p, d := ofSines(w, s)
			off, true4 := math.Abs(p-logistic(s)), 4*logistic(s)*logistic(-s)
			if math.Abs(s) <= half-16 {
				near, slope = max(near, off), max(slope, math.Abs(d-true4))
			}
			if math.Abs(s) <= half-8 {
				far = max(far, off)
			}
			least, most = min(least, p), max(most, p)
		}
		t.Logf("%s: p is off by %.2g within %v and by %.2g within %v, from %.5f to %.5f; 4 p (1 - p) is off by %.2g", name,
			near, half-16, far, half-8, least, most, slope)
		if near > .00004 || far > .0004 || least < -.00004 || most > 1.00004 || slope > .0005 && !w.wide {
			t.Errorf("%s: the sum is off by more than is promised", name)
		}
	}
}

// usualWaves are those of the jobs that have any, by what they are of.
func usualWaves() map[string]waves {
	return map[string]waves{
		"bins":        (&scales{counted: true, k: ringSmall, sums: wide{k: wordBits}}).waves(),
		"cosines, 32": (&scales{k: ringSmall, sums: wide{k: wordBits}}).waves(),
		"cosines, 64": (&scales{k: wordBits, sums: wide{k: wordBits}}).waves(),
		"slopes":      slopeWaves(),
	}
}

// pairOf returns what keeper and helper multiply the label holder's factors of sine i by before it is rounded: the
// cosine and the sine of a turn, for a slope times its rate.
func pairOf(turn, i int, slope bool) (cos, sin float64) {
	sin, cos = math.Sincos(2 * math.Pi / 65536 * float64(turn*(2*i+1)%65536))
	if slope {
		return cos * math.Pi / 32 * float64(2*i+1), sin * math.Pi / 32 * float64(2*i+1)
	}
	return cos, sin
}

// unitsOf returns how many units of the label holder's factor of sine i, and of the other, are 1.
func unitsOf(w waves, i int) (holder, pair float64) {
	h, p := w.split(i)
	return math.Ldexp(1, h), math.Ldexp(1, p)
}

// farthestOf bounds a result for all scores, turns and ways to round: a product of two rounded factors is off by one
// factor, as it is rounded, times what the other is off by, and by the other times what the first is off by, which are
// each as large as they get in any of all turns.
func farthestOf(w waves) float64 {
	off := func(x float64) float64 { return max(x-math.Floor(x), math.Ceil(x)-x) } // the worst way
	holders := make([]float64, w.sines)                                            // what a factor is off by
	sum, first, second := 0.0, 0.0, 0.0
	for turn := range 1 << 16 {
		total := 0.0
		for i, c := range w.weights() {
			h, u := unitsOf(w, i)
			cos, sin := pairOf(turn, i, false)
			holders[i] = max(holders[i], off(c*sin*h)/h, off(c*cos*h)/h)
			total += c * (math.Abs(sin) + math.Abs(cos)) / u
		}
		second = max(second, total)
	}
	for turn := range 1 << 16 {
		total := 0.0
		for i := range holders {
			_, u := unitsOf(w, i)
			cos, sin := pairOf(turn, i, w.slope)
			total += holders[i] * (math.Abs(cos) + off(cos*u)/u + math.Abs(sin) + off(sin*u)/u)
		}
		first = max(first, total)
	}
	for s := 0.0; s < math.Ldexp(1, w.span()); s += 1.0 / 1024 {
		p, d := ofSines(w, s)
		if w.slope {
			sum = max(sum, math.Abs(d))
		} else {
			sum = max(sum, math.Abs(p), math.Abs(1-p))
		}
	}
	if w.slope {
		first, second = 4*first, 4*second
	}
	if w.drop > 0 {
		first += math.Ldexp(1, -w.point())
	}
	return sum + first + second
}

// TestNoRoundingPassesTheBoundsOfSigmoids: whatever the score is and however all factors are rounded, p and the
// derivative stay within mostProbability, and 4 p (1 - p) within mostSlope; and these are not much larger than they
// need to be.
func TestNoRoundingPassesTheBoundsOfSigmoids(t *testing.T) {
	largest := 0.0
	for name, w := range usualWaves() {
		got, bound := farthestOf(w), mostProbability
		if w.slope {
			bound = mostSlope
		} else {
			largest = max(largest, got)
		}
		t.Logf("%s: %.4f", name, got)
		if got > bound {
			t.Errorf("%s: a sigmoid may be %.4f, and is thought to be %v at most", name, got, bound)
		}
		if w.slope && got < bound-.02 {
			t.Errorf("%s: a sigmoid is %.4f at most, and is thought to be up to %v", name, got, bound)
		}
	}
	if largest < mostProbability-.005 {
		t.Errorf("probabilities are %.4f at most, and are thought to be up to %v", largest, mostProbability)
	}
}

// sigmoidJobs are jobs that have sigmoids, by their waves.
func sigmoidJobs() map[string]fdskl.Params {
	cosines := fdskl.Params{Features: 6, Sigma: 1, Loss: "logistic", Outer: 2, Iterations: 2, Lambda: .1}
	small := cosines
	small.Ring = ringSmall
	return map[string]fdskl.Params{"cosines, 64": cosines, "cosines, 32": small,
		"bins": binned(fdskl.Params{Loss: "logistic", Outer: 2, Iterations: 2, Lambda: .1})}
}

// streams are the key streams of a session.
func streams(r rss.Role, session int) rss.Source {
	var with [rss.Roles]rss.Derive
	for peer := range rss.Roles {
		with[peer] = pairSecret(fmt.Sprint(session, min(peer, int(r)), max(peer, int(r)))).derive
	}
	return rss.NewPads(r, with, func() keys.Hash { return keys.Hash{} })
}

// sigmoidLab is a job's three, who have sigmoids of scores that a dealer has shared.
type sigmoidLab struct {
	*fixture
	kind   string
	scores []float64
	terms  [rss.Roles][]uint64
	rng    *rand.Rand
	source func(r rss.Role, session int) rss.Source
	heard  func(i int, m *message) error
	shares [rss.Roles]rss.Share
	order  int // 0 or 1, of the keeper and the helper; each has pads of its own
	unit   int // bits of a term below a unit of the turn
	point  int // bits behind the point of what comes out
	bits   int
}

// newSigmoidLab prepares a job's sigmoids of a kind, which two waves have.
func newSigmoidLab(t testing.TB, job, kind string, seed uint64) *sigmoidLab {
	t.Helper()
	return &sigmoidLab{fixture: newFixture(t, rss.Roles, 40, sigmoidJobs()[job]), kind: kind, source: streams,
		rng: rand.New(rand.NewPCG(seed, 1))}
}

// deal shares scores.
func (l *sigmoidLab) deal(t testing.TB, scores []float64) {
	t.Helper()
	s, err := scalesOf(l.params, len(scores))
	must(t, err)
	w := s.waves()
	l.scores, l.unit = scores, s.sz+s.bs+w.span()-turnBits
	if l.point, l.bits = w.point(), w.ring-w.drop; l.kind == kindSlopes {
		l.point, l.bits = slopeBits, slopeWaves().ring
	}
	for r := range l.terms {
		l.terms[r] = make([]uint64, len(scores))
	}
	for j, x := range scores {
		a, b := l.rng.Uint64(), l.rng.Uint64()
		l.terms[0][j], l.terms[1][j] = a, b
		l.terms[2][j] = uint64(int64(math.Round(math.Ldexp(x, s.sz+s.bs)))) - a - b
	}
}

// run has the three share the sigmoids of the scores that were dealt.
func (l *sigmoidLab) run(t testing.TB) error {
	t.Helper()
	lab := newLab(l.names, l.source)
	lab.heard = l.heard
	return lab.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		p := l.party(i, n, 1)
		p.Rows = len(l.scores)
		if l.order == 1 {
			p.Network = n.(*place).again()
		}
		tr, err := newTrainer(p)
		if err != nil {
			return err
		}
		terms := slices.Clone(l.terms[i])
		if l.kind == kindSlopes {
			l.shares[i], err = tr.scorer.slopes(ctx, l.order, p.Rows, terms)
		} else {
			l.shares[i], err = tr.scorer.probabilities(ctx, l.order, terms)
		}
		return err
	})
}

// results adds the components up, which their holders must have alike.
func (l *sigmoidLab) results(t testing.TB) []float64 {
	t.Helper()
	out := make([]float64, len(l.scores))
	for r, s := range l.shares {
		if !slices.Equal(s.X, l.shares[(r+2)%rss.Roles].Y) {
			t.Fatalf("component %d differs between its two holders", (r+1)%rss.Roles)
		}
	}
	for j, w := range rss.Reconstruct(l.shares[rss.LabelHolder], l.shares[rss.Keeper]) {
		out[j] = math.Ldexp(float64(int64(w<<(64-l.bits))>>(64-l.bits)), -l.point)
	}
	return out
}

// noiseOf is the standard deviation of what roundings add to a sigmoid of a score, on the mean over all turns: of the
// factors, each of which is rounded down or up with the right mean, of three terms of the turn, and of what is dropped.
func noiseOf(w waves, score float64) float64 {
	split := func(x float64) (square, variance float64) {
		f := x - math.Floor(x)
		return x * x, f * (1 - f)
	}
	const step = 7 // of the turns, which is enough
	sum, n := 0.0, 0.0
	for a := 0; a < 1<<16; a += step {
		r := (a - int(math.Round(math.Ldexp(score, turnBits-w.span()))) + 1<<20) & (1<<16 - 1)
		for i, c := range w.weights() {
			cosA, sinA := pairOf(a, i, false)
			cosR, sinR := pairOf(r, i, w.slope)
			h, u := unitsOf(w, i)
			if w.slope {
				cosR, sinR = sinR, cosR // the sine times the sine, the cosine times the cosine
			}
			for _, product := range [2][2]float64{{c * sinA * h, cosR * u}, {c * cosA * h, sinR * u}} {
				f, vf := split(product[0])
				g, vg := split(product[1])
				sum += f*vg + g*vf + vf*vg
			}
		}
		n++
	}
	variance := math.Ldexp(sum/n, -2*w.products)
	p, d := ofSines(w, score)
	if w.slope {
		variance *= 16
		d = 4 * d * (1 - 2*p) // the slope's own, near enough
	} else {
		d /= 4
	}
	variance += 3.0 / 12 * math.Pow(math.Ldexp(d, w.span()-turnBits), 2)
	if w.drop > 0 { // a number whose last part f is dropped has the variance f (1 - f), here as a Fourier series
		units, f := math.Ldexp(1, w.point()), 1.0/6
		for m := math.Pi; m < 100; m += math.Pi {
			f -= math.Cos(2*m*p*units) * math.Exp(-2*m*m*variance*units*units) / (m * m)
		}
		variance += f / (units * units)
	}
	return math.Sqrt(variance)
}

// TestSigmoidsOnSharesAreUnbiased: of each of a few scores, drawn very often, the mean is that of the sum of sines, and
// errors are as large as the roundings make them. Of all other scores no error is beyond the noise, and where a score
// passes half a turn it is taken modulo a turn.
func TestSigmoidsOnSharesAreUnbiased(t *testing.T) {
	const draws, others = 1 << 16, 1 << 14
	fixed := []float64{-20.3, -3.7, 0.4, 9.1}
	for _, c := range []struct{ job, kind string }{{"bins", kindProbabilities}, {"cosines, 32", kindProbabilities},
		{"cosines, 64", kindProbabilities}, {"bins", kindSlopes}} {
		t.Run(c.job+", "+c.kind, func(t *testing.T) {
			t.Parallel()
			l := newSigmoidLab(t, c.job, c.kind, 7)
			w, slope := usualWaves()[c.job], c.kind == kindSlopes
			if slope {
				w = slopeWaves()
			}
			half := math.Ldexp(1, w.span()-1) // of a turn
			scores := slices.Repeat(fixed, draws)
			for j := range others {
				scores = append(scores, 3.75*half*(float64(j)/others-0.5))
			}
			l.deal(t, scores)
			must(t, l.run(t))
			got := l.results(t)
			want := func(s float64) float64 {
				p, d := ofSines(w, s)
				if slope {
					return d
				}
				return p
			}
			noise := max(noiseOf(w, 0.4), noiseOf(w, 0))
			for i, s := range fixed {
				var off []float64
				for j := i; j < draws*len(fixed); j += len(fixed) {
					off = append(off, got[j]-want(s))
				}
				mean, std := stat.MeanStdDev(off, nil)
				theory := noiseOf(w, s)
				t.Logf("score %v: mean error %.2g, rms %.3g, in theory %.3g", s, mean, std, theory)
				if limit := 5 * theory / math.Sqrt(draws); math.Abs(mean) > limit {
					t.Errorf("score %v: the mean error is %.2g, want %.2g at most", s, mean, limit)
				}
				if std > 1.05*theory || std < .95*theory {
					t.Errorf("score %v: the errors' standard deviation is %.3g, want %.3g", s, std, theory)
				}
				truth, exact := logistic(s), .00004
				if slope {
					truth, exact = 4*logistic(s)*logistic(-s), .0005
				} else if math.Abs(s) > half-16 {
					exact = .0004
				}
				if bias := mean + want(s) - truth; math.Abs(bias) > exact+5*theory/math.Sqrt(draws) {
					t.Errorf("score %v: on the mean it is off by %.2g", s, bias)
				}
			}
			for j := draws * len(fixed); j < len(scores); j++ {
				s := math.Remainder(scores[j], 2*half)
				if off := math.Abs(got[j] - want(s)); off > 6*noise {
					t.Fatalf("score %v is %.5f, want %.5f", scores[j], got[j], want(s))
				}
				if truth := logistic(s); !slope && math.Abs(s) <= half-8 && math.Abs(got[j]-truth) > 6*noise+.0004 {
					t.Fatalf("score %v is %.5f, want %.5f", scores[j], got[j], truth)
				}
				if bound := map[bool]float64{false: mostProbability, true: mostSlope}[slope]; math.Abs(got[j]) > bound {
					t.Fatalf("score %v is %.5f, beyond %v", scores[j], got[j], bound)
				}
			}
		})
	}
}
