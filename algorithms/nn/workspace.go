package nn

import "slices"

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
			softmax(row)
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
		w.growColumns(&w.net.stages[i])
	}
}

// forward sends the block through every stage.
func (w *Workspace) forward(rows int) {
	for i := range w.net.stages {
		s := &w.net.stages[i]
		in, out := w.values[i], w.values[i+1][:rows*s.out.size()]
		switch s.Kind {
		case Dense:
			w.denseForward(s, in, out, rows)
		case Conv2D:
			w.convForward(s, in, out, rows)
		case MaxPool2D:
			poolForward(s, in, out, rows)
		}
		if s.Activation == ReLU {
			rectify(out)
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
			w.denseBackward(s, in, slope, back, rows, grad)
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
