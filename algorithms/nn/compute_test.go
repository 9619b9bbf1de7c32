package nn

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// architectures has every kind of layer, padding, stride and loss.
var architectures = map[string]struct {
	input  []int
	layers []Layer
}{
	"Dense":            {[]int{4}, []Layer{dense(1, Linear)}},
	"DenseReLU":        {[]int{5}, []Layer{dense(7, ReLU), dense(6, Linear), dense(1, ReLU)}},
	"DenseSoftmax":     {[]int{5}, []Layer{dense(7, ReLU), dense(4, Softmax)}},
	"ConvValid":        {[]int{5, 6, 2}, []Layer{conv(3, 3, 1, Valid), flatten, dense(1, Linear)}},
	"ConvSame":         {[]int{5, 4, 2}, []Layer{conv(3, 3, 1, Same), conv(2, 2, 1, Same), flatten, dense(3, Softmax)}},
	"ConvValidStride2": {[]int{7, 6, 1}, []Layer{conv(2, 3, 2, Valid), conv(3, 2, 1, Valid), flatten, dense(1, Linear)}},
	"ConvSameStride2":  {[]int{7, 6, 2}, []Layer{conv(3, 3, 2, Same), conv(2, 2, 2, Same), flatten, dense(3, Softmax)}},
	"ConvSameWide":     {[]int{3, 2, 1}, []Layer{conv(2, 4, 1, Same), flatten, dense(1, Linear)}},
	"ConvDeep":         {[]int{4, 4, 16}, []Layer{conv(2, 3, 1, Same), conv(2, 1, 1, Valid), flatten, dense(1, Linear)}},
	"PoolValid":        {[]int{7, 6, 2}, []Layer{conv(3, 2, 1, Valid), pool(2, 2, Valid), flatten, dense(1, Linear)}},
	"PoolSame":         {[]int{6, 7, 2}, []Layer{conv(3, 2, 1, Valid), pool(2, 2, Same), flatten, dense(3, Softmax)}},
	"PoolOverlapping": {[]int{6, 6, 1}, []Layer{conv(2, 2, 1, Same), pool(3, 2, Same), pool(2, 1, Valid), flatten,
		dense(1, Linear)}},
	"PoolFirst": {[]int{6, 6, 2}, []Layer{pool(2, 2, Valid), conv(2, 2, 1, Valid), flatten, dense(1, Linear)}},
}

func TestEveryLayerComputesWhatTheOracleDoes(t *testing.T) {
	for name, a := range architectures {
		t.Run(name, func(t *testing.T) {
			n := network(t, a.input, a.layers...)
			x, y := sample(n, 3, source(3))
			compareForward(t, n, x, y)
		})
	}
}

func TestEveryLayersGradientIsTheFiniteDifference(t *testing.T) {
	for name, a := range architectures {
		t.Run(name, func(t *testing.T) {
			n := network(t, a.input, a.layers...)
			x, y := sample(n, 3, source(4))
			compareGradient(t, n, x, y)
		})
	}
}

func TestRandomNetworksComputeWhatTheOracleDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNetwork(t)
		x, y := sample(n, rapid.IntRange(1, 4).Draw(t, "rows"), source(rapid.Uint64().Draw(t, "seed")))
		compareForward(t, n, x, y)
		compareGradient(t, n, x, y)
	})
}

// drawNetwork draws a small network.
func drawNetwork(t *rapid.T) *Network {
	padding := rapid.SampledFrom([]Padding{Valid, Same})
	small := rapid.IntRange(1, 3)
	input, layers := []int{rapid.IntRange(1, 6).Draw(t, "input")}, []Layer{}
	if rapid.Bool().Draw(t, "image") {
		input = []int{rapid.IntRange(4, 7).Draw(t, "height"), rapid.IntRange(4, 7).Draw(t, "width"),
			small.Draw(t, "channels")}
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			l := Layer{
				Kind: rapid.SampledFrom([]Kind{Conv2D, MaxPool2D}).Draw(t, "kind"), Padding: padding.Draw(t, "padding"),
				Size:   [2]int{small.Draw(t, "size"), small.Draw(t, "size")},
				Stride: [2]int{small.Draw(t, "stride"), small.Draw(t, "stride")},
			}
			if l.Kind == Conv2D {
				l.Units, l.Activation = small.Draw(t, "filters"), rapid.SampledFrom([]Activation{Linear, ReLU}).Draw(t,
					"activation")
			}
			layers = append(layers, l)
		}
		layers = append(layers, flatten)
	}
	for range rapid.IntRange(0, 2).Draw(t, "hidden") {
		layers = append(layers, dense(rapid.IntRange(1, 5).Draw(t, "units"), ReLU))
	}
	last := rapid.SampledFrom([]Layer{dense(1, Linear), dense(2, Softmax), dense(5, Softmax)}).Draw(t, "last")
	n, err := New(input, append(layers, last), source(rapid.Uint64().Draw(t, "parameters")))
	if err != nil {
		t.Skip(err)
	}
	shiftBiases(n)
	return n
}

func compareForward(t rapid.TB, n *Network, x []float32, y []float64) {
	t.Helper()
	o, w := newOracle(n), n.NewWorkspace()
	got := w.Predict(x, len(y))
	losses := make([]float64, len(y))
	for r := range y {
		row := x[r*n.Inputs():][:n.Inputs()]
		for i, want := range o.predict(row) {
			if g := float64(got[r*n.Outputs()+i]); math.Abs(g-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("row %d, output %d is %v: want %v", r, i, g, want)
			}
		}
	}
	w.Losses(x, y, len(y), losses)
	for r := range y {
		if want := o.loss(x[r*n.Inputs():][:n.Inputs()], y[r]); math.Abs(losses[r]-want) > 2e-5*(1+math.Abs(want)) {
			t.Fatalf("row %d has the loss %v: want %v", r, losses[r], want)
		}
	}
}

func compareGradient(t rapid.TB, n *Network, x []float32, y []float64) {
	t.Helper()
	o, grad := newOracle(n), make([]float32, n.Size())
	loss := n.NewWorkspace().Gradient(x, y, len(y), grad)
	if want := o.mean(x, y); math.Abs(loss-want) > 2e-5*(1+math.Abs(want)) {
		t.Fatalf("the loss is %v: want %v", loss, want)
	}
	for i, want := range o.slopes(x, y) {
		if g := float64(grad[i]); math.Abs(g-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("the derivative by parameter %d is %v: want %v", i, g, want)
		}
	}
}

func TestOfEqualValuesInAWindowTheFirstGetsTheSlope(t *testing.T) {
	n := network(t, []int{2, 2, 1}, conv(1, 1, 1, Valid), pool(2, 2, Valid), flatten, dense(1, Linear))
	copy(n.Parameters(), []float32{1, 0, 1, 0}) // the sum of slopes shows in the kernel's derivative
	grad := make([]float32, 4)
	n.NewWorkspace().Gradient([]float32{3, 3, 3, 3}, []float64{1}, 1, grad)
	if want := []float32{12, 4, 12, 4}; !slices.Equal(grad, want) {
		t.Errorf("the gradient is %v: want %v, one of four equal values counted", grad, want)
	}
	s, back := &n.stages[1], make([]float32, 4)
	poolBackward(s, []float32{1, 3, 3, 2}, []float32{3}, []float32{5}, back, 1)
	if want := []float32{0, 5, 0, 0}; !slices.Equal(back, want) {
		t.Errorf("the slopes are %v: want %v", back, want)
	}
}

func TestResultsDoNotDependOnTheBlockOrTheWorkspacesPast(t *testing.T) {
	n := network(t, []int{6, 6, 2}, conv(3, 3, 1, Same), pool(2, 2, Valid), flatten, dense(4, ReLU), dense(3, Softmax))
	x, y := sample(n, 3*blockRows+5, source(5))
	w := n.NewWorkspace()
	w.Predict(x, 2)
	all := slices.Clone(w.Predict(x, len(y)))
	for r := range y {
		if got := w.Predict(x[r*n.Inputs():][:n.Inputs()], 1); !slices.Equal(got, all[r*3:][:3]) {
			t.Fatalf("row %d alone gives %v: want %v", r, got, all[r*3:][:3])
		}
	}
	first, second := make([]float32, n.Size()), make([]float32, n.Size())
	a, b := w.Gradient(x, y, len(y), first), n.NewWorkspace().Gradient(x, y, len(y), second)
	if a != b || !slices.Equal(first, second) {
		t.Error("a used workspace gives another gradient than a new one")
	}
	if o := newOracle(n).mean(x, y); math.Abs(o-a) > 1e-5 {
		t.Errorf("the mean loss is %v: want %v", a, o)
	}
}

func TestWithoutRowsThereIsNoLossAndNoGradient(t *testing.T) {
	n := network(t, []int{2}, dense(1, Linear))
	w, grad := n.NewWorkspace(), []float32{1, 2, 3}
	if loss := w.Gradient(nil, nil, 0, grad); loss != 0 || !slices.Equal(grad, []float32{0, 0, 0}) {
		t.Errorf("the loss is %v, the gradient %v: want zeros", loss, grad)
	}
	if got := w.Predict(nil, 0); len(got) != 0 {
		t.Errorf("the prediction is %v: want none", got)
	}
}

func TestAStepDownTheGradientLowersTheLoss(t *testing.T) {
	n := network(t, []int{4}, dense(8, ReLU), dense(3, Softmax))
	x, y := sample(n, 30, source(6))
	w, grad := n.NewWorkspace(), make([]float32, n.Size())
	before := w.Gradient(x, y, len(y), grad)
	for range 50 {
		for i := range grad {
			n.Parameters()[i] -= grad[i] / 10
		}
		w.Gradient(x, y, len(y), grad)
	}
	if after := w.Gradient(x, y, len(y), grad); after > 0.8*before {
		t.Errorf("the loss went from %v to %v: want less", before, after)
	}
}

func TestLargeLogitsDoNotOverflow(t *testing.T) {
	n := network(t, []int{1}, dense(2, Softmax))
	copy(n.Parameters(), []float32{1000, -1000, 0, 0})
	w, losses := n.NewWorkspace(), make([]float64, 2)
	w.Losses([]float32{1, 1}, []float64{0, 1}, 2, losses)
	if !slices.Equal(losses, []float64{0, 2000}) {
		t.Errorf("the losses are %v: want [0 2000]", losses)
	}
	if p := w.Predict([]float32{1}, 1); !slices.Equal(p, []float32{1, 0}) {
		t.Errorf("the probabilities are %v: want [1 0]", p)
	}
}

func TestATargetThatIsNoClassIsNamedAndHasNoLoss(t *testing.T) {
	n := network(t, []int{1}, dense(2, Softmax))
	for y, want := range map[float64]string{
		2:           "target 2 is not a class: want a whole number from 0 to 1",
		0.5:         "target 0.5 is not a class: want a whole number from 0 to 1",
		-1:          "target -1 is not a class: want a whole number from 0 to 1",
		math.Inf(1): "target +Inf is not finite",
	} {
		losses := []float64{0}
		n.NewWorkspace().Losses([]float32{1}, []float64{y}, 1, losses)
		if err := n.CheckTarget(y); err == nil || err.Error() != want || !math.IsNaN(losses[0]) {
			t.Errorf("target %v: error %v, loss %v: want %q and NaN", y, err, losses[0], want)
		}
	}
	if err := n.CheckTarget(1); err != nil {
		t.Error(err)
	}
}
