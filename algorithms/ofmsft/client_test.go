package ofmsft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// newSmallClient starts a client with the networks of its job.
func newSmallClient(t testing.TB, edit func(*Params)) (*Client, []*Runner) {
	t.Helper()
	p, networks := small(t, 5, 0, 1, edit)
	packings, err := p.Packings("")
	mustDo(t, err)
	return NewClient(p, "1", packings, [32]byte{1}), NewRunners(networks)
}

// of picks the networks of a selection.
func of(s *Selection, runners []*Runner) []*Runner {
	var stored []*Runner
	for _, k := range s.Stored {
		stored = append(stored, runners[k])
	}
	return stored
}

// TestStepsOutOfTurnAreRefused asks a client for everything at the wrong time.
func TestStepsOutOfTurnAreRefused(t *testing.T) {
	c, runners := newSmallClient(t, nil)
	x := []float64{0.1, 0.2, 0.3}
	_, err := c.Predict(nil, x)
	wantError(t, err, "row 1: a row came before a draw")
	if c.Selection() != nil {
		t.Error("there is a selection before a draw")
	}
	s := c.Draw()
	stored := of(s, runners)
	wantError(t, c.Learn(1), "row 1: a label came before its prediction")
	step := make([]float64, runners[s.Model].network.Size())
	_, err = c.Step(s.Model, runners[s.Model], 1, step)
	wantError(t, err, "round 0: a step was asked for before any row of this draw was learned")
	_, err = c.Predict(stored[1:], x)
	wantError(t, err, "row 1: there are")
	_, err = c.Predict(stored, x)
	mustDo(t, err)
	mustDo(t, c.Learn(1))
	wantError(t, c.Learn(1), "row 2: a label came before its prediction")
	_, err = c.Predict(stored, x)
	wantError(t, err, "row 2: the 1 rows of this draw have been learned, want a new draw")
	_, err = c.Step(s.Model, runners[s.Model], 0, step)
	wantError(t, err, "the server has 0 groups, want 1 to 65536")
	_, err = c.Step(s.Model, runners[s.Model], 1, step[1:])
	wantError(t, err, "numbers, want")
	for k := range 5 {
		if !slices.Contains(s.Stored, k) {
			_, err = c.Step(k, runners[k], 1, step)
			wantError(t, err, "is not among those stored")
		}
	}
}

// TestBadRowsAreRefusedByName has rows, labels and networks that are not the job's.
func TestBadRowsAreRefusedByName(t *testing.T) {
	c, runners := newSmallClient(t, nil)
	s := c.Draw()
	stored := of(s, runners)
	_, err := c.Predict(stored, []float64{1, 2})
	wantError(t, err, "row 1 has 2 values, want 3, one for each input of the networks")
	for _, v := range []float64{math.NaN(), math.Inf(1), 1e39} {
		_, err = c.Predict(stored, []float64{1, v, 2})
		wantError(t, err, "row 1: value 2 is ")
	}
	_, err = c.Predict(stored, []float64{0, 0, 0})
	mustDo(t, err)
	for _, y := range []float64{math.NaN(), -0.1, 1.1} {
		wantError(t, c.Learn(y), `row 1, label column "y": the label is`)
	}
	if c.Rounds() != 0 || c.Loss() != 0 {
		t.Error("a refused label was learned")
	}
	mustDo(t, c.Learn(0.5))
	_, other := smallNetworks(t, 3, 4)
	c.Draw()
	wrong := NewRunners(other)
	for len(wrong) < len(c.Selection().Stored) {
		wrong = append(wrong, wrong[0])
	}
	_, err = c.Predict(wrong[:len(c.Selection().Stored)], []float64{0, 0, 0})
	wantError(t, err, "row 2: the network of model")
}

// TestClassesAreWholeNumbers checks labels of networks that tell three classes apart.
func TestClassesAreWholeNumbers(t *testing.T) {
	p, _ := small(t, 4, 3, 1, nil)
	for _, y := range []float64{-1, 0.5, 3, math.NaN(), math.Inf(1)} {
		_, err := p.ScaleLabel(7, y)
		wantError(t, err, `row 7, label column "y": the label is`)
		wantError(t, err, "want a class from 0 to 2")
	}
	y, err := p.ScaleLabel(1, 2)
	mustDo(t, err)
	if y != 2 || p.Prediction([]float32{0.2, 0.4, 0.4}) != 1 {
		t.Errorf("label %v, prediction %v", y, p.Prediction([]float32{0.2, 0.4, 0.4}))
	}
}

// TestDivergedNetworksAreNamed has parameters that are no numbers.
func TestDivergedNetworksAreNamed(t *testing.T) {
	c, runners := newSmallClient(t, nil)
	for _, r := range runners {
		for i := range r.network.Parameters() {
			r.network.Parameters()[i] = float32(math.NaN())
		}
	}
	_, err := c.Predict(of(c.Draw(), runners), []float64{1, 1, 1})
	mustDo(t, err)
	wantError(t, c.Learn(0), "is NaN: it has diverged, want a smaller step")
}

// TestClippedElementsAreCounted compares a clipped step with a whole one.
func TestClippedElementsAreCounted(t *testing.T) {
	steps := map[float64][]float64{}
	counts := map[float64]int{}
	for _, clip := range []float64{1e3, 0.01} {
		c, runners := newSmallClient(t, func(p *Params) { p.Clip = clip })
		s := c.Draw()
		_, err := c.Predict(of(s, runners), []float64{0.5, -0.5, 1})
		mustDo(t, err)
		mustDo(t, c.Learn(1))
		steps[clip] = make([]float64, runners[s.Model].network.Size())
		counts[clip], err = c.Step(s.Model, runners[s.Model], 3, steps[clip])
		mustDo(t, err)
	}
	want := 0
	for i, v := range steps[1e3] {
		if math.Abs(v) > 0.01 {
			want++
		}
		if steps[0.01][i] != max(-0.01, min(v, 0.01)) {
			t.Errorf("element %d is %v, want %v cut to 0.01", i+1, steps[0.01][i], v)
		}
	}
	if counts[1e3] != 0 || counts[0.01] != want || want == 0 {
		t.Errorf("%v elements were cut, want %d", counts, want)
	}
}

// TestLabelDoesNotChangeItsPrediction predicts the same row before two labels.
func TestLabelDoesNotChangeItsPrediction(t *testing.T) {
	var predictions []float64
	for _, y := range []float64{0, 1} {
		c, runners := newSmallClient(t, nil)
		v, err := c.Predict(of(c.Draw(), runners), []float64{0.1, 0.2, 0.3})
		mustDo(t, err)
		mustDo(t, c.Learn(y))
		predictions = append(predictions, v)
	}
	if predictions[0] != predictions[1] {
		t.Errorf("predictions are %v", predictions)
	}
}

// TestWindowKeepsTheNewestRows pushes more rows than it holds.
func TestWindowKeepsTheNewestRows(t *testing.T) {
	w := NewWindow(2, 3)
	for i := range 5 {
		w.Push([]float32{float32(i), float32(10 * i)}, float64(i))
	}
	x, y := w.Before(1, 2)
	if !slices.Equal(x, []float32{2, 20, 3, 30}) || !slices.Equal(y, []float64{2, 3}) || w.Rows() != 3 {
		t.Errorf("rows %v, labels %v of %d", x, y, w.Rows())
	}
	x, y = w.Before(2, 9)
	if !slices.Equal(x, []float32{2, 20}) || !slices.Equal(y, []float64{2}) {
		t.Errorf("rows %v, labels %v", x, y)
	}
}

// TestWeightsSurviveManyRounds has losses whose exponentials leave float64's range.
func TestWeightsSurviveManyRounds(t *testing.T) {
	w := NewWeights(3)
	for range 100000 {
		w.Lower(0, 1)
		w.Lower(1, 1.5)
		w.Lower(2, 1)
		w.Refresh()
	}
	if !slices.Equal(w.Shares(), []float64{0.5, 0, 0.5}) || w.Draw(0.5) != 2 || w.Draw(0.4999) != 0 {
		t.Errorf("shares %v", w.Shares())
	}
}

// TestAClientLearnsWhichNetworkIsBest has one network that is always right.
func TestAClientLearnsWhichNetworkIsBest(t *testing.T) {
	c, runners := newSmallClient(t, func(p *Params) { p.Rate, p.Rounds, p.LabelLow, p.LabelHigh = 1, 400, -9, 9 })
	rng := rand.New(rand.NewPCG(4, 4))
	for range 400 {
		rows, _ := drawRows(rng, 1, 0)
		var x []float32
		for _, v := range rows[0] {
			x = append(x, float32(v))
		}
		y := -9 + 18*float64(runners[3].Outputs(x)[0])
		_, err := c.Predict(of(c.Draw(), runners), rows[0])
		mustDo(t, err)
		mustDo(t, c.Learn(max(-9, min(y, 9))))
	}
	if c.Shares()[3] < 0.9 {
		t.Errorf("shares are %v, want most on model 4", c.Shares())
	}
}
