package attack

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// The message passing that unwraps values takes at most maxPasses passes, keeps a share inertia of
// the last pass, and ends for a row when what is open is less than certain, in squared turns, or
// when it has not fallen below a share stuck of itself in the last review passes.
const (
	maxPasses = 120
	inertia   = 0.4
	certain   = 1e-5
	review    = 10
	stuck     = 0.98
)

// unwrapper finds the whole turns of many rows at once by expectation propagation: the values of a
// row are the columns' part of the circle, normal with the singular values of a basis, seen modulo
// one turn. Two beliefs about the unwrapped values are passed to and fro, each normal with one
// variance a row: what the turns allow, and what the linear system allows.
type unwrapper struct {
	basis  *basis
	y      *mat.Dense // rows by equations, wrapped
	mean   *mat.Dense // what the linear system says, before the turns are heard
	heard  *mat.Dense // what the turns say beyond that
	fit    *mat.Dense // what both say
	state  []belief   // of each row
	result *mat.Dense // the fits of all rows, those that are done and left out too
	sure   []bool     // of all rows: it ended in certainty, right or wrong
}

// belief is the state of one row.
type belief struct {
	row   int     // of the result
	scale float64 // variance of an unknown before anything is heard
	prior float64 // precision of mean
	heard float64 // precision of heard
	next  float64 // precision of mean, once this pass is over
	open  float64 // variance that is left once the turns are heard
	was   float64 // the same at the last review
	done  bool
}

// unwrap returns what is believed of y plus whole turns, and for which rows it is certain; spread is
// the variance of the unwrapped values of each row.
func (b *basis) unwrap(y *mat.Dense, spread []float64) (*mat.Dense, []bool) {
	u := newUnwrapper(b, y, spread)
	for pass := 1; pass <= maxPasses && len(u.state) > 0; pass++ {
		u.listen()
		// Puts what was heard through the linear system; mean is what it says beyond that.
		var t mat.Dense
		t.Mul(u.heard, u.basis.u)
		for j := range u.state {
			u.weigh(&u.state[j], t.RawRowView(j))
		}
		u.fit = new(mat.Dense)
		u.fit.Mul(&t, u.basis.u.T())
		for j := range u.state {
			if s := &u.state[j]; !s.done {
				s.expect(u.mean.RawRowView(j), u.fit.RawRowView(j), u.heard.RawRowView(j))
			}
		}
		if pass%review == 0 || pass == maxPasses {
			u.release(pass == maxPasses)
		}
	}
	return u.result, u.sure
}

// newUnwrapper sets up the beliefs before anything is heard.
func newUnwrapper(b *basis, y *mat.Dense, spread []float64) *unwrapper {
	rows, equations := y.Dims()
	energy := 0.0
	for _, s := range b.s {
		energy += s * s
	}
	blank := func() *mat.Dense { return mat.NewDense(rows, equations, nil) }
	u := &unwrapper{basis: b, y: y, mean: blank(), heard: blank(), fit: blank(), result: blank(), sure: make([]bool, rows)}
	for j, v := range spread {
		u.state = append(u.state, belief{row: j, scale: v * float64(equations) / energy, prior: 1 / v, was: math.Inf(1)})
	}
	return u
}

// release writes the results of the rows that are done or stuck, or all, and goes on with the others.
func (u *unwrapper) release(all bool) {
	var keep []int
	var state []belief
	for j, s := range u.state {
		if all || s.done || s.open > stuck*s.was {
			copy(u.result.RawRowView(s.row), u.fit.RawRowView(j))
			u.sure[s.row] = s.done
			continue
		}
		s.was = s.open
		keep, state = append(keep, j), append(state, s)
	}
	if u.state = state; len(keep) > 0 {
		u.y, u.mean, u.heard = rowsOf(u.y, keep), rowsOf(u.mean, keep), rowsOf(u.heard, keep)
	}
}

// listen hears the turns: heard is what they say beyond the prior.
func (u *unwrapper) listen() {
	for j := range u.state {
		s := &u.state[j]
		if s.done {
			continue
		}
		y, mean, heard := u.y.RawRowView(j), u.mean.RawRowView(j), u.heard.RawRowView(j)
		variance, total := 1/s.prior, 0.0
		for i, value := range y {
			m, v := unfold(value, mean[i], variance)
			heard[i] = m
			total += v
		}
		s.open = max(total/float64(len(y)), 1e-12)
		s.done = s.open < certain
		s.heard = max(1/s.open-s.prior, 1e-3*s.prior)
		for i, m := range heard {
			heard[i] = m + (m-mean[i])*s.prior/s.heard
		}
	}
}

// weigh shrinks the coordinates of one row by how far each was heard, and sets the precision of
// what the system says beyond what was heard.
func (u *unwrapper) weigh(b *belief, coordinates []float64) {
	total := 0.0
	for k, s := range u.basis.s {
		gain := b.heard * b.scale * s * s
		gain /= 1 + gain
		coordinates[k] *= gain
		total += gain
	}
	share := total / float64(u.y.RawMatrix().Cols)
	b.next = b.heard * max(1/share-1, 1e-3)
}

// expect takes the mean of one row from the fit, less what was heard.
func (b *belief) expect(mean, fit, heard []float64) {
	for i, f := range fit {
		m := f + (f-heard[i])*b.heard/b.next
		mean[i] = inertia*mean[i] + (1-inertia)*m
	}
	b.prior = math.Pow(b.prior, inertia) * math.Pow(b.next, 1-inertia)
}

// maxRewraps is how often least squares and unwrapping take turns.
const maxRewraps = 20

// settle solves by least squares, unwraps the values by the solution, and again, until no value
// moves by a turn. It changes z, rows by equations, and reports per row whether what remains
// unexplained is at the level of noise.
func (b *basis) settle(z *mat.Dense, wrapped bool, limit float64) []bool {
	rows, _ := z.Dims()
	solved := make([]bool, rows)
	for range maxRewraps {
		f := b.fit(z)
		moved := false
		for j := range rows {
			if !solved[j] && wrapped && move(z.RawRowView(j), f.RawRowView(j)) {
				moved = true
				continue
			}
			solved[j] = distance(z.RawRowView(j), f.RawRowView(j)) <= limit
		}
		if !moved {
			break
		}
	}
	return solved
}

// move adds whole turns to each value, so that it is within half a turn of its fit. It reports
// whether any value changed.
func move(z, fit []float64) bool {
	moved := false
	for i, f := range fit {
		if k := math.RoundToEven(f - z[i]); k != 0 {
			z[i] += k
			moved = true
		}
	}
	return moved
}

// distance is the root mean square of differences.
func distance(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += (x - b[i]) * (x - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// near returns y plus the whole turns that bring it next to a fit.
func near(y, fit *mat.Dense) *mat.Dense {
	z := mat.DenseCopyOf(y)
	rows, _ := z.Dims()
	for j := range rows {
		move(z.RawRowView(j), fit.RawRowView(j))
	}
	return z
}
