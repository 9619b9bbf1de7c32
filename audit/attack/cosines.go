package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// How hard Cosines looks for a row.
const (
	cosineStarts = 24   // places to start from
	cosineSteps  = 40   // of each
	closeFit     = 1e-6 // of the vector's length: what a proved row leaves
	nearFit      = 0.9  // what is left of a vector's length where a start is going nowhere
)

// Waves is a multiple of the cosines of the angles of one row: Value[i] = c cos(2 pi (a_i + Phase[i])), where a_i is
// the product of row i of Design and the row, in turns. What is unknown is the row and c, of either sign.
type Waves struct {
	Design *mat.Dense // angles by columns, in turns a unit of the column; known to the attacker
	Phase  []float64  // in turns; known to the attacker
	Value  []float64
	Noise  float64 // rounding of an element
	Spread float64 // how large the row's columns are, about
	Seed   uint64
}

// Cosines rebuilds the row that a vector of cosines is of, by Gauss-Newton steps on row and c from places drawn at
// random; the first place is the row of zeros. A row that explains the vector to its rounding proves itself when
// there are more elements than unknowns. It returns an error when shapes do not go together, and nil for a vector of
// zeros.
func Cosines(ctx context.Context, w Waves) (*Rebuilt, error) {
	if w.Design == nil {
		return nil, fmt.Errorf("rows from updates: there is no design")
	}
	if err := finiteDesign(w.Design); err != nil {
		return nil, err
	}
	if n, _ := w.Design.Dims(); len(w.Value) != n || len(w.Phase) != n {
		return nil, fmt.Errorf("rows from updates: %d values and %d phases of %d angles, want one each", len(w.Value),
			len(w.Phase), n)
	}
	if i := max(notFinite(w.Value), notFinite(w.Phase)); i >= 0 {
		return nil, fmt.Errorf("rows from updates: value %d or its phase is no finite number", i)
	}
	length := mat.Norm(mat.NewVecDense(len(w.Value), w.Value), 2)
	if length <= 2*w.Noise*math.Sqrt(float64(len(w.Value))) {
		return nil, nil
	}
	s := newWaveSolver(&w)
	rng := newRand(w.Seed, streamStarts)
	var best *Rebuilt
	least := math.Inf(1)
	for start := range cosineStarts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := make([]float64, s.columns)
		for i := range row {
			if start > 0 {
				row[i] = w.Spread * rng.NormFloat64()
			}
		}
		c, left := s.descend(row)
		if left < least {
			least, best = left, &Rebuilt{Row: row, Scales: []float64{c}}
		}
		if limit := max(closeFit*length, 4*w.Noise*math.Sqrt(float64(len(w.Value)))); least <= limit {
			best.Proved = len(w.Value) >= s.columns+1+margin
			break
		}
	}
	return best, nil
}

// waveSolver has the room for the steps.
type waveSolver struct {
	*Waves
	columns  int
	cosines  []float64
	jacobian *mat.Dense // values by columns, and c
	residual *mat.VecDense
}

func newWaveSolver(w *Waves) *waveSolver {
	n, columns := w.Design.Dims()
	return &waveSolver{Waves: w, columns: columns, cosines: make([]float64, n), jacobian: mat.NewDense(n, columns+1,
		nil), residual: mat.NewVecDense(n, nil)}
}

// descend goes on from a row, which it changes, and returns c and the length of what is left of the vector.
func (s *waveSolver) descend(row []float64) (c, left float64) {
	c, left = s.fit(row)
	damping := 1e-3
	trial := make([]float64, len(row))
	for step := range cosineSteps {
		if left == 0 || step == cosineSteps/2 && left > nearFit*mat.Norm(mat.NewVecDense(len(s.Value), s.Value), 2) {
			return c, left
		}
		// Fills in residual and jacobian at a row.
		var angles mat.VecDense
		angles.MulVec(s.Design, mat.NewVecDense(len(row), slices.Clone(row)))
		for i, v := range s.Value {
			sin, cos := math.Sincos(2 * math.Pi * (angles.AtVec(i) + s.Phase[i]))
			s.residual.SetVec(i, v-c*cos)
			to := s.jacobian.RawRowView(i)
			for k, a := range s.Design.RawRowView(i) {
				to[k] = -c * 2 * math.Pi * a * sin
			}
			to[s.columns] = cos
		}
		var normal mat.SymDense
		normal.SymOuterK(1, s.jacobian.T())
		var right mat.VecDense
		right.MulVec(s.jacobian.T(), s.residual)
		better := false
		for range 8 {
			damped := mat.NewSymDense(s.columns+1, nil)
			damped.CopySym(&normal)
			for i := range s.columns + 1 {
				damped.SetSym(i, i, normal.At(i, i)*(1+damping)+1e-300)
			}
			var chol mat.Cholesky
			var by mat.VecDense
			if !chol.Factorize(damped) || chol.SolveVecTo(&by, &right) != nil {
				damping *= 10
				continue
			}
			for i := range trial {
				trial[i] = row[i] + by.AtVec(i)
			}
			if now, rest := s.fit(trial); rest < left {
				better = left-rest > 1e-12*left
				copy(row, trial)
				c, left = now, rest
				damping = max(damping/10, 1e-12)
				break
			}
			damping *= 10
		}
		if !better {
			break
		}
	}
	return c, left
}

// fit returns the c that goes best with a row, and the length of what is left.
func (s *waveSolver) fit(row []float64) (c, left float64) {
	var angles mat.VecDense
	angles.MulVec(s.Design, mat.NewVecDense(len(row), slices.Clone(row)))
	both, own := 0.0, 0.0
	for i, v := range s.Value {
		s.cosines[i] = math.Cos(2 * math.Pi * (angles.AtVec(i) + s.Phase[i]))
		both += v * s.cosines[i]
		own += s.cosines[i] * s.cosines[i]
	}
	if own > 0 {
		c = both / own
	}
	for i, v := range s.Value {
		d := v - c*s.cosines[i]
		left += d * d
	}
	return c, math.Sqrt(left)
}
