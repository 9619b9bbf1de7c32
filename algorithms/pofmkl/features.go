package pofmkl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// maxInput is the largest magnitude of an input after scaling: angles of larger ones mean nothing.
const maxInput = 1 << 20

// Features computes the random features of one row at a time, without allocating. It is for one
// goroutine.
type Features struct {
	dictionary *Dictionary
	row        []float64 // scaled and padded
	angles     []float64 // [ND]
	z          []float64 // [N][2D]: D sines, D cosines of each kernel
}

// NewFeatures makes room for a row.
func (d *Dictionary) NewFeatures() *Features {
	count := d.params.Kernels() * d.params.Features
	return &Features{dictionary: d, row: make([]float64, d.width), angles: make([]float64, count),
		z: make([]float64, 2*count)}
}

// Set computes the features of x, [columns] in its own units; row is its number, from 1, for errors.
func (f *Features) Set(row int, x []float64) error {
	if err := f.scale(row, x); err != nil {
		return err
	}
	d := f.dictionary
	blas64.Gemv(blas.NoTrans, 1,
		blas64.General{Rows: len(f.angles), Cols: d.width, Stride: d.width, Data: d.frequencies},
		blas64.Vector{N: d.width, Inc: 1, Data: f.row},
		0, blas64.Vector{N: len(f.angles), Inc: 1, Data: f.angles})
	n := d.params.Features
	for i := range d.params.Bandwidths {
		z := f.Kernel(i)
		d.circle.write(z[:n], z[n:], f.angles[i*n:(i+1)*n])
	}
	return nil
}

// scale checks a row and divides it by the job's norm.
func (f *Features) scale(row int, x []float64) error {
	d := f.dictionary
	if len(x) != len(d.columns) {
		return fmt.Errorf("row %d has %d values, want %d, one for each input column", row, len(x), len(d.columns))
	}
	for c, v := range x {
		s := v / d.params.InputNorm
		if !(math.Abs(s) <= maxInput) { // also refuses NaN
			return fmt.Errorf("row %d, column %q: the value is %v, want a finite number of magnitude at most %g", row,
				d.columns[c], v, maxInput*d.params.InputNorm)
		}
		f.row[c] = s
	}
	return nil
}

// Kernel returns z_i, [2D]. It is valid until the next Set.
func (f *Features) Kernel(i int) []float64 {
	n := 2 * f.dictionary.params.Features
	return f.z[i*n : (i+1)*n]
}

// Scores writes theta_i^T z_i for every kernel: dst is [N], theta [N][2D].
func (f *Features) Scores(dst, theta []float64) {
	n := 2 * f.dictionary.params.Features
	for i := range dst {
		dst[i] = blas64.Dot(
			blas64.Vector{N: n, Inc: 1, Data: theta[i*n : (i+1)*n]},
			blas64.Vector{N: n, Inc: 1, Data: f.z[i*n : (i+1)*n]})
	}
}
