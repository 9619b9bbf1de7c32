package nn

import "math"

// oracle is a network in float64 and straight loops over (row, column, channel).
type oracle struct {
	input  []int
	layers []Layer
	p      []float64
}

func newOracle(n *Network) *oracle {
	o := &oracle{input: n.input, layers: n.layers}
	for _, v := range n.parameters {
		o.p = append(o.p, float64(v))
	}
	return o
}

// image is values at [row][column][channel].
type image [][][]float64

func newImage(h, w, c int) image {
	m := make(image, h)
	for i := range m {
		m[i] = make([][]float64, w)
		for j := range m[i] {
			m[i][j] = make([]float64, c)
		}
	}
	return m
}

func (m image) at(i, j, c int, beyond float64) float64 {
	if i < 0 || j < 0 || i >= len(m) || j >= len(m[0]) {
		return beyond
	}
	return m[i][j][c]
}

// logits runs one row through all layers, the softmax left out.
func (o *oracle) logits(x []float32) []float64 {
	h, w, c := 1, 1, o.input[len(o.input)-1]
	if len(o.input) == 3 {
		h, w = o.input[0], o.input[1]
	}
	m := newImage(h, w, c)
	for k, v := range x {
		m[k/c/w][k/c%w][k%c] = float64(v)
	}
	p := o.p
	for _, l := range o.layers {
		switch l.Kind {
		case Dense:
			m, p = denseOracle(m, l, p)
		case Conv2D:
			m, p = convOracle(m, l, p)
		case MaxPool2D:
			m = poolOracle(m, l)
		case Flatten:
			m = flattenOracle(m)
		}
	}
	return m[0][0]
}

func flattenOracle(m image) image {
	flat := newImage(1, 1, 0)
	for _, row := range m {
		for _, pixel := range row {
			flat[0][0] = append(flat[0][0], pixel...)
		}
	}
	return flat
}

func activate(v float64, a Activation) float64 {
	if a == ReLU && v < 0 {
		return 0
	}
	return v
}

func denseOracle(m image, l Layer, p []float64) (image, []float64) {
	in, out := len(m[0][0]), newImage(1, 1, l.Units)
	for u := range l.Units {
		sum := p[in*l.Units+u]
		for i := range in {
			sum += m[0][0][i] * p[i*l.Units+u]
		}
		out[0][0][u] = activate(sum, l.Activation)
	}
	return out, p[(in+1)*l.Units:]
}

// placed returns the number of windows along a dimension and the first one's start.
func placed(in, size, stride int, padding Padding) (count, start int) {
	if padding == Same {
		count = int(math.Ceil(float64(in) / float64(stride)))
		total := (count-1)*stride + size - in
		if total > 0 {
			start = -(total / 2)
		}
		return count, start
	}
	for count*stride+size <= in {
		count++
	}
	return count, 0
}

func convOracle(m image, l Layer, p []float64) (image, []float64) {
	in := len(m[0][0])
	h, top := placed(len(m), l.Size[0], l.Stride[0], l.Padding)
	w, left := placed(len(m[0]), l.Size[1], l.Stride[1], l.Padding)
	out, weights := newImage(h, w, l.Units), l.Size[0]*l.Size[1]*in*l.Units
	for i := range h {
		for j := range w {
			for u := range l.Units {
				sum := p[weights+u]
				for a := range l.Size[0] {
					for b := range l.Size[1] {
						for c := range in {
							sum += m.at(top+i*l.Stride[0]+a, left+j*l.Stride[1]+b, c, 0) * p[((a*l.Size[1]+b)*in+c)*l.Units+u]
						}
					}
				}
				out[i][j][u] = activate(sum, l.Activation)
			}
		}
	}
	return out, p[weights+l.Units:]
}

func poolOracle(m image, l Layer) image {
	h, top := placed(len(m), l.Size[0], l.Stride[0], l.Padding)
	w, left := placed(len(m[0]), l.Size[1], l.Stride[1], l.Padding)
	out := newImage(h, w, len(m[0][0]))
	for i := range h {
		for j := range w {
			for c := range out[i][j] {
				best := math.Inf(-1)
				for a := range l.Size[0] {
					for b := range l.Size[1] {
						best = math.Max(best, m.at(top+i*l.Stride[0]+a, left+j*l.Stride[1]+b, c, math.Inf(-1)))
					}
				}
				out[i][j][c] = best
			}
		}
	}
	return out
}

func softmaxOracle(logits []float64) []float64 {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(v)
	}
	out := make([]float64, len(logits))
	for i, v := range logits {
		out[i] = math.Exp(v) / sum
	}
	return out
}

// predict returns one row's outputs.
func (o *oracle) predict(x []float32) []float64 {
	if o.layers[len(o.layers)-1].Activation == Softmax {
		return softmaxOracle(o.logits(x))
	}
	return o.logits(x)
}

// loss returns one row's loss.
func (o *oracle) loss(x []float32, y float64) float64 {
	out := o.predict(x)
	if o.layers[len(o.layers)-1].Activation == Softmax {
		return -math.Log(out[int(y)])
	}
	return (out[0] - y) * (out[0] - y)
}

// mean returns the mean loss of rows.
func (o *oracle) mean(x []float32, y []float64) float64 {
	sum, inputs := 0.0, len(x)/len(y)
	for r, target := range y {
		sum += o.loss(x[r*inputs:][:inputs], target)
	}
	return sum / float64(len(y))
}

// slopes returns the central difference of the mean loss by every parameter.
func (o *oracle) slopes(x []float32, y []float64) []float64 {
	const step = 1e-6
	out := make([]float64, len(o.p))
	for i, v := range o.p {
		o.p[i] = v + step
		up := o.mean(x, y)
		o.p[i] = v - step
		out[i] = (up - o.mean(x, y)) / (2 * step)
		o.p[i] = v
	}
	return out
}
