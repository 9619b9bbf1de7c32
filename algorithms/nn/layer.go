package nn

import (
	"strconv"

	"github.com/hanse-project/hanse/internal/wording"
)

// Kind is a type of layer.
type Kind string

// The kinds of layers.
const (
	Dense     Kind = "dense"
	Conv2D    Kind = "conv2d"
	MaxPool2D Kind = "maxpool2d"
	Flatten   Kind = "flatten"
)

// name returns the kind for an error: one that a file made up is quoted.
func (k Kind) name() string {
	switch k {
	case Dense, Conv2D, MaxPool2D, Flatten:
		return string(k)
	}
	return strconv.Quote(wording.Clip(string(k)))
}

// Activation is the function that a dense or conv2d layer applies to its sums.
type Activation string

// The activations. Softmax is for the last layer alone.
const (
	Linear  Activation = "linear"
	ReLU    Activation = "relu"
	Softmax Activation = "softmax"
)

// Padding says what a window does at the borders.
type Padding string

// The paddings. Valid keeps windows inside; Same gives ceil(in/stride) windows, with the smaller
// half of the padding above and to the left.
const (
	Valid Padding = "valid"
	Same  Padding = "same"
)

// Layer describes one layer. Fields that its kind has no use for are zero.
type Layer struct {
	Kind       Kind
	Units      int        // outputs of a dense layer, channels out of a conv2d
	Size       [2]int     // height and width of a conv2d's kernel or a maxpool2d's window
	Stride     [2]int     // of conv2d and maxpool2d: rows, columns
	Padding    Padding    // of conv2d and maxpool2d
	Activation Activation // of dense and conv2d
}

// windowed reports whether the layer moves a window over an image.
func (l Layer) windowed() bool { return l.Kind == Conv2D || l.Kind == MaxPool2D }

// weighted reports whether the layer has a kernel and a bias.
func (l Layer) weighted() bool { return l.Kind == Dense || l.Kind == Conv2D }
