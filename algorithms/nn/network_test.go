package nn

import (
	"math"
	"slices"
	"testing"
)

func TestANewNetworkHasKernelsOfHeAndNoBiases(t *testing.T) {
	n, err := New([]int{200}, []Layer{dense(300, ReLU), dense(10, Softmax)}, source(8))
	must(t, err)
	var squares float64
	for _, v := range n.Parameters()[:200*300] {
		squares += float64(v) * float64(v)
	}
	if variance := squares / (200 * 300); math.Abs(variance-0.01) > 3e-4 {
		t.Errorf("the variance is %v: want 2/200", variance)
	}
	if biases := n.Parameters()[200*300 : 201*300]; slices.Max(biases) != 0 || slices.Min(biases) != 0 {
		t.Error("biases are not zero")
	}
	if n.Inputs() != 200 || n.Outputs() != 10 || n.Size() != 201*300+301*10 || n.Loss() != CrossEntropy {
		t.Errorf("it has %d inputs, %d outputs, %d parameters and %v", n.Inputs(), n.Outputs(), n.Size(), n.Loss())
	}
}

func TestACloneHasParametersOfItsOwn(t *testing.T) {
	n := tiny(t)
	c := n.Clone()
	if !c.SameShape(n) || c.Hash() != n.Hash() {
		t.Fatal("the clone is another network")
	}
	c.Parameters()[0]++
	if n.Parameters()[0] == c.Parameters()[0] || c.Hash() == n.Hash() {
		t.Error("a change of the clone changes the network, or not the clone's hash")
	}
}

func TestShapesDifferByAnyField(t *testing.T) {
	n := tiny(t)
	for _, o := range []*Network{
		network(t, []int{4, 4, 2}, n.layers...),
		network(t, []int{4, 4, 1}, conv(2, 3, 1, Same), pool(2, 2, Same), flatten, dense(2, Softmax)),
		network(t, []int{4, 4, 1}, conv(2, 3, 1, Same), pool(2, 2, Valid), flatten, dense(3, Softmax)),
	} {
		if n.SameShape(o) {
			t.Errorf("%v has the same shape as %v", o.layers, n.layers)
		}
	}
}

func TestAWorkspaceSeesParametersThatChange(t *testing.T) {
	n := network(t, []int{1}, dense(1, Linear))
	w := n.NewWorkspace()
	for _, slope := range []float32{2, 3} {
		copy(n.Parameters(), []float32{slope, 1})
		if got := w.Predict([]float32{10}, 1)[0]; got != 10*slope+1 {
			t.Errorf("the prediction is %v: want %v", got, 10*slope+1)
		}
	}
}
