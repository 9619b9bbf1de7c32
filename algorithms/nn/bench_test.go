package nn

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// BenchmarkDigitStep is a fine-tuning step: the gradients of five networks on 50 images.
func BenchmarkDigitStep(b *testing.B) {
	for kind := 1; kind <= 2; kind++ {
		b.Run(fmt.Sprintf("vgg%d", kind), func(b *testing.B) {
			x, y := digits(b, 50)
			var spaces []*Workspace
			var grads [][]float32
			for i := range 5 {
				n := paperNetwork(b, fmt.Sprintf("mnist/vgg_%d_%d_mnist.safetensors", kind, i))
				spaces, grads = append(spaces, n.NewWorkspace()), append(grads, make([]float32, n.Size()))
			}
			for b.Loop() {
				for i, w := range spaces {
					w.Gradient(x, y, len(y), grads[i])
				}
			}
		})
	}
}

// BenchmarkDigitLosses is one round without fine-tuning: five networks' losses on one image.
func BenchmarkDigitLosses(b *testing.B) {
	for kind := 1; kind <= 2; kind++ {
		b.Run(fmt.Sprintf("vgg%d", kind), func(b *testing.B) {
			x, y := digits(b, 1)
			var spaces []*Workspace
			for i := range 5 {
				spaces = append(spaces, paperNetwork(b, fmt.Sprintf("mnist/vgg_%d_%d_mnist.safetensors", kind, i)).NewWorkspace())
			}
			into := make([]float64, 1)
			for b.Loop() {
				for _, w := range spaces {
					w.Losses(x, y, 1, into)
				}
			}
		})
	}
}

// BenchmarkAirRound is one client's round: five networks' losses on one row and their gradients on
// the last rows.
func BenchmarkAirRound(b *testing.B) {
	for _, rows := range []int{1, 51} {
		b.Run(fmt.Sprintf("window%d", rows), func(b *testing.B) {
			var spaces []*Workspace
			for i := range 5 {
				spaces = append(spaces, paperNetwork(b, fmt.Sprintf("air/ff_air_1%d_d1.safetensors", i+1)).NewWorkspace())
			}
			x, y := sample(spaces[0].net, rows, source(1))
			into, grad := make([]float64, 1), make([]float32, spaces[0].net.Size())
			for b.Loop() {
				for _, w := range spaces {
					w.Losses(x, y, 1, into)
					w.Gradient(x, y, rows, grad)
				}
			}
		})
	}
}

// BenchmarkConv is one convolution of the paper's networks, forward and backward over 50 images,
// beside the three products that it would be on columns that are there already: by gonum alone, and
// in tiles, with the kernel transposed where that is faster.
func BenchmarkConv(b *testing.B) {
	const rows = 50
	for _, input := range [][]int{{26, 26, 32}, {11, 11, 64}} {
		n := network(b, input, conv(input[2], 3, 1, Valid), flatten, dense(1, Linear))
		s, w := &n.stages[0], n.NewWorkspace()
		x, _ := sample(n, rows, source(1))
		slope, back, grad := normal(rows*s.out.size()), make([]float32, len(x)), make([]float32, n.Size())
		b.Run(fmt.Sprint("layer", input), func(b *testing.B) {
			w.grow(rows)
			for b.Loop() {
				w.flip(rows)
				w.convForward(s, x, w.values[1], rows)
				w.convBackward(s, x, slope, back, rows, grad)
			}
		})
		p, d, u := s.positions(), s.depth(), s.Units
		columns, kernel, flipped := matrix(normal(p*d), p, d), matrix(normal(d*u), d, u), matrix(normal(d*u), u, d)
		slopes, sums, backs, out := matrix(slope, p, u), matrix(normal(d*u), u, d), matrix(normal(p*d), p,
			d), matrix(normal(p*u), p, u)
		b.Run(fmt.Sprint("gonum", input), func(b *testing.B) {
			for b.Loop() {
				for range rows {
					blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, columns, kernel, 0, out)
					blas32.Gemm(blas.Trans, blas.NoTrans, 1, slopes, columns, 0, sums)
					blas32.Gemm(blas.NoTrans, blas.Trans, 1, slopes, kernel, 0, backs)
				}
			}
		})
		b.Run(fmt.Sprint("tiles", input), func(b *testing.B) {
			for b.Loop() {
				for range rows {
					addRightProduct(out, columns, flipped)
					addLeftProduct(sums, slopes, columns)
					addProduct(backs, slopes, flipped)
				}
			}
		})
	}
}

// normal draws numbers.
func normal(count int) []float32 {
	out, r := make([]float32, count), source(2)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}
