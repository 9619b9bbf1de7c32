package pofmkl

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawParams draws a small job.
func drawParams(t *rapid.T) Params {
	n := rapid.IntRange(1, 9).Draw(t, "kernels")
	p := Params{
		Seed: "drawn", Features: rapid.IntRange(1, 6).Draw(t, "features"), Chosen: rapid.IntRange(1, n).Draw(t, "chosen"),
		Explore: rapid.Float64Range(0.01, 1).Draw(t, "explore"), Rounds: 30,
		Step: rapid.Float64Range(0.01, 1).Draw(t, "step"), WeightStep: rapid.Float64Range(0.01, 50).Draw(t, "weight step"),
		Clip: rapid.Float64Range(0.1, 4).Draw(t, "clip"), RoundsPerUpload: rapid.IntRange(1, 4).Draw(t, "rounds per upload"),
		Lambda: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "lambda"),
	}
	for i := range n {
		p.Bandwidths = append(p.Bandwidths, math.Pow(4, float64(i-n/2)))
	}
	return p.WithDefaults()
}

// TestUpdatesOfAnyJobAreInBoundsAndOfOneBinARound checks what leaves a client.
func TestUpdatesOfAnyJobAreInBoundsAndOfOneBinARound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		d, err := NewDictionary(p, columnNames(3))
		mustDo(t, err)
		c, server := NewClient(d, "c", [32]byte{1}), NewServer(d)
		s := newStream(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), 24, 3)
		for r := range s.rows {
			before := slices.Clone(c.Shares())
			prediction, err := c.Round(server.Theta(), s.rows[r], s.labels[r])
			mustDo(t, err)
			if low, high := slices.Min(c.scores), slices.Max(c.scores); prediction < low-1e-12 || prediction > high+1e-12 {
				t.Fatalf("the prediction %v is not between those of the kernels, %v and %v (weights %v)", prediction, low, high,
					before)
			}
			if !c.Due() {
				continue
			}
			touched := c.Touched(nil)
			sum := make([]float64, p.Words())
			mustDo(t, c.Upload(sum))
			checkUpdate(t, p, touched, sum)
			mustDo(t, server.Apply(0, sum, 1))
		}
	})
}

// checkUpdate checks an upload's size and how many kernels it touches.
func checkUpdate(t *rapid.T, p Params, touched []int, sum []float64) {
	for i := range p.Kernels() {
		if slices.ContainsFunc(part(sum, i, p.Features), func(v float64) bool { return v != 0 }) &&
			!slices.Contains(touched, i) {
			t.Fatalf("kernel %d moves and is not among those touched, %v", i, touched)
		}
	}
	if len(touched) > p.Chosen*p.RoundsPerUpload {
		t.Fatalf("an upload of %d rounds touches %d kernels, want at most %d each", p.RoundsPerUpload, len(touched), p.Chosen)
	}
	for i, v := range sum {
		if math.Abs(v) > p.SumBound() {
			t.Fatalf("element %d is %v, beyond the bound %v", i+1, v, p.SumBound())
		}
	}
}

// TestSumBoundIsReached needs no more than the bound: one feature, one kernel, a label far away.
func TestSumBoundIsReached(t *testing.T) {
	p := Params{Seed: "bound", Bandwidths: []float64{1e12}, Features: 1, Step: 0.5, Clip: 2,
		RoundsPerUpload: 3}.WithDefaults()
	d := newDictionary(t, p, 1)
	c, sum := NewClient(d, "c", [32]byte{}), make([]float64, 2)
	theta := []float64{0, 2} // predicts about 2; the gradient for the label 0 has norm 4
	for range 3 {
		_, err := c.Round(theta, []float64{0}, 0)
		mustDo(t, err)
	}
	mustDo(t, c.Upload(sum))
	near(t, "element", sum[1], p.SumBound(), 1e-8)
	near(t, "bound", p.SumBound(), 3*0.5*2, 1e-8)
}

// TestBinsAreDrawnWithTheirProbabilities counts draws over a grid of points, and the sums of 1/p.
func TestBinsAreDrawnWithTheirProbabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "kernels")
		m, explore := rapid.IntRange(1, n).Draw(t, "chosen"), rapid.Float64Range(0.01, 1).Draw(t, "explore")
		w := newWeights(n)
		for i := range w.log {
			w.log[i] = rapid.Float64Range(-1000, 1000).Draw(t, "log weight")
		}
		w.refresh()
		const points = 20000
		counts, want := make([]int, n), make([]float64, n)
		for k := range points {
			bin, q := w.draw((float64(k)+0.5)/points, m, explore)
			for _, i := range bin {
				counts[i]++
				want[i] = q
			}
		}
		for i, c := range counts {
			if math.Abs(float64(c)/points-want[i]) > 2.0/points {
				t.Fatalf("kernel %d is drawn %d times in %d, want %v", i+1, c, points, want[i])
			}
		}
	})
}

// TestSortedOrderIsThatOfTheLibrary compares the insertion sort with slices.SortStableFunc.
func TestSortedOrderIsThatOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWeights(rapid.IntRange(1, 20).Draw(t, "kernels"))
		for range 5 {
			for i := range w.log {
				w.log[i] -= float64(rapid.IntRange(0, 3).Draw(t, "loss")) // ties are common
			}
			w.refresh()
			want := make([]int, len(w.log))
			for i := range want {
				want[i] = i
			}
			slices.SortStableFunc(want, func(a, b int) int {
				if w.log[a] > w.log[b] {
					return -1
				}
				if w.log[a] < w.log[b] {
					return 1
				}
				return 0
			})
			if !slices.Equal(w.order, want) {
				t.Fatalf("order %v, want %v", w.order, want)
			}
		}
	})
}

// TestWeightsSurviveManyRounds has losses whose exponentials leave float64's range.
func TestWeightsSurviveManyRounds(t *testing.T) {
	w := newWeights(3)
	for range 100000 {
		w.learn([]float64{1, 1.5, 1}, 1)
	}
	if w.share[0] != 0.5 || w.share[1] != 0 || w.share[2] != 0.5 || !slices.Equal(w.order, []int{0, 2, 1}) {
		t.Errorf("shares %v, order %v", w.share, w.order)
	}
}

// TestLabelDoesNotChangeItsPrediction predicts the same row before two labels.
func TestLabelDoesNotChangeItsPrediction(t *testing.T) {
	d := newDictionary(t, small(), 2)
	theta := make([]float64, d.params.Words())
	for i := range theta {
		theta[i] = float64(i%7) / 7
	}
	var predictions []float64
	for _, y := range []float64{0, 1} {
		c := NewClient(d, "c", [32]byte{3})
		v, err := c.Round(theta, []float64{0.1, 0.2}, y)
		mustDo(t, err)
		predictions = append(predictions, v)
	}
	if predictions[0] != predictions[1] {
		t.Errorf("predictions are %v", predictions)
	}
}

// TestAnUploadIsAwaited refuses to learn on when an update is due, and forgets what was uploaded.
func TestAnUploadIsAwaited(t *testing.T) {
	d := newDictionary(t, small(), 2)
	c, theta, sum := NewClient(d, "c", [32]byte{}), make([]float64, 30), make([]float64, 30)
	_, err := c.Round(theta, []float64{0, 0}, 1)
	mustDo(t, err)
	_, err = c.Round(theta, []float64{0, 0}, 1)
	wantError(t, err, "row 2: the update of 1 rounds awaits its upload")
	wantError(t, c.Upload(sum[1:]), "the sum has 29 words, want 30")
	mustDo(t, c.Upload(sum))
	again := make([]float64, 30)
	mustDo(t, c.Upload(again))
	if slices.Equal(sum, again) || slices.Max(again) != 0 || slices.Min(again) != 0 {
		t.Errorf("a second upload is %v", again)
	}
}

// TestARoundAllocatesNothing counts allocations of rounds with uploads.
func TestARoundAllocatesNothing(t *testing.T) {
	d := newDictionary(t, small(), 2)
	c, server, sum, x := NewClient(d, "c", [32]byte{}), NewServer(d), make([]float64, 30), []float64{0.1, 0.2}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.Round(server.Theta(), x, 0.5); err != nil {
			t.Fatal(err)
		}
		mustDo(t, c.Upload(sum))
	}); n != 0 {
		t.Errorf("a round makes %v allocations", n)
	}
}

// TestDivergedThetaIsNamed has finite scores whose losses are not.
func TestDivergedThetaIsNamed(t *testing.T) {
	d := newDictionary(t, small(), 2)
	theta := make([]float64, 30)
	for i := range theta {
		theta[i] = 1e200
	}
	_, err := NewClient(d, "c", [32]byte{}).Round(theta, []float64{0, 0}, 1)
	wantError(t, err, "row 1: the loss of kernel 1 is +Inf: theta has diverged, want a smaller step")
}
