package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// mostTurnEquations is how many equations a row is rebuilt from: more prove nothing more.
const mostTurnEquations = 256

// unevenness is how far, relative to its size, the length of one pair of sine and cosine may be from that of the
// others where all are of one row.
const unevenness = 1e-5

// Pairs is a multiple of the sines and cosines of the angles of one row: Sine[i] = c sin(2 pi a_i) and
// Cosine[i] = c cos(2 pi a_i), where a_i is the product of row i of Design and the row, in turns. What is
// unknown is the row and c, of either sign.
type Pairs struct {
	Design       *mat.Dense // angles by columns, in turns a unit of the column; known to the attacker
	Sine, Cosine []float64  // one for each angle
	Noise        float64    // rounding of an element
}

// Rebuilt is a row that an attack has worked out of a vector.
type Rebuilt struct {
	Row    []float64 // the unknown columns, in the units of the design
	Scales []float64 // c of each of the pairs, or of the one vector
	Proved bool      // the vector is what it would be of this row, beyond chance; else Row is the best guess
}

// Rotations rebuilds the row that some pairs are of. A gradient of a model on random features is such a vector, once
// for each kernel. The length of a pair is c, so that all are as long; its direction is the angle but for whole turns and
// the sign of c, and angles are linear in the row. Kernels with small frequencies come first: their angles wrap
// least. Where pairs are of more than one row they are of different lengths, which the attacker sees.
//
// It returns an error when shapes do not go together, and nil when there is nothing in the pairs.
func Rotations(ctx context.Context, pairs []Pairs) (*Rebuilt, error) {
	if err := checkPairs(pairs); err != nil {
		return nil, err
	}
	order, single := make([]int, len(pairs)), true
	sizes := make([]float64, len(pairs))
	for k := range pairs {
		order[k] = k
		even := false
		sizes[k], even = pairs[k].size()
		single = single && even
	}
	order = slices.DeleteFunc(order, func(k int) bool { return sizes[k] == 0 })
	if len(order) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return -compareDown(mat.Norm(pairs[a].Design, 2)/math.Sqrt(float64(len(pairs[a].Sine))),
			mat.Norm(pairs[b].Design, 2)/math.Sqrt(float64(len(pairs[b].Sine))))
	})
	unknowns := pairs[0].Design.RawMatrix().Cols
	used, equations := 0, 0
	for used < len(order) && equations < min(4*(unknowns+margin), mostTurnEquations) {
		equations += len(pairs[order[used]].Sine)
		used++
	}
	r := &Rebuilt{Scales: make([]float64, len(pairs))}
	for flipped := range 2 { // the sign of the first is a guess, which those of the others follow
		x, proved, err := turnsOf(ctx, pairs, order[:used], sizes, flipped == 1)
		if err != nil {
			return nil, err
		}
		if r.Row == nil || proved {
			r.Row, r.Proved = x, proved && single
		}
		if proved {
			break
		}
	}
	for k := range pairs {
		r.Scales[k] = pairs[k].scale(r.Row)
	}
	return r, nil
}

// checkPairs checks shapes.
func checkPairs(pairs []Pairs) error {
	if len(pairs) == 0 {
		return fmt.Errorf("rows from updates: there are no pairs")
	}
	for k, p := range pairs {
		if p.Design == nil {
			return fmt.Errorf("rows from updates: pairs %d have no design", k)
		}
		angles, columns := p.Design.Dims()
		if _, first := pairs[0].Design.Dims(); len(p.Sine) != angles || len(p.Cosine) != angles || columns != first {
			return fmt.Errorf("rows from updates: pairs %d are %d sines and %d cosines of %d angles of %d columns, want as many of each, of %d columns",
				k, len(p.Sine), len(p.Cosine), angles, columns, first)
		}
		if err := finiteDesign(p.Design); err != nil {
			return err
		}
		if i := max(notFinite(p.Sine), notFinite(p.Cosine)); i >= 0 {
			return fmt.Errorf("rows from updates: pair %d of pairs %d is no finite number", i, k)
		}
	}
	return nil
}

// size returns the magnitude of c, and whether all pairs are as long as those of one row are.
func (p *Pairs) size() (c float64, even bool) {
	shortest, longest := math.Inf(1), 0.0
	for i := range p.Sine {
		length := math.Hypot(p.Sine[i], p.Cosine[i])
		c += length / float64(len(p.Sine))
		shortest, longest = min(shortest, length), max(longest, length)
	}
	return c, longest-shortest <= unevenness*c+4*p.Noise
}

// scale returns c of pairs once the row is known.
func (p *Pairs) scale(row []float64) float64 {
	var angles mat.VecDense
	angles.MulVec(p.Design, mat.NewVecDense(len(row), slices.Clone(row)))
	c := 0.0
	for i := range p.Sine {
		sin, cos := math.Sincos(2 * math.Pi * angles.AtVec(i))
		c += (p.Sine[i]*sin + p.Cosine[i]*cos) / float64(len(p.Sine))
	}
	return c
}

// turnsOf solves for the row whose angles some pairs are, with the sign of c that makes angles small, or the other one.
func turnsOf(ctx context.Context, pairs []Pairs, chosen []int, sizes []float64, flipped bool) (row []float64, proved bool, err error) {
	equations := 0
	for _, k := range chosen {
		equations += len(pairs[k].Sine)
	}
	design := mat.NewDense(equations, pairs[0].Design.RawMatrix().Cols, nil)
	values, noise, at := make([]float64, equations), 0.0, 0
	for _, k := range chosen {
		p := &pairs[k]
		sign := 1.0
		if meanOf(p.Cosine) < 0 != flipped {
			sign = -1
		}
		for i := range p.Sine {
			copy(design.RawRowView(at), p.Design.RawRowView(i))
			values[at] = math.Atan2(sign*p.Sine[i], sign*p.Cosine[i]) / (2 * math.Pi)
			at++
		}
		noise = max(noise, min(p.Noise/sizes[k], maxNoise))
	}
	s := System{Design: design, Rows: 2, Wrapped: true, Noise: noise, Row: func(j int, dst []float64) {
		clear(dst)
		if j == 1 {
			copy(dst, values)
		}
	}}
	v, err := newView(ctx, s, Options{Workers: 1, MaxEquations: mostTurnEquations})
	if err != nil {
		return nil, false, err
	}
	c, err := newChase(v, nil) // from the row of zeros, whose angles are 0
	if err != nil {
		return nil, false, err
	}
	if err := c.run(ctx); err != nil {
		return nil, false, err
	}
	row = make([]float64, design.RawMatrix().Cols)
	for i := range row {
		row[i] = c.found.At(1, i) - c.found.At(0, i)
	}
	return row, c.redundant() && c.solved[0] && c.solved[1], nil
}
