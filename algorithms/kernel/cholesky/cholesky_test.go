package cholesky

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// drawnMatrix is rows of a positive definite matrix, whose smallest eigenvalue is at least the one drawn.
func drawnMatrix(rows int, least float64, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	a, factors := make([][]float64, rows), make([][3]float64, rows)
	for i := range factors {
		for k := range factors[i] {
			factors[i][k] = rng.NormFloat64()
		}
	}
	for i := range a {
		a[i] = make([]float64, rows)
		for j := range a[i] {
			for k := range factors[i] {
				a[i][j] += factors[i][k] * factors[j][k]
			}
		}
		a[i][i] += least
	}
	return a
}

// filled returns a matrix with these rows.
func filled(a [][]float64, workers int) *Matrix {
	m := New(len(a))
	m.Fill(workers, func(i int, entries []float64) { copy(entries, a[i][i:]) })
	return m
}

// entry returns entry (i, j), j <= i.
func (m *Matrix) entry(i, j int) float64 { return m.panel(i / side)[j*side+i%side] }

// textbook is the oracle: three loops that replace the lower triangle by the factor, and false where there is none.
func textbook(a [][]float64) bool {
	for j := range a {
		for i := j; i < len(a); i++ {
			s := a[i][j]
			for k := range j {
				s -= float64(a[i][k] * a[j][k])
			}
			switch {
			case i > j:
				s /= a[j][j]
			case s > 0:
				s = math.Sqrt(s)
			default:
				return false
			}
			a[i][j] = s
		}
	}
	return true
}

// textbookSolve solves the equations of a factor, first row first and back by column.
func textbookSolve(l [][]float64, b []float64) {
	for i := range l {
		for k := range i {
			b[i] -= float64(l[i][k] * b[k])
		}
		b[i] /= l[i][i]
	}
	for i := len(l) - 1; i >= 0; i-- {
		for k := len(l) - 1; k > i; k-- {
			b[i] -= float64(l[k][i] * b[k])
		}
		b[i] /= l[i][i]
	}
}

// TestFactorsAreThoseOfTheTextbook, and solutions, to the bit and with any number of workers: of matrices that fill
// their last panel or do not, of a block of columns or several, with a root or without.
func TestFactorsAreThoseOfTheTextbook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(50, 80), rapid.IntRange(100, 330)).Draw(t, "rows")
		least := rapid.SampledFrom([]float64{10, 1, 1e-6, 1e-13, -1}).Draw(t, "least")
		workers := rapid.IntRange(0, 4).Draw(t, "workers")
		a := drawnMatrix(rows, least, rapid.Uint64().Draw(t, "seed"))
		m := filled(a, workers)
		for i := range a {
			for j := range i + 1 {
				if got := m.entry(i, j); got != a[i][j] {
					t.Fatalf("entry (%d, %d) is filled with %v, want %v", i, j, got, a[i][j])
				}
			}
		}
		want := textbook(a)
		if got := m.Factorise(workers); got != want {
			t.Fatalf("there is a factor: %v, want %v", got, want)
		}
		if !want {
			return
		}
		for i := range a {
			for j := range i + 1 {
				if got := m.entry(i, j); got != a[i][j] {
					t.Fatalf("the factor's entry (%d, %d) is %v, want %v", i, j, got, a[i][j])
				}
			}
		}
		b := make([]float64, rows)
		for i := range b {
			b[i] = float64(i%7) - 3
		}
		if at := rapid.IntRange(0, rows).Draw(t, "infinite"); at < rows && rapid.Bool().Draw(t, "not finite") {
			b[at] = math.Inf(1)
		}
		x := slices.Clone(b)
		m.Solve(x)
		textbookSolve(a, b)
		same := func(a, b float64) bool {
			return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
		}
		if !slices.EqualFunc(x, b, same) {
			t.Fatalf("the solution is another than the textbook's")
		}
	})
}

// TestSolutionsSolve the equations that the matrix stood for.
func TestSolutionsSolve(t *testing.T) {
	const rows = 203
	a := drawnMatrix(rows, 0.5, 7)
	m := filled(a, 2)
	if !m.Factorise(2) {
		t.Fatal("there is no factor")
	}
	want, b := make([]float64, rows), make([]float64, rows)
	for i := range want {
		want[i] = math.Sin(float64(i))
	}
	for i := range b {
		b[i] = mat.Dot(mat.NewVecDense(rows, a[i]), mat.NewVecDense(rows, want))
	}
	m.Solve(b)
	for i, x := range b {
		if math.Abs(x-want[i]) > 1e-9 {
			t.Fatalf("unknown %d is %v, want %v", i, x, want[i])
		}
	}
}

// TestNumbersThatAreNotFiniteHaveNoFactor, wherever one stands.
func TestNumbersThatAreNotFiniteHaveNoFactor(t *testing.T) {
	for _, at := range [][2]int{{0, 0}, {3, 90}, {90, 90}, {70, 99}} {
		a := drawnMatrix(100, 1, 3)
		a[at[0]][at[1]] = math.NaN()
		if filled(a, 2).Factorise(2) {
			t.Errorf("with NaN at %v there is a factor", at)
		}
	}
}

// TestProductsAreThoseOfPlainGo: the fastest tile subtracts what the plain one does, bit for bit, of any number of
// lines and of numbers of all sizes.
func TestProductsAreThoseOfPlainGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.IntRange(0, 40).Draw(t, "lines")
		numbers := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64(), rapid.SampledFrom([]float64{0, 1e-310, 1e160}))
		draw := func(n int, name string) []float64 { return rapid.SliceOfN(numbers, n, n).Draw(t, name) }
		columns, rows, got := draw(side*lines, "columns"), draw(side*lines, "rows"), draw(side*side, "square")
		want := slices.Clone(got)
		for i := range want {
			for k := range lines {
				want[i] -= float64(columns[side*k+i/side] * rows[side*k+i%side])
			}
		}
		plain := slices.Clone(got)
		plainSubtract(plain, columns, rows)
		subtract(got, columns, rows)
		for i := range want {
			if same := math.Float64bits(got[i]) == math.Float64bits(want[i]); !same && !math.IsNaN(want[i]) {
				t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
			}
			if same := math.Float64bits(plain[i]) == math.Float64bits(want[i]); !same && !math.IsNaN(want[i]) {
				t.Fatalf("number %d in plain Go is %v, want %v", i, plain[i], want[i])
			}
		}
	})
}

// TestWithoutVectorInstructions runs the tests of factors again where the processor's vector instructions are off.
func TestWithoutVectorInstructions(t *testing.T) {
	if !cpu.X86.HasAVX2 {
		t.Skip("this processor, or this run, has none")
	}
	again := exec.Command(os.Args[0], "-test.run", "^TestFactorsAreThoseOfTheTextbook$", "-rapid.checks=10")
	again.Env = append(os.Environ(), "GODEBUG=cpu.avx2=off")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("without AVX2: %v\n%s", err, out)
	}
}
