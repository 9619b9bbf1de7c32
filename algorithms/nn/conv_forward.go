package nn

import "gonum.org/v1/gonum/blas/blas32"

// The forward convolution goes line by line. A line of the image, [width][in], times one row of
// the kernel, [in][kernel width][out], gives for each pixel what it adds to each of the outputs
// around it; rows of the kernel add to the same products, and then each output takes its share
// from the pixels under it. Nothing is gathered, the vectors are long, and pixels that a ReLU has
// cleared cost next to nothing.

// convForward computes the sums, with bias, for a block of rows.
func (w *Workspace) convForward(s *stage, in, out []float32, rows int) {
	kernel := w.net.parameters[s.kernel:s.bias]
	w.turned = resize(w.turned, len(kernel))
	for a := range s.Size[0] {
		for b := range s.Size[1] {
			for c := range s.in[2] {
				copy(w.turned[((a*s.in[2]+c)*s.Size[1]+b)*s.Units:][:s.Units], kernel)
				kernel = kernel[s.Units:]
			}
		}
	}
	repeat(out, w.net.parameters[s.bias:][:s.Units])
	width := s.out[1] * s.Units
	for row := range rows {
		image := in[row*s.in.size():][:s.in.size()]
		for i := range s.out[0] {
			w.convLine(s, image, out[row*s.out.size()+i*width:][:width], i)
		}
	}
}

// convLine adds to line i of the output.
func (w *Workspace) convLine(s *stage, image, out []float32, i int) {
	shares := matrix(w.line, s.in[1], s.Size[1]*s.Units)
	clear(shares.Data)
	top, pixels, kernel := i*s.Stride[0]-s.pad[0], s.in[1]*s.in[2], s.in[2]*shares.Cols
	for a := max(-top, 0); a < min(s.in[0]-top, s.Size[0]); a++ {
		addProduct(shares, matrix(image[(top+a)*pixels:], s.in[1], s.in[2]),
			matrix(w.turned[a*kernel:], s.in[2], shares.Cols))
	}
	for j := range s.out[1] {
		addShares(s, out[j*s.Units:][:s.Units], shares, j*s.Stride[1]-s.pad[1])
	}
}

// addShares adds to one output what the pixels from left on have for it.
func addShares(s *stage, out []float32, shares blas32.General, left int) {
	for b := max(-left, 0); b < min(s.in[1]-left, s.Size[1]); b++ {
		for u, v := range shares.Data[(left+b)*shares.Cols+b*s.Units:][:len(out)] {
			out[u] += v
		}
	}
}
