package nn

import "math"

// denseForward computes in W + bias for a block of rows.
func (w *Workspace) denseForward(s *stage, in, out []float32, rows int) {
	p := w.net.parameters
	repeat(out, p[s.bias:][:s.Units])
	addProduct(matrix(out, rows, s.Units), matrix(in, rows, s.depth()), matrix(p[s.kernel:], s.depth(), s.Units))
}

// denseBackward adds the derivatives by kernel and bias, and by the input where back is not nil.
func (w *Workspace) denseBackward(s *stage, in, slope, back []float32, rows int, grad []float32) {
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
}

// rectify replaces negative values by zero.
func rectify(values []float32) {
	for i, v := range values {
		values[i] = max(v, 0)
	}
}

// mask clears the slopes where a rectified value is zero. It has no branch, which the processor
// would guess wrong half of the time.
func mask(slope, rectified []float32) {
	rectified = rectified[:len(slope)]
	for i, v := range slope {
		positive := uint32(-int32(math.Float32bits(rectified[i])) >> 31)
		slope[i] = math.Float32frombits(math.Float32bits(v) & positive)
	}
}
