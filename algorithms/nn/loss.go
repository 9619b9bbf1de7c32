package nn

import (
	"fmt"
	"math"
)

// Loss is what a network's outputs are measured by.
type Loss int

const (
	// SquaredError is (f-y)^2 for the only output f and any finite y.
	SquaredError Loss = iota
	// CrossEntropy is -log of the probability of class y, a whole number from 0.
	CrossEntropy
)

// String returns the loss in words.
func (l Loss) String() string {
	if l == CrossEntropy {
		return "cross-entropy"
	}
	return "squared error"
}

// CheckTarget reports what is wrong with y as a target of the network: a class that does not
// exist, or a number that is not finite.
func (n *Network) CheckTarget(y float64) error {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return fmt.Errorf("target %v is not finite", y)
	}
	if n.Loss() == CrossEntropy && class(y, n.Outputs()) < 0 {
		return fmt.Errorf("target %v is not a class: want a whole number from 0 to %d", y, n.Outputs()-1)
	}
	return nil
}

// class returns y as a class, or -1.
func class(y float64, count int) int {
	if y >= 0 && y < float64(count) && y == math.Floor(y) {
		return int(y)
	}
	return -1
}

// logSumExp returns log(sum exp v), without overflow.
func logSumExp(logits []float32) float64 {
	top, sum := float64(highest(logits)), 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum)
}

// highest returns the largest value, or NaN where there is one.
func highest(values []float32) float32 {
	top := values[0]
	for _, v := range values[1:] {
		top = max(top, v)
	}
	return top
}

// of returns the loss of one row's outputs, logits where they are classes; NaN where y is no
// class.
func (l Loss) of(outputs []float32, y float64) float64 {
	if l == SquaredError {
		d := float64(outputs[0]) - y
		return d * d
	}
	c := class(y, len(outputs))
	if c < 0 {
		return math.NaN()
	}
	return logSumExp(outputs) - float64(outputs[c])
}

// slope replaces outputs by scale times the loss's derivative by them.
func (l Loss) slope(outputs []float32, y, scale float64) {
	if l == SquaredError {
		outputs[0] = float32(2 * scale * (float64(outputs[0]) - y))
		return
	}
	whole := logSumExp(outputs)
	c := class(y, len(outputs))
	for i, v := range outputs {
		p := math.Exp(float64(v) - whole)
		if i == c {
			p--
		}
		outputs[i] = float32(scale * p)
	}
}
