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

// How many signs of c are tried, and how many kernels by themselves.
const (
	mostSigns = 3
	mostAlone = 4
)

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
// for each kernel. The length of a pair is c, so that all are as long; its direction is the angle but for whole turns
// and the sign of c, and angles are linear in the row. Kernels with small frequencies come first: their angles wrap
// least. Where pairs are of more than one row they are of different lengths, which the attacker sees.
//
// It returns an error when shapes do not go together, and nil when there is nothing in the pairs.
func Rotations(ctx context.Context, pairs []Pairs) (*Rebuilt, error) {
	if len(pairs) == 0 {
		return nil, fmt.Errorf("rows from updates: there are no pairs")
	}
	for k, p := range pairs {
		if p.Design == nil {
			return nil, fmt.Errorf("rows from updates: pairs %d have no design", k)
		}
		angles, columns := p.Design.Dims()
		if _, first := pairs[0].Design.Dims(); len(p.Sine) != angles || len(p.Cosine) != angles || columns != first {
			return nil, fmt.Errorf("rows from updates: pairs %d are %d sines and %d cosines of %d angles "+
				"of %d columns, want as "+
				"many of each, of %d columns",
				k, len(p.Sine), len(p.Cosine), angles, columns, first)
		}
		if err := finiteDesign(p.Design); err != nil {
			return nil, err
		}
		if i := max(notFinite(p.Sine), notFinite(p.Cosine)); i >= 0 {
			return nil, fmt.Errorf("rows from updates: pair %d of pairs %d is no finite number", i, k)
		}
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
	r := &Rebuilt{Scales: make([]float64, len(pairs))}
	tried := groups(pairs, order)
	if !single { // nothing can be proved: one guess is as good as many
		tried = tried[:1]
	}
	for _, chosen := range tried {
		proved := false
		for signs := 0; signs < 1<<min(len(chosen), mostSigns) && !proved && (single || signs == 0); signs++ {
			x, ok, err := turnsOf(ctx, pairs, chosen, sizes, signs)
			if err != nil {
				return nil, err
			}
			if proved = ok; r.Row == nil || proved {
				r.Row, r.Proved = x, proved && single
			}
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

// groups lists which pairs a row is rebuilt from, one group after the other until one does: the first few that are
// enough, each that is enough by itself, and all, as far as they are of use.
func groups(pairs []Pairs, order []int) [][]int {
	enough := pairs[0].Design.RawMatrix().Cols + margin
	var list [][]int
	first, equations := 0, 0
	for first < len(order) && equations < enough {
		equations += len(pairs[order[first]].Sine)
		first++
	}
	list = append(list, order[:first])
	for i, k := range order[:min(len(order), mostAlone)] {
		if len(pairs[k].Sine) >= enough && (i > 0 || first > 1) {
			list = append(list, []int{k})
		}
	}
	all := first
	for all < len(order) && equations < mostTurnEquations {
		equations += len(pairs[order[all]].Sine)
		all++
	}
	if all > first {
		list = append(list, order[:all])
	}
	return list
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

// turnsOf solves for the row whose angles some pairs are. The sign of c is the one that makes angles small, or where
// a bit of signs is set the other one.
func turnsOf(ctx context.Context, pairs []Pairs, chosen []int, sizes []float64, signs int) (row []float64,
	proved bool, err error) {
	equations := 0
	for _, k := range chosen {
		equations += len(pairs[k].Sine)
	}
	design := mat.NewDense(equations, pairs[0].Design.RawMatrix().Cols, nil)
	values, noise, at := make([]float64, equations), 0.0, 0
	for n, k := range chosen {
		p := &pairs[k]
		sign := 1.0
		if meanOf(p.Cosine) < 0 != (signs>>n&1 == 1) {
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

// One reports whether the pairs may be of one row: all are as long as the others.
func (p *Pairs) One() bool {
	c, even := p.size()
	return c > 0 && even
}
