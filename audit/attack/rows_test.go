package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// frequencies draws a design of normal frequencies with a standard deviation in radians a unit.
func frequencies(rng *rand.Rand, angles, columns int, deviation float64) *mat.Dense {
	d := mat.NewDense(angles, columns, nil)
	for i := range d.RawMatrix().Data {
		d.RawMatrix().Data[i] = deviation * rng.NormFloat64() / (2 * math.Pi)
	}
	return d
}

// pairsOf is c times the sines and cosines of a row's angles.
func pairsOf(design *mat.Dense, row []float64, c float64) Pairs {
	p := Pairs{Design: design}
	p.add(row, c)
	return p
}

func (p *Pairs) add(row []float64, c float64) {
	angles, _ := p.Design.Dims()
	if p.Sine == nil {
		p.Sine, p.Cosine = make([]float64, angles), make([]float64, angles)
	}
	var turns mat.VecDense
	turns.MulVec(p.Design, mat.NewVecDense(len(row), row))
	for i := range angles {
		sin, cos := math.Sincos(2 * math.Pi * turns.AtVec(i))
		p.Sine[i] += c * sin
		p.Cosine[i] += c * cos
	}
}

func drawRow(rng *rand.Rand, n int, size float64) []float64 {
	row := make([]float64, n)
	for i := range row {
		row[i] = size * rng.NormFloat64()
	}
	return row
}

// TestRotationsRebuildTheRowOfAnUpdate over kernels whose angles hardly wrap and such whose angles wrap often, with
// scales of either sign; of two rows nothing is proved.
func TestRotationsRebuildTheRowOfAnUpdate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, deviation := range []float64{0.1, 1, 6} {
		for _, c := range []float64{0.03, -2} {
			row := drawRow(rng, 14, 0.07)
			design := frequencies(rng, 100, 14, deviation)
			r, err := Rotations(t.Context(), []Pairs{pairsOf(design, row, c)})
			must(t, err)
			if !r.Proved || apart(r.Row, row) > 1e-8 || math.Abs(r.Scales[0]/c-1) > 1e-8 {
				t.Errorf("deviation %v, c %v: proved %v, off by %g, scale %v", deviation, c, r.Proved, apart(r.Row, row),
					r.Scales[0])
			}
			two := pairsOf(design, row, c)
			two.add(drawRow(rng, 14, 0.07), c/2)
			if r, err := Rotations(t.Context(), []Pairs{two}); err != nil || r.Proved {
				t.Errorf("two rows: %+v, %v: want nothing proved", r, err)
			}
		}
	}
}

// TestRotationsOfManyNarrowKernels: one kernel alone has too few angles, all together prove the row.
func TestRotationsOfManyNarrowKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	row := drawRow(rng, 14, 0.05)
	var list []Pairs
	for k := range 12 {
		list = append(list, pairsOf(frequencies(rng, 9, 14, math.Pow(10, 1-float64(k)/6)), row, 0.1*float64(k%3-1)+0.01))
	}
	r, err := Rotations(t.Context(), list)
	if err != nil || !r.Proved || apart(r.Row, row) > 1e-7 {
		t.Errorf("%+v, %v: want %v", r, err, row)
	}
}

// TestRotationsOfMaskedWordsAreChance, and what is wrong is refused.
func TestRotationsOfMaskedWordsAreChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var trials []Trial
	ranges := Ranges{Low: make([]float64, 10), High: make([]float64, 10)}
	for i := range ranges.Low {
		ranges.Low[i], ranges.High[i] = -0.2, 0.2
	}
	for range 50 {
		p := pairsOf(frequencies(rng, 40, 10, 1), drawRow(rng, 10, 0.07), 1)
		truth := drawRow(rng, 10, 0.07)
		for i := range p.Sine { // uniform words in place of them
			p.Sine[i], p.Cosine[i] = rng.Float64()-0.5, rng.Float64()-0.5
		}
		r, err := Rotations(t.Context(), []Pairs{p})
		must(t, err)
		trials = append(trials, Trial{Rebuilt: [][]float64{r.Row}, Proved: r.Proved, Truth: [][]float64{truth}})
	}
	s := ScoreRows(trials, ranges, 1)
	if s.Proved != 0 || s.Share != 0 || s.RMS < 0.7*s.ControlRMS {
		t.Errorf("%+v: want nothing rebuilt, and the error of a guess", s)
	}
	if _, err := Rotations(t.Context(), []Pairs{{Design: mat.NewDense(2, 2, nil), Sine: []float64{1},
		Cosine: []float64{1, 2}}}); err == nil {
		t.Error("pairs of another length were taken")
	}
	if _, err := Rotations(t.Context(), []Pairs{{Design: mat.NewDense(1, 1, nil), Sine: []float64{math.NaN()},
		Cosine: []float64{1}}}); err == nil {
		t.Error("a pair that is no number was taken")
	}
}

// apart is the largest distance of two rows' columns.
func apart(a, b []float64) float64 {
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	return worst
}

// wavesOf is c times the cosines of a row's shifted angles, of several rows when there are.
func wavesOf(rng *rand.Rand, n, columns int, rows [][]float64, c []float64) Waves {
	w := Waves{Design: frequencies(rng, n, columns, 0.5), Phase: make([]float64, n), Value: make([]float64, n), Spread: 1}
	for i := range w.Phase {
		w.Phase[i] = rng.Float64()
		for k, row := range rows {
			angle := w.Phase[i]
			for col, v := range row {
				angle += w.Design.At(i, col) * v
			}
			w.Value[i] += c[k] * math.Cos(2*math.Pi*angle)
		}
	}
	return w
}

// TestCosinesRebuildTheRowOfAStep, with a scale of either sign, and not that of three rows together.
func TestCosinesRebuildTheRowOfAStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	found := 0
	for k := range 40 {
		row := drawRow(rng, 4, 1)
		r, err := Cosines(t.Context(), wavesOf(rng, 60, 4, [][]float64{row}, []float64{0.2 * float64(2*(k%2)-1)}))
		must(t, err)
		if r.Proved && apart(r.Row, row) < 1e-6 {
			found++
		} else if r.Proved {
			t.Errorf("row %v proved, it is %v", r.Row, row)
		}
		three, err := Cosines(t.Context(), wavesOf(rng, 60, 4, [][]float64{row, drawRow(rng, 4, 1), drawRow(rng, 4, 1)},
			[]float64{0.2, -0.1, 0.15}))
		if err != nil || three.Proved {
			t.Errorf("three rows: %+v, %v", three, err)
		}
	}
	if found < 38 {
		t.Errorf("%d of 40 rows were rebuilt", found)
	}
}

// TestDenseRebuildsTheRowOfAGradient of one row, of which the ratio is the same at all units; of several that a unit
// is active for alone; and none of a mean.
func TestDenseRebuildsTheRowOfAGradient(t *testing.T) {
	gradient := func(rows [][]float64, slopes [][]float64) DenseGradient { // slopes: [row][unit]
		units := len(slopes[0])
		g := DenseGradient{Kernel: make([]float64, len(rows[0])*units), Bias: make([]float64, units)}
		for r, row := range rows {
			for u, s := range slopes[r] {
				g.Bias[u] += s
				for i, v := range row {
					g.Kernel[i*units+u] += float64(float32(s * v))
				}
			}
		}
		return g
	}
	a, b := []float64{0.3, -0.1, 0.8}, []float64{0.1, 0.2, -0.5}
	one, err := Dense(gradient([][]float64{a}, [][]float64{{0.1, -0.2, 0, 0.3}}))
	if err != nil || len(one) != 1 || !one[0].Proved || apart(one[0].Row, a) > 1e-6 {
		t.Errorf("one row: %+v, %v", one, err)
	}
	two, err := Dense(gradient([][]float64{a, b}, [][]float64{{0.1, 0.2, 0.3, 0}, {0, 0.5, 0, 0}}))
	if err != nil || len(two) != 2 || two[0].Proved || apart(two[0].Row, a) > 1e-6 {
		t.Errorf("two rows: %+v, %v", two, err)
	}
	mean, err := Dense(gradient([][]float64{a, b}, [][]float64{{0.1, 0.2}, {0.3, -0.5}}))
	if err != nil || len(mean) != 2 || mean[0].Proved || apart(mean[0].Row, a) < 0.01 || apart(mean[1].Row, a) < 0.01 {
		t.Errorf("a mean: %+v, %v", mean, err)
	}
	if none, err := Dense(DenseGradient{Kernel: make([]float64, 6), Bias: make([]float64, 2)}); err != nil || none != nil {
		t.Errorf("no gradient: %+v, %v", none, err)
	}
	if _, err := Dense(DenseGradient{Kernel: make([]float64, 5), Bias: make([]float64, 2)}); err == nil {
		t.Error("a kernel of another size was taken")
	}
}

// TestChoicesFollowFromWhatIsSeenAndNotFromNoise.
func TestChoicesFollowFromWhatIsSeenAndNotFromNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	telling, noise := Choices{Seed: 1}, Choices{Seed: 1}
	for range 30 {
		suits, seen, other := make([]float64, 12), make([]float64, 12), make([]float64, 12)
		for k := range suits {
			suits[k] = rng.NormFloat64()
			seen[k] = math.Round(20 + 8*suits[k] + 2*rng.NormFloat64())
			other[k] = math.Round(20 + 5*rng.NormFloat64())
		}
		telling.Seen, telling.Suits = append(telling.Seen, seen), append(telling.Suits, suits)
		noise.Seen, noise.Suits = append(noise.Seen, other), append(noise.Suits, suits)
	}
	r, err := telling.Infer()
	if err != nil || r.Best < 0.6 || r.Guess > 0.2 || r.P > 0.002 || r.Rank < 0.8 || r.RankP > 0.002 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = noise.Infer()
	if err != nil || r.P < 0.01 || r.RankP < 0.01 || r.Rank > 0.2 {
		t.Errorf("noise: %+v, %v", r, err)
	}
	if _, err := (&Choices{Seen: [][]float64{{1, 2}}, Suits: [][]float64{{1, 2}}}).Infer(); err == nil {
		t.Error("one client was taken")
	}
}

// TestDifferencesOfTotalsAreAnUpdateWhereNothingMoves, and noise where all move.
func TestDifferencesOfTotalsAreAnUpdateWhereNothingMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	const clients, numbers = 8, 400
	vectors := func() [][]float64 {
		var all [][]float64
		for range clients {
			all = append(all, drawRow(rng, numbers, 1))
		}
		return all
	}
	still := vectors()
	for _, moves := range []bool{false, true} {
		var pairs []TotalPair
		for k := range clients {
			with, without := still, still
			if moves {
				with, without = vectors(), vectors()
			}
			p := TotalPair{Client: k, Difference: make([]float64, numbers), Total: make([]float64, numbers), Update: with[k],
				Block: numbers}
			for i := range clients {
				for j := range numbers {
					p.Difference[j] += with[i][j]
					p.Total[j] += with[i][j]
					if i != k {
						p.Difference[j] -= without[i][j]
					}
				}
			}
			pairs = append(pairs, p)
		}
		r, err := Differences(pairs, 1)
		if err != nil || r.Still < 0.999 || r.Guess > 0.2 || r.Gains(0.1) == moves || !moves && (r.R2 < 0.999 ||
			r.Exposed != clients) || moves && (r.R2 > 0.2 || r.Exposed > 0) {
			t.Errorf("moves %v: %+v, %v", moves, r, err)
		}
	}
	if c, second, ok := Members([]int{1, 2, 4}, []int{1, 2, 3, 4}); c != 3 || !second || !ok {
		t.Error(c, second, ok)
	}
	if _, _, ok := Members([]int{1, 2, 4}, []int{1, 2, 3}); ok {
		t.Error("two differences are one")
	}
}

// TestMembershipFollowsFromAModelThatHasLearnedItsRowsByHeart, and not from one that knows all alike.
func TestMembershipFollowsFromAModelThatHasLearnedItsRowsByHeart(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	learned := func(scale float64) Learned {
		var l Learned
		for range 150 {
			e := rng.NormFloat64()
			l.Before = append(l.Before, e*e)
			l.After = append(l.After, scale*e*e)
		}
		for range 10 {
			l.Features, l.Errors = append(l.Features, drawRow(rng, 60, 1)), append(l.Errors, rng.NormFloat64())
		}
		return l
	}
	by := Membership{Members: learned(0.02), Others: learned(1)}
	r, err := by.Infer()
	if err != nil || r.Loss.Low < 0.7 || r.Drift.Low > 0.5 || r.Drift.High < 0.5 || r.Control.Value < 0.99 {
		t.Errorf("%+v, %v", r, err)
	}
	by = Membership{Members: learned(1), Others: learned(1)}
	if r, err := by.Infer(); err != nil || r.Loss.Low > 0.5 || r.Loss.High < 0.5 {
		t.Errorf("all alike: %+v, %v", r, err)
	}
}
