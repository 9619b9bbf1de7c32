package nn

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func dense(units int, a Activation) Layer { return Layer{Kind: Dense, Units: units, Activation: a} }

func conv(units, size, stride int, p Padding) Layer {
	return Layer{Kind: Conv2D, Units: units, Size: [2]int{size, size}, Stride: [2]int{stride, stride}, Padding: p,
		Activation: ReLU}
}

func pool(size, stride int, p Padding) Layer {
	return Layer{Kind: MaxPool2D, Size: [2]int{size, size}, Stride: [2]int{stride, stride}, Padding: p}
}

var flatten = Layer{Kind: Flatten}

// network makes a network with biases that are not zero.
func network(t testing.TB, input []int, layers ...Layer) *Network {
	t.Helper()
	n, err := New(input, layers, source(1))
	must(t, err)
	shiftBiases(n)
	return n
}

// shiftBiases draws biases, so that no sum is exactly zero where a ReLU has no derivative.
func shiftBiases(n *Network) {
	r := source(2)
	for i := range n.stages {
		if s := &n.stages[i]; s.weighted() {
			for j := range s.Units {
				n.parameters[s.bias+j] = float32(r.NormFloat64()) / 4
			}
		}
	}
}

// sample draws rows and targets that fit n.
func sample(n *Network, rows int, r *rand.Rand) (x []float32, y []float64) {
	x, y = make([]float32, rows*n.Inputs()), make([]float64, rows)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for i := range y {
		if n.Loss() == CrossEntropy {
			y[i] = float64(r.IntN(n.Outputs()))
		} else {
			y[i] = r.NormFloat64()
		}
	}
	return x, y
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
