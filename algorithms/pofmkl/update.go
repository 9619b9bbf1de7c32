package pofmkl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// descend adds eta grad / p of kernel i to the update, where the gradient is slope z_i + 2 lambda
// theta_i, scaled down to the norm clip if it is longer.
func (c *Client) descend(i int, slope, probability float64) {
	p := &c.dictionary.params
	update, z := part(c.update, i, p.Features), c.features.Kernel(i)
	c.touched[i] = true
	step := p.Step / probability
	if p.Lambda == 0 { // |z_i| is 1
		addScaled(update, step*max(-p.Clip, min(slope, p.Clip)), z)
		return
	}
	theta := part(c.theta, i, p.Features)
	b := 2 * p.Lambda
	sum := 0.0
	for j, v := range z {
		g := slope*v + b*theta[j]
		sum += g * g
	}
	norm := math.Sqrt(sum)
	step *= min(1, p.Clip/norm)
	addScaled(update, step*slope, z)
	addScaled(update, step*2*p.Lambda, theta)
}

// squaredNorm returns |v|^2.
func squaredNorm(v []float64) float64 {
	x := blas64.Vector{N: len(v), Inc: 1, Data: v}
	return blas64.Dot(x, x)
}

// addScaled adds a v to dst.
func addScaled(dst []float64, a float64, v []float64) {
	blas64.Axpy(a, blas64.Vector{N: len(v), Inc: 1, Data: v}, blas64.Vector{N: len(dst), Inc: 1, Data: dst})
}

// Due reports whether rounds_per_upload rounds have been learned since the last upload.
func (c *Client) Due() bool { return c.waiting == c.dictionary.params.RoundsPerUpload }

// Touched appends the kernels, from 0, that the next upload moves to dst, in ascending order. In a masked sum
// nobody learns which they are, unless they are the common bin.
func (c *Client) Touched(dst []int) []int {
	for i, t := range c.touched {
		if t {
			dst = append(dst, i)
		}
	}
	return dst
}

// Upload adds to sum, [2ND] or the common bin's kernels alone, [kernels][2D], what this client tells
// the server of the rounds since its last upload, and forgets it. theta must have stayed the same over
// these rounds; there may be fewer than rounds_per_upload at a stream's end. No element's magnitude
// exceeds Params.SumBound.
func (c *Client) Upload(sum []float64) error {
	p := &c.dictionary.params
	if want := p.uploadWords(len(c.moved)); len(sum) != want {
		return fmt.Errorf("the sum has %d words, want %d", len(sum), want)
	}
	for at, i := range c.moved {
		if c.touched[i] {
			update := part(c.update, i, p.Features)
			addScaled(part(sum, at, p.Features), 1, update)
			clear(update)
			c.touched[i] = false
		}
	}
	c.waiting = 0
	return nil
}
