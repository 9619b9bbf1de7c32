// Package nn is small feed-forward networks: dense layers, two-dimensional convolutions,
// max-pooling, and the losses that model selection and fine-tuning need of them.
//
// A Network is a list of layers and one flat slice of parameters, layer after layer, kernel and
// then bias. Parse reads it from a safetensors file whose metadata names the layers, and Bytes
// writes it again. Tensors are channels-last; a dense kernel is [in, out], a convolution's
// [height, width, in, out].
//
// A Workspace holds the buffers of one goroutine:
//
//	Predict    outputs of rows
//	Losses     one loss per row
//	Gradient   the mean loss of rows and its derivative by every parameter
//
// Rows are taken a block at a time, so a workspace stays small whatever it is given. A convolution
// is a matrix product over columns that are gathered a few positions at a time. Products go to
// gonum in tiles small enough that it starts no goroutines of its own, and results depend only on
// the network and the rows, though they may differ in the last bits between processor
// architectures.
package nn
