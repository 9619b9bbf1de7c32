package kernel

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/internal/raced"
)

// passRows is the number of rows whose gradient terms are added in one go.
const passRows = 4

// passColumns is the number of features that one job of a gradient takes: their sums stay in
// the first cache.
const passColumns = 512

// scoreRows is the number of rows that one job of Scores takes.
const scoreRows = 256

// Dot returns sum_i alpha_i phi(turns_i). Both have the same length. The order of summation is
// fixed, so that the result depends on the arguments alone.
//
//go:norace
func (t *Table) Dot(turns []uint16, alpha []float64) float64 {
	raced.Read(turns)
	raced.Read(alpha)
	var a, b, c, d float64
	for len(turns) >= 4 && len(alpha) >= 4 {
		a += mul(float64(t.cos[turns[0]]), alpha[0])
		b += mul(float64(t.cos[turns[1]]), alpha[1])
		c += mul(float64(t.cos[turns[2]]), alpha[2])
		d += mul(float64(t.cos[turns[3]]), alpha[3])
		turns, alpha = turns[4:], alpha[4:]
	}
	for i, w := range turns {
		a += mul(float64(t.cos[w]), alpha[i])
	}
	return (a + b) + (c + d)
}

// DotPairs returns the sum over angles i of alpha_2i sqrt(2) cos and alpha_2i+1 sqrt(2) sin: alpha is twice as long as
// turns. The order of summation is fixed.
//
//go:norace
func (t *Table) DotPairs(turns []uint16, alpha []float64) float64 {
	raced.Read(turns)
	raced.Read(alpha)
	var a, b, c, d float64
	for len(turns) >= 2 && len(alpha) >= 4 {
		a += mul(float64(t.cos[turns[0]]), alpha[0])
		b += mul(float64(t.cos[turns[0]-sine]), alpha[1])
		c += mul(float64(t.cos[turns[1]]), alpha[2])
		d += mul(float64(t.cos[turns[1]-sine]), alpha[3])
		turns, alpha = turns[2:], alpha[4:]
	}
	if len(turns) > 0 {
		a += mul(float64(t.cos[turns[0]]), alpha[0])
		b += mul(float64(t.cos[turns[0]-sine]), alpha[1])
	}
	return (a + b) + (c + d)
}

// AddScaled adds c phi(turns_i) to each dst_i. Both have the same length.
//
//go:norace
func (t *Table) AddScaled(dst []float64, c float64, turns []uint16) {
	raced.Write(dst)
	raced.Read(turns)
	for len(turns) >= 4 && len(dst) >= 4 {
		dst[0] += mul(c, float64(t.cos[turns[0]]))
		dst[1] += mul(c, float64(t.cos[turns[1]]))
		dst[2] += mul(c, float64(t.cos[turns[2]]))
		dst[3] += mul(c, float64(t.cos[turns[3]]))
		turns, dst = turns[4:], dst[4:]
	}
	for i, w := range turns {
		dst[i] += mul(c, float64(t.cos[w]))
	}
}

// Scores writes Phi alpha: for every row the Dot of its angles, row-major [len(dst)][len(alpha)].
// The result does not depend on workers.
func (t *Table) Scores(dst []float64, turns []uint16, alpha []float64, workers int) error {
	if err := checkPass(turns, len(dst), len(alpha)); err != nil {
		return err
	}
	d := len(alpha)
	parallel.All(workers, (len(dst)+scoreRows-1)/scoreRows, func(b int) {
		for r := b * scoreRows; r < min((b+1)*scoreRows, len(dst)); r++ {
			dst[r] = t.Dot(turns[r*d:(r+1)*d], alpha)
		}
	})
	return nil
}

// AddGradient adds Phi^T c to dst: for every row c_r times its features; turns is row-major
// [len(c)][len(dst)]. Rows are added in a fixed order: the result does not depend on workers.
func (t *Table) AddGradient(dst, c []float64, turns []uint16, workers int) error {
	if err := checkPass(turns, len(c), len(dst)); err != nil {
		return err
	}
	parallel.All(workers, (len(dst)+passColumns-1)/passColumns, func(b int) {
		lo := b * passColumns
		hi := min((b+1)*passColumns, len(dst))
		d, r := len(dst), 0
		for ; r+passRows <= len(c); r += passRows {
			base := turns[r*d:]
			t.addFour(dst[lo:hi], (*[passRows]float64)(c[r:]), base[lo:hi], base[d+lo:d+hi], base[2*d+lo:2*d+hi],
				base[3*d+lo:3*d+hi])
		}
		for ; r < len(c); r++ {
			t.AddScaled(dst[lo:hi], c[r], turns[r*d+lo:r*d+hi])
		}
	})
	return nil
}

// addFour adds four rows' terms to dst.
//
//go:norace
func (t *Table) addFour(dst []float64, c *[passRows]float64, w0, w1, w2, w3 []uint16) {
	raced.Write(dst)
	raced.Read(c[:])
	for _, w := range [...][]uint16{w0, w1, w2, w3} {
		raced.Read(w[:len(dst):len(w)])
	}
	n := len(dst)
	w0, w1, w2, w3 = w0[:n:len(w0)], w1[:n:len(w1)], w2[:n:len(w2)], w3[:n:len(w3)]
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	for i := range dst {
		a := mul(c0, float64(t.cos[w0[i]])) + mul(c1, float64(t.cos[w1[i]]))
		b := mul(c2, float64(t.cos[w2[i]])) + mul(c3, float64(t.cos[w3[i]]))
		dst[i] += a + b
	}
}

// checkPass refuses angles that do not fill rows by features.
func checkPass(turns []uint16, rows, features int) error {
	if len(turns) != rows*features {
		return fmt.Errorf("there are %d angles for %d rows of %d features", len(turns), rows, features)
	}
	return nil
}
