package pofmklbaseline

import (
	"math"
	"math/rand/v2"
)

// The paper's network: as many hidden layers of 20 rectified units as keep it below 1,000 numbers,
// which is what a client may send in a round.
const (
	units      = 20
	maxNumbers = 1000
)

// shape is the widths of a network's layers, inputs first, and the one output last.
type shape []int

// shapeFor returns the paper's network for so many inputs; with very many there is no hidden layer.
func shapeFor(inputs int) shape {
	s := shape{inputs, 1}
	for {
		deeper := append(append(shape{}, s[:len(s)-1]...), units, 1)
		if deeper.numbers() >= maxNumbers {
			return s
		}
		s = deeper
	}
}

// numbers counts weights and offsets.
func (s shape) numbers() int {
	n := 0
	for l := 1; l < len(s); l++ {
		n += (s[l-1] + 1) * s[l]
	}
	return n
}

// start draws a network: uniform weights by Glorot and Bengio (2010), offsets 0.
func (s shape) start(source *rand.Rand) []float64 {
	var w []float64
	for l := 1; l < len(s); l++ {
		limit := math.Sqrt(6 / float64(s[l-1]+s[l]))
		for range s[l-1] * s[l] {
			w = append(w, limit*(2*source.Float64()-1))
		}
		w = append(w, make([]float64, s[l])...)
	}
	return w
}

// pass is room for a network's values and their derivatives, layer by layer.
type pass struct {
	shape  shape
	values [][]float64
	slopes [][]float64
}

// newPass makes room.
func newPass(s shape) *pass {
	p := &pass{shape: s}
	for _, n := range s {
		p.values = append(p.values, make([]float64, n))
		p.slopes = append(p.slopes, make([]float64, n))
	}
	return p
}

// forward returns the network's output; w is its numbers, layer by layer: weights [out][in], offsets.
func (p *pass) forward(w, x []float64) float64 {
	copy(p.values[0], x)
	for l := 1; l < len(p.shape); l++ {
		in, out := p.shape[l-1], p.shape[l]
		for j := range out {
			v := w[in*out+j]
			for i, a := range p.values[l-1] {
				v += w[j*in+i] * a
			}
			if l < len(p.shape)-1 {
				v = max(v, 0)
			}
			p.values[l][j] = v
		}
		w = w[(in+1)*out:]
	}
	return p.values[len(p.shape)-1][0]
}

// addGradient adds a times the gradient of (output - y)^2 at the last forward pass to dst.
func (p *pass) addGradient(dst []float64, a float64, w []float64, y float64) {
	last := len(p.shape) - 1
	p.slopes[last][0] = 2 * (p.values[last][0] - y)
	end := len(w)
	for l := last; l > 0; l-- {
		in, out := p.shape[l-1], p.shape[l]
		start := end - (in+1)*out
		p.backward(l, dst[start:end], a, w[start:end])
		end = start
	}
}

// backward does one layer.
func (p *pass) backward(l int, dst []float64, a float64, w []float64) {
	in, out := p.shape[l-1], p.shape[l]
	below := p.slopes[l-1]
	clear(below)
	for j, slope := range p.slopes[l] {
		dst[in*out+j] += a * slope
		for i, v := range p.values[l-1] {
			dst[j*in+i] += a * slope * v
			below[i] += w[j*in+i] * slope
		}
	}
	for i, v := range p.values[l-1] {
		if v <= 0 {
			below[i] = 0
		}
	}
}
