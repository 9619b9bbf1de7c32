package attack

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// The defaults of Options and the limits of a System.
const (
	DefaultRows      = 4096
	DefaultEquations = 2048
	maxUnknowns      = 1 << 14
	maxEquations     = 1 << 20
	maxNoise         = 1.0 / 64
)

// margin is how many equations beyond the rank a row must satisfy before the attacker believes it.
const margin = 8

// System is a view of linear equations in unknown columns: Values of row j are
// sum over c of Design[i, c] x_j[c] + s_i for each equation i, where the shift s_i is the same in all rows.
type System struct {
	// equations by unknown columns, in turns a unit of the column; known to the attacker
	Design  *mat.Dense
	Rows    int                           // rows of the view
	Row     func(j int, values []float64) // writes the values of row j, one an equation, in turns
	Wrapped bool                          // values are known modulo 1 only
	Noise   float64                       // rounding of a value, in turns; 0 for exact real numbers
}

// Options says how hard to attack and against what to score.
type Options struct {
	MaxRows int // rows attacked, drawn from all; 0 means DefaultRows
	// equations used, those with the smallest coefficients; 0 means DefaultEquations
	MaxEquations int
	Workers      int                        // goroutines; 0 means GOMAXPROCS. gonum's products use GOMAXPROCS besides
	Seed         uint64                     // of every random choice
	Truth        func(j int, x []float64)   // writes the real unknown columns of row j; nil when the auditor has none
	Progress     func(solved, attacked int) // called after each round of the attack; nil for none
}

// finiteDesign refuses a coefficient that is no number.
func finiteDesign(a *mat.Dense) error {
	equations, _ := a.Dims()
	for i := range equations {
		for c, v := range a.RawRowView(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("difference attack: coefficient of equation %d and column %d is %v, want a finite number",
					i, c, v)
			}
		}
	}
	return nil
}

// view is the part of a system that is attacked.
type view struct {
	design  *mat.Dense // equations by unknowns
	values  *mat.Dense // rows by equations
	rows    []int      // of the system, ascending
	wrapped bool
	limit   float64 // root mean square of the residuals of a row that is solved
	workers int
}

// newView draws rows, chooses equations and reads the values.
func newView(ctx context.Context, s System, o Options) (*view, error) {
	equations := smallest(s.Design, orDefault(o.MaxEquations, DefaultEquations))
	v := &view{
		design:  rowsOf(s.Design, equations),
		rows:    drawn(s.Rows, orDefault(o.MaxRows, DefaultRows), o.Seed),
		wrapped: s.Wrapped,
		limit:   4*s.Noise + 1e-9,
		workers: orDefault(o.Workers, runtime.GOMAXPROCS(0)),
	}
	v.values = mat.NewDense(len(v.rows), len(equations), nil)
	all, _ := s.Design.Dims()
	row := make([]float64, all)
	for k, j := range v.rows {
		if k%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.Row(j, row)
		// Stores the values of one row.
		dst := v.values.RawRowView(k)
		for e, i := range equations {
			if math.IsNaN(row[i]) || math.IsInf(row[i], 0) {
				return nil, fmt.Errorf("difference attack: value of row %d and equation %d is %v, want a finite number",
					v.rows[k], i, row[i])
			}
			dst[e] = row[i]
			if v.wrapped {
				dst[e] = wrap(row[i])
			}
		}
	}
	return v, nil
}

// wrap returns the number in [-1/2, 1/2] that differs from x by whole turns.
func wrap(x float64) float64 { return x - math.RoundToEven(x) }

// orDefault returns n, or d when n is not positive.
func orDefault(n, d int) int {
	if n > 0 {
		return n
	}
	return d
}

// drawn returns n of total numbers, ascending.
func drawn(total, n int, seed uint64) []int {
	if total <= n {
		all := make([]int, total)
		for i := range all {
			all[i] = i
		}
		return all
	}
	chosen := newRand(seed, streamRows).Perm(total)[:n]
	slices.Sort(chosen)
	return chosen
}

// smallest returns the n equations with the smallest coefficients, ascending: they wrap least.
func smallest(a *mat.Dense, n int) []int {
	equations, _ := a.Dims()
	order := make([]int, equations)
	norms := make([]float64, equations)
	for i := range order {
		order[i], norms[i] = i, mat.Norm(a.RowView(i), 2)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(norms[i], norms[j]) })
	order = order[:min(n, equations)]
	slices.Sort(order)
	return order
}

// rowsOf copies some rows of a matrix.
func rowsOf(a *mat.Dense, rows []int) *mat.Dense {
	_, n := a.Dims()
	out := mat.NewDense(len(rows), n, nil)
	for k, i := range rows {
		copy(out.RawRowView(k), a.RawRowView(i))
	}
	return out
}

// columnsOf copies some columns of a matrix, or returns it when they are all.
func columnsOf(a *mat.Dense, list []int) *mat.Dense {
	rows, n := a.Dims()
	if len(list) == n {
		return a
	}
	out := mat.NewDense(rows, len(list), nil)
	for j := range rows {
		dst, src := out.RawRowView(j), a.RawRowView(j)
		for k, i := range list {
			dst[k] = src[i]
		}
	}
	return out
}

// The streams of random numbers, so that no two choices share one.
const (
	streamRows = iota + 1
	streamShuffle
	streamPlot
	streamPairs
	streamKnown
	streamFeatures
	streamPermutation
	streamStarts
	streamGuess
)

// newRand returns the generator of one kind of choice.
func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// rankLimit is the smallest singular value, relative to the largest, that counts.
const rankLimit = 1e-10

// basis is a thin singular value decomposition: design = u diag(s) v'.
type basis struct {
	u *mat.Dense // equations by rank
	s []float64  // descending
	v *mat.Dense // unknowns by rank
}

// newBasis decomposes a design and leaves out what has no rank.
func newBasis(a *mat.Dense) (*basis, error) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return nil, fmt.Errorf("difference attack: the singular values of the design were not found")
	}
	s := svd.Values(nil)
	rank := 0
	for rank < len(s) && s[rank] > rankLimit*s[0] {
		rank++
	}
	if rank == 0 {
		return nil, fmt.Errorf("difference attack: all coefficients are 0")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	return &basis{u: columns(&u, rank), s: s[:rank], v: columns(&v, rank)}, nil
}

// columns copies the first n columns of a matrix.
func columns(a *mat.Dense, n int) *mat.Dense {
	rows, _ := a.Dims()
	return mat.DenseCopyOf(a.Slice(0, rows, 0, n))
}

// rank returns the number of singular values that count.
func (b *basis) rank() int { return len(b.s) }

// solve returns the least squares solutions of smallest norm, rows by unknowns, for unwrapped
// values, rows by equations.
func (b *basis) solve(z *mat.Dense) *mat.Dense {
	var t, d mat.Dense
	t.Mul(z, b.u)
	rows, _ := t.Dims()
	for j := range rows {
		for k, s := range b.s {
			t.RawRowView(j)[k] /= s
		}
	}
	d.Mul(&t, b.v.T())
	return &d
}

// fit returns the part of values, rows by equations, that some solution explains.
func (b *basis) fit(z *mat.Dense) *mat.Dense {
	var t, f mat.Dense
	t.Mul(z, b.u)
	f.Mul(&t, b.u.T())
	return &f
}
