package nn

import (
	"math"
	"slices"
)

// A block is the rows that go through the network together: enough for the dense layers' products,
// few enough that a block's values fit the second or third cache.
const (
	blockRows   = 64
	blockValues = 1 << 22 // numbers
)

// Workspace holds the buffers that computing with one network needs. It belongs to one goroutine
// at a time. The network's parameters may change between calls.
type Workspace struct {
	net         *Network
	block       int         // rows that the buffers hold
	values      [][]float32 // values[i] is what goes into stage i, [block][in]; the last is the output
	slopes      [2][]float32
	flipped     []float32 // kernels, transposed; see flips
	sums        []float32 // derivatives by the convolutions' kernels, transposed
	turned      []float32 // kernel of one convolution, see turn
	line        []float32 // products of one line of an image, see convLine
	columns     []float32 // columns of a few positions of a convolution
	columnSlope []float32
	predictions []float32
}

// NewWorkspace returns buffers for computing with n.
func (n *Network) NewWorkspace() *Workspace { return &Workspace{net: n} }

// Predict returns the outputs of rows: x is [rows][Inputs], the result [rows][Outputs], with
// probabilities where the network ends in a softmax. The result is valid until the next call.
func (w *Workspace) Predict(x []float32, rows int) []float32 {
	outputs := w.net.Outputs()
	w.predictions = resize(w.predictions, rows*outputs)
	w.eachBlock(x, rows, func(first, count int) {
		copy(w.predictions[first*outputs:], w.output(count))
	})
	if w.net.Loss() == CrossEntropy {
		for row := range slices.Chunk(w.predictions, outputs) {
			top, sum := float64(highest(row)), 0.0
			for _, v := range row {
				sum += math.Exp(float64(v) - top)
			}
			for i, v := range row {
				row[i] = float32(math.Exp(float64(v)-top) / sum)
			}
		}
	}
	return w.predictions
}

// Losses writes each row's loss: x is [rows][Inputs], y and into are [rows]. A target that is no
// class has the loss NaN; see CheckTarget.
func (w *Workspace) Losses(x []float32, y []float64, rows int, into []float64) {
	outputs, loss := w.net.Outputs(), w.net.Loss()
	w.eachBlock(x, rows, func(first, count int) {
		out := w.output(count)
		for r := range count {
			into[first+r] = loss.of(out[r*outputs:][:outputs], y[first+r])
		}
	})
}

// Gradient returns the mean loss of rows and writes its derivative by every parameter to grad,
// [Size], in the order of Parameters: x is [rows][Inputs], y is [rows]. Without rows both are 0.
func (w *Workspace) Gradient(x []float32, y []float64, rows int, grad []float32) (loss float64) {
	clear(grad)
	w.flip(rows)
	w.eachBlock(x, rows, func(first, count int) {
		loss += w.startSlopes(y[first:first+count], 1/float64(rows))
		w.backward(count, grad)
	})
	for i := range w.net.stages {
		if s := &w.net.stages[i]; s.Kind == Conv2D {
			transpose(grad[s.kernel:s.bias], w.sums[s.kernel:s.bias], s.Units, s.depth())
		}
	}
	return loss
}

// flipRows is from how many rows on transposing a dense kernel pays: the product with the
// transposed one skips slopes that are zero.
const flipRows = 8

// flips reports whether the stage's kernel is transposed for backward over rows.
func (w *Workspace) flips(s *stage, rows int) bool {
	return s.Kind == Conv2D || s.Kind == Dense && s != &w.net.stages[0] && rows >= flipRows
}

// flip transposes the kernels that backward over rows wants so, and clears the convolutions' sums.
func (w *Workspace) flip(rows int) {
	w.flipped, w.sums = resize(w.flipped, w.net.size), resize(w.sums, w.net.size)
	for i := range w.net.stages {
		s := &w.net.stages[i]
		if w.flips(s, rows) {
			transpose(w.flipped[s.kernel:s.bias], w.net.parameters[s.kernel:s.bias], s.depth(), s.Units)
		}
		if s.Kind == Conv2D {
			clear(w.sums[s.kernel:s.bias])
		}
	}
}

// eachBlock sends rows through the network, a block at a time, and calls f after each.
func (w *Workspace) eachBlock(x []float32, rows int, f func(first, count int)) {
	w.grow(rows)
	inputs := w.net.Inputs()
	for first := 0; first < rows; first += w.block {
		count := min(w.block, rows-first)
		w.values[0] = x[first*inputs:][:count*inputs]
		w.forward(count)
		f(first, count)
	}
}

// grow makes the buffers large enough for rows, or for one block of them.
func (w *Workspace) grow(rows int) {
	rows = min(rows, blockRows, max(blockValues/w.net.plan.values, 1))
	if rows <= w.block {
		return
	}
	w.block = rows
	w.values = make([][]float32, len(w.net.stages)+1)
	for i := range w.net.stages {
		w.values[i+1] = make([]float32, rows*w.net.stages[i].out.size())
	}
	for i := range w.net.stages {
		s := &w.net.stages[i]
		if s.Kind == Conv2D {
			w.line = resize(w.line, max(len(w.line), s.in[1]*s.Size[1]*s.Units))
			w.columns = resize(w.columns, max(len(w.columns), s.chunk()*s.depth()))
			w.columnSlope = resize(w.columnSlope, len(w.columns))
		}
	}
}

// forward sends the block through every stage.
func (w *Workspace) forward(rows int) {
	for i := range w.net.stages {
		s := &w.net.stages[i]
		in, out := w.values[i], w.values[i+1][:rows*s.out.size()]
		switch s.Kind {
		case Dense:
			// out = in * W + bias, for a block of rows.
			p := w.net.parameters
			repeat(out, p[s.bias:][:s.Units])
			addProduct(matrix(out, rows, s.Units), matrix(in, rows, s.depth()), matrix(p[s.kernel:], s.depth(), s.Units))
		case Conv2D:
			w.convForward(s, in, out, rows)
		case MaxPool2D:
			channels := s.in[2]
			for row := range rows {
				image := in[row*s.in.size():][:s.in.size()]
				for p := range s.positions() {
					top, started := out[(row*s.positions()+p)*channels:][:channels], false
					eachPixel(s, p, func(place int) {
						if values := image[place:][:channels]; started {
							keepLarger(top, values)
						} else {
							copy(top, values)
							started = true
						}
					})
				}
			}
		}
		if s.Activation == ReLU {
			for i, v := range out {
				out[i] = max(v, 0)
			}
		}
	}
}

// output returns the outputs of the last forward, before any softmax.
func (w *Workspace) output(rows int) []float32 {
	return w.values[len(w.values)-1][:rows*w.net.Outputs()]
}

// startSlopes returns scale times the block's loss and leaves its derivative by the outputs.
func (w *Workspace) startSlopes(y []float64, scale float64) (sum float64) {
	outputs, loss := w.net.Outputs(), w.net.Loss()
	out := w.output(len(y))
	w.slopes[0] = resize(w.slopes[0], len(out))
	copy(w.slopes[0], out)
	for r, target := range y {
		row := w.slopes[0][r*outputs:][:outputs]
		sum += scale * loss.of(row, target)
		loss.slope(row, target, scale)
	}
	return sum
}

// backward takes the slopes from the outputs back to the first stage, adding derivatives to grad,
// those by convolutions' kernels to sums.
func (w *Workspace) backward(rows int, grad []float32) {
	for i := len(w.net.stages) - 1; i >= 0; i-- {
		s := &w.net.stages[i]
		in, slope, back := w.values[i], w.slopes[0], []float32(nil)
		if s.Activation == ReLU {
			mask(slope, w.values[i+1])
		}
		if i > 0 {
			w.slopes[1] = resize(w.slopes[1], rows*s.in.size())
			back = w.slopes[1]
			clear(back)
		}
		switch s.Kind {
		case Dense:

			// Adds the derivatives by kernel and bias, and by the input where back is not nil.
			slopes, inputs := matrix(slope, rows, s.Units), matrix(in, rows, s.depth())
			addRows(grad[s.bias:][:s.Units], slopes.Data)
			addLeftProduct(matrix(grad[s.kernel:], s.depth(), s.Units), inputs, slopes)
			switch {
			case back == nil:
			case w.flips(s, rows):
				addProduct(matrix(back, rows, s.depth()), slopes, matrix(w.flipped[s.kernel:], s.Units, s.depth()))
			default:
				addRightProduct(matrix(back, rows, s.depth()), slopes, matrix(w.net.parameters[s.kernel:], s.depth(), s.Units))
			}
		case Conv2D:
			w.convBackward(s, in, slope, back, rows, grad)
		case MaxPool2D:
			poolBackward(s, in, w.values[i+1], slope, back, rows)
		}
		w.slopes[0], w.slopes[1] = w.slopes[1], w.slopes[0]
	}
}

// resize returns a slice of n numbers, the old one where it is large enough.
func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
