package nn

import (
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// Limits on a network, so that a hostile file cannot ask for memory or time without end. The
// largest network of the paper has 240,000 parameters, 45,000 values and 6 million products.
const (
	MaxParameters = (MaxFileBytes - MaxHeaderBytes) / 4 // what a file holds
	MaxLayers     = 128
	MaxValues     = 1 << 22 // inputs and outputs of all layers, for one row
	MaxProducts   = 1 << 30 // multiplications, for one row
)

// shape is height, width and channels; a flat shape is 1 x 1 x n.
type shape [3]int

// size returns the number of values.
func (s shape) size() int { return s[0] * s[1] * s[2] }

// stage is a layer that computes, with its place in the network.
type stage struct {
	Layer
	in, out shape
	pad     [2]int // rows above, columns to the left
	kernel  int    // first parameter of the kernel
	bias    int    // first parameter of the bias
}

// depth is the length of one column of a convolution, or the inputs of a dense layer: the rows
// of its kernel as a matrix.
func (s *stage) depth() int { return (s.bias - s.kernel) / max(s.Units, 1) }

// positions is the number of windows.
func (s *stage) positions() int { return s.out[0] * s.out[1] }

// plan is a checked architecture.
type plan struct {
	input  []int // as given: [n] or [height, width, channels]
	layers []Layer
	stages []stage
	size   int // parameters
	values int // of all stages for one row, the input included
}

// newPlan checks an architecture and works out every layer's shapes.
func newPlan(input []int, layers []Layer) (*plan, error) {
	if len(input) != 1 && len(input) != 3 {
		return nil, fmt.Errorf("the input's shape %v has %d dimensions: want 1, or 3 for height, width, channels",
			input[:min(len(input), 8)], len(input))
	}
	in := shape{1, 1, 1}
	copy(in[3-len(input):], input)
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("the input: %w", err)
	}
	if len(layers) == 0 || len(layers) > MaxLayers {
		return nil, fmt.Errorf("the network has %d layers after its input: want 1 to %d", len(layers), MaxLayers)
	}
	p := &plan{input: input, layers: layers, values: in.size()}
	b := planner{plan: p, shape: in, flat: len(input) == 1}
	for i, l := range layers {
		if err := b.add(l); err != nil {
			return nil, fmt.Errorf("layer %d (%s): %w", i+1, l.Kind.name(), err)
		}
	}
	return p, b.checkEnd()
}

// check bounds the dimensions and their product.
func (s shape) check() error {
	for _, d := range s {
		if d < 1 || d > MaxValues {
			return fmt.Errorf("a dimension is %d: want 1 to %d", d, MaxValues)
		}
	}
	if s[0] > MaxValues/s[1] || s[0]*s[1] > MaxValues/s[2] {
		return fmt.Errorf("the shape %v has too many values: want at most %d", s, MaxValues)
	}
	return nil
}

// planner follows the shape of one row through the layers.
type planner struct {
	*plan
	shape    shape
	flat     bool
	products int
	ended    bool // a softmax was seen
}

// add appends one layer.
func (b *planner) add(l Layer) error {
	if b.ended {
		return errors.New("it follows a softmax, which must be last")
	}
	if err := l.check(); err != nil {
		return err
	}
	switch {
	case l.Kind == Dense && !b.flat:
		return fmt.Errorf("its input has the shape %v: want a flat one, so a flatten before it", b.shape)
	case l.Kind != Dense && b.flat:
		return fmt.Errorf("its input is flat: want height, width and channels")
	case l.Kind == Flatten:
		b.shape, b.flat = shape{1, 1, b.shape.size()}, true
		return nil
	}
	return b.addStage(l)
}

// addStage appends a layer that computes.
func (b *planner) addStage(l Layer) error {
	s := stage{Layer: l, in: b.shape, kernel: b.size, bias: b.size}
	s.out = s.in
	if s.weighted() {
		s.out[2] = s.Units
	}
	if s.windowed() {
		for d := range 2 {
			if s.Size[d] > MaxValues || s.Padding == Valid && s.Size[d] > s.in[d] || s.Padding == Same && s.Size[d] > 2*s.in[d] {
				// Twice the input is enough, and bounds the products below.
				return fmt.Errorf("its window of %v does not fit an input of %v", s.Size, s.in)
			}
			s.out[d], s.pad[d] = windows(s.in[d], s.Size[d], s.Stride[d], s.Padding)
		}
	}
	if err := s.out.check(); err != nil {
		return err
	}
	each := s.in[2] // products for one output channel at one position
	if l.windowed() {
		each *= l.Size[0] * l.Size[1]
	}
	if l.weighted() {
		if each > MaxParameters/l.Units {
			return fmt.Errorf("its kernel has %d times %d values: want at most %d", each, l.Units, MaxParameters)
		}
		s.bias += each * l.Units
		b.size = s.bias + l.Units
		each *= l.Units
	}
	b.values += s.out.size()
	if b.size > MaxParameters || b.values > MaxValues || each > (MaxProducts-b.products)/s.positions() {
		return fmt.Errorf("the network is too large here: want at most %d parameters, and for one row %d values and %d "+
			"products", MaxParameters, MaxValues, MaxProducts)
	}
	b.products += each * s.positions()
	b.stages, b.shape, b.ended = append(b.stages, s), s.out, l.Activation == Softmax
	return nil
}

// windows returns how many windows fit one dimension, and the padding before the first.
func windows(in, size, stride int, p Padding) (count, before int) {
	if p == Valid {
		return (in-size)/stride + 1, 0
	}
	count = (in-1)/stride + 1
	return count, max((count-1)*stride+size-in, 0) / 2
}

// check looks at the fields of a layer alone.
func (l Layer) check() error {
	switch l.Kind {
	case Dense, Conv2D, MaxPool2D, Flatten:
	default:
		return errors.New("the type is unknown: want dense, conv2d, maxpool2d or flatten")
	}
	if l.weighted() {
		switch a := l.Activation; {
		case a != Linear && a != ReLU && a != Softmax:
			return fmt.Errorf("activation %q is unknown: want linear, relu or softmax", wording.Clip(string(a)))
		case a == Softmax && l.Kind != Dense:
			return errors.New("activation softmax is for a dense layer, the last one")
		case l.Units < 1 || l.Units > MaxValues:
			return fmt.Errorf("it has %d outputs: want 1 to %d", l.Units, MaxValues)
		}
	}
	if l.windowed() {
		if l.Padding != Valid && l.Padding != Same {
			return fmt.Errorf("padding %q is unknown: want valid or same", wording.Clip(string(l.Padding)))
		}
		for d := range 2 {
			if l.Size[d] < 1 || l.Stride[d] < 1 || l.Stride[d] > MaxValues {
				return fmt.Errorf("its window is %v and its stride %v: want 1 or more, and strides up to %d", l.Size, l.Stride,
					MaxValues)
			}
		}
		return nil
	}
	return nil
}

// checkEnd checks that the outputs have a loss.
func (b *planner) checkEnd() error {
	last := b.layers[len(b.layers)-1]
	switch {
	case last.Kind != Dense:
		return fmt.Errorf("the last layer is %s: want dense", last.Kind)
	case last.Activation == Softmax && last.Units < 2:
		return errors.New("the last layer is a softmax of 1 output: want 2 or more")
	case last.Activation != Softmax && last.Units != 1:
		return fmt.Errorf("the last layer has %d outputs and no softmax: want 1 output, or a softmax", last.Units)
	}
	return nil
}
