package kernel

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel/cholesky"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/secagg/ring"
)

// gramRows is the number of rows that are multiplied at once: as many as ring.AddSquares16 takes in one go. The result
// does not depend on it.
const gramRows = 510

// gramColumns is the number of features whose products with labels one worker adds up: these stay in the first cache.
const gramColumns = 256

// In a Gram cosines are whole numbers in units of 2^-wholeBits.
const wholeBits = 11

// MaxGram bounds the features of a Gram: its matrix then takes 1 GiB, and to solve the equations another.
const MaxGram = 16384

// MaxSides bounds the right sides of a Gram.
const MaxSides = 64

// Gram accumulates the normal equations of ridge regression on random features, row by row: sqrt(2) cos and sqrt(2) sin
// of each angle, one behind the other.
//
// Cosines are rounded to whole numbers of 12 bits with a sign, and sums of their products are exact: their bits are the
// same on every machine, with or without vector instructions, in any order of the rows. The rounding, at most 2^-12, is
// as that of the angles noise in the features, of variance 2^-24 / 3: next to N lambda it is nothing.
// Labels are rounded to multiples of 2^-40, in two digits of 20 bits, so that their sums with features are exact, too:
// the result depends on which rows there are alone, to the bit, and that of a right side not on the others.
type Gram struct {
	table    *Table
	features int // two for each angle
	sides    int // right sides
	rows     int
	sums     []int64    // upper triangle of A^T A, as of ring.AddSquares16: A is the whole numbers and a column of ones
	rights   [2][]int64 // [sides][features + 1], A^T of the labels' upper digits, and of their lower
	weight   int64      // the largest upper digit of each row, added up: 2^wholeBits times that bounds the sums of all
	block    []int16    // rows of A that are not in sums and rights yet
	labels   [][2]int64 // of these rows, row-major [rows][sides]
}

// labelBits is how many bits a digit of a label has: the upper ones are in units of 2^-labelBits.
const labelBits = 20

// mostWeight bounds the weight of a Gram, so that sums with labels stay in 64 bits. Of labels with a mean square of 1
// 2^31 rows do not come to it.
const mostWeight = 1 << (62 - wholeBits)

// digits returns a label's two digits: it is rounded to their last bit.
func digits(y float64) [2]int64 {
	upper := math.RoundToEven(y * (1 << labelBits))
	lower := math.RoundToEven((y - upper/(1<<labelBits)) * (1 << (2 * labelBits)))
	return [2]int64{int64(upper), int64(lower)}
}

// NewGram starts normal equations for the given number of features, even and up to 16,384. It takes
// about 4 features^2 bytes, and Solve as many again.
func NewGram(t *Table, features int) (*Gram, error) { return NewGramOf(t, features, 1) }

// NewGramOf is NewGram for several right sides, each with its own labels.
func NewGramOf(t *Table, features, sides int) (*Gram, error) {
	if features < 2 || features > MaxGram || features%2 != 0 {
		return nil, fmt.Errorf("%d features are out of range for the normal equations: want an even number from 2 to %d",
			features, MaxGram)
	}
	if sides < 1 || sides > MaxSides {
		return nil, fmt.Errorf("%d right sides are out of range for the normal equations: want 1 to %d", sides, MaxSides)
	}
	width := features + 1
	return &Gram{table: t, features: features, sides: sides, sums: make([]int64, width*(width+1)/2),
		rights: [2][]int64{make([]int64, sides*width), make([]int64, sides*width)}}, nil
}

// Rows returns the number of rows added so far.
func (g *Gram) Rows() int { return g.rows }

// Add adds samples: turns is row-major [rows][features/2], labels row-major [rows][right sides] and finite. Labels of
// which the largest of each row add up to 2^31 are refused.
func (g *Gram) Add(turns []uint16, labels []float64, workers int) error {
	each := g.features / 2 // angles of a row
	if len(turns)*g.sides != len(labels)*each {
		return fmt.Errorf("there are %d angles for %d labels: want %d for each", len(turns), len(labels)/g.sides, each)
	}
	if i := slices.IndexFunc(labels, func(y float64) bool { return !parameters.IsFinite(y) }); i >= 0 {
		return fmt.Errorf("label %d is %v: want a finite number", i+1, labels[i])
	}
	weight := g.weight
	for rest := labels; len(rest) > 0; rest = rest[g.sides:] {
		var most float64
		for _, y := range rest[:g.sides] {
			most = max(most, math.Abs(y))
		}
		const limit = float64(mostWeight) / (1 << labelBits)
		if most < limit {
			weight += digits(most)[0]
		}
		if most >= limit || weight >= mostWeight {
			return fmt.Errorf("the labels' sizes add up to %.3g or more: want less", limit)
		}
	}
	g.weight = weight
	g.rows += len(labels) / g.sides
	for rows := len(labels) / g.sides; rows > 0; {
		n := min(rows, gramRows-len(g.labels)/g.sides)
		g.keep(turns[:n*each], labels[:n*g.sides], workers)
		turns, labels, rows = turns[n*each:], labels[n*g.sides:], rows-n
		if len(g.labels) == gramRows*g.sides {
			g.multiply(workers)
		}
	}
	return nil
}

// keep stores rows until there are enough of them.
func (g *Gram) keep(turns []uint16, labels []float64, workers int) {
	width, each, at, rows := g.features+1, g.features/2, len(g.block), len(labels)/g.sides
	g.block = slices.Grow(g.block, rows*width)[:at+rows*width]
	for _, y := range labels {
		g.labels = append(g.labels, digits(y))
	}
	parts := min(max(1, workers), rows)
	parallel.All(workers, parts, func(part int) {
		for r := rows * part / parts; r < rows*(part+1)/parts; r++ {
			row := g.block[at+r*width:][:width]
			for i, turn := range turns[r*each:][:each] {
				*(*[2]int16)(row[2*i:]) = g.table.whole[turn]
			}
			row[g.features] = 1
		}
	})
}

// multiply adds the products of the rows that were kept.
func (g *Gram) multiply(workers int) {
	width := g.features + 1
	ring.AddSquares16(g.sums, g.block, width, workers)
	parallel.All(workers, (width+gramColumns-1)/gramColumns, func(part int) {
		lo, hi := part*gramColumns, min((part+1)*gramColumns, width)
		for r := 0; r < len(g.labels)/g.sides; r++ {
			row := g.block[r*width+lo : r*width+hi]
			for side, label := range g.labels[r*g.sides:][:g.sides] {
				for n, digit := range label {
					if digit == 0 { // classes have no lower one
						continue
					}
					sums := g.rights[n][side*width+lo:][:len(row)]
					for i, v := range row {
						sums[i] += int64(v) * digit
					}
				}
			}
		}
	})
	g.block, g.labels = g.block[:0], g.labels[:0]
}

// Merge adds the rows of another Gram with as many features and right sides.
func (g *Gram) Merge(more *Gram, workers int) { g.combine(more, 1, workers) }

// Remove takes out the rows of another Gram with as many features and right sides, which must all be rows of g.
func (g *Gram) Remove(some *Gram, workers int) { g.combine(some, -1, workers) }

// combine adds a multiple of another's sums.
func (g *Gram) combine(other *Gram, by int64, workers int) {
	g.multiply(workers)
	other.multiply(workers)
	g.rows += int(by) * other.rows
	g.weight += by * other.weight
	for i, sum := range other.sums {
		g.sums[i] += by * sum
	}
	for n, rights := range other.rights {
		for i, sum := range rights {
			g.rights[n][i] += by * sum
		}
	}
}

// GramWords returns how many words Gram.Words has.
func GramWords(features, sides int) int {
	width := features + 1
	return width*(width+1)/2 + 2*sides*width + 1
}

// Words returns what the rows added so far come to, in two's complement: the words of the rows of two Grams, added up
// one by one, are those of all rows.
func (g *Gram) Words(workers int) []uint64 {
	g.multiply(workers)
	words := make([]uint64, 0, GramWords(g.features, g.sides))
	for _, sums := range [][]int64{g.sums, g.rights[0], g.rights[1], {g.weight}} {
		for _, sum := range sums {
			words = append(words, uint64(sum))
		}
	}
	return words
}

// AddWords adds the rows of which another Gram with as many features and right sides has the words.
func (g *Gram) AddWords(words []uint64, workers int) error {
	if want := GramWords(g.features, g.sides); len(words) != want {
		return fmt.Errorf("%d words of sums, want %d for %d features and %d right sides", len(words), want, g.features,
			g.sides)
	}
	g.multiply(workers)
	rows := int64(words[len(g.sums)-1]) // what the column of ones adds up to
	weight := int64(words[len(words)-1])
	if rows < 0 || rows > math.MaxInt32 || weight < 0 || weight >= mostWeight-g.weight {
		return fmt.Errorf("sums of %d rows, whose labels' sizes add up to %.3g: out of range", rows,
			float64(weight)/(1<<labelBits))
	}
	g.rows += int(rows)
	for _, sums := range [][]int64{g.sums, g.rights[0], g.rights[1]} {
		for i := range sums {
			sums[i] += int64(words[i])
		}
		words = words[len(sums):]
	}
	g.weight += weight
	return nil
}

// unit is what a whole number counts in units of features.
const unit = math.Sqrt2 / (1 << wholeBits)

// right returns the sum of a whole number of each row, or of ones behind the last of them, with a side's labels.
func (g *Gram) right(side, i int) float64 {
	at := side*(g.features+1) + i
	return float64(g.rights[0][at])/(1<<labelBits) + float64(g.rights[1][at])/(1<<(2*labelBits))
}

// SquaredErrors returns the sum over the rows of (f - y)^2 for the labels of a right side, whose squares add up to
// squares: from the sums alone, with features rounded as in these. It does not depend on workers.
func (g *Gram) SquaredErrors(side int, f *Ridge, squares float64, workers int) float64 {
	g.multiply(workers)
	d, width := g.features, g.features+1
	terms := make([]float64, d) // of alpha_i phi_i times what the functions up to it are off
	parallel.All(workers, d, func(i int) {
		row := g.sums[ring.PairIndex(i, i, width):][:width-i]
		t := mul(float64(row[0])/2, f.Alpha[i])
		for j, sum := range row[1 : d-i] {
			t += mul(float64(sum), f.Alpha[i+1+j])
		}
		t = t / (1 << (2*wholeBits - 1)) // of products of two features
		t += mul(float64(row[d-i])*unit, f.Intercept)
		terms[i] = mul(2*f.Alpha[i], t-g.right(side, i)*unit)
	})
	total := squares + mul(f.Intercept, mul(float64(g.rows), f.Intercept)-2*g.right(side, d))
	return max(0, total+floats.Sum(terms))
}

// Ridge is the solution of a regularised least squares problem: f(x) = Intercept + Alpha^T phi(x).
type Ridge struct {
	Alpha     []float64
	Intercept float64
}

// Solve minimises (1/N) sum_j (f(x_j) - y_j)^2 + lambda |alpha|^2 over alpha and the intercept,
// which is not penalised: (Phi_c^T Phi_c / N + lambda I) alpha = Phi_c^T y / N with centred
// columns. More rows may be added afterwards. The result does not depend on workers. Of several right sides it
// is the first one's.
func (g *Gram) Solve(lambda float64, workers int) (*Ridge, error) {
	all, err := g.SolveEach(lambda, workers)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// SolveEach is Solve for each right side, on one factorisation.
func (g *Gram) SolveEach(lambda float64, workers int) ([]*Ridge, error) {
	if !(lambda > 0) || !parameters.IsFinite(lambda) {
		return nil, fmt.Errorf("lambda is %v: want a positive number", lambda)
	}
	if g.rows < 2 {
		return nil, fmt.Errorf("%d rows are too few to fit anything: want at least two", g.rows)
	}
	g.multiply(workers)
	d, width, n := g.features, g.features+1, float64(g.rows)
	means := make([]float64, d)
	for i := range d {
		means[i] = float64(g.sums[ring.PairIndex(i, d, width)]) * unit / n
	}
	solutions := make([]*Ridge, g.sides)
	for side := range solutions {
		labels, meanY := make([]float64, d), g.right(side, d)/n
		for i := range d {
			labels[i] = g.right(side, i)*unit/n - mul(means[i], meanY)
		}
		solutions[side] = &Ridge{Alpha: labels, Intercept: meanY}
	}
	a := cholesky.New(d)
	a.Fill(workers, func(i int, row []float64) {
		for j, sum := range g.sums[ring.PairIndex(i, i, width):][:d-i] {
			row[j] = float64(sum)/(1<<(2*wholeBits-1))/n - mul(means[i], means[i+j])
		}
		row[0] += lambda
	})
	if !a.Factorise(workers) {
		return nil, fmt.Errorf("the normal equations are not positive definite at lambda %v: raise lambda", lambda)
	}
	for _, s := range solutions {
		a.Solve(s.Alpha)
		for i, v := range s.Alpha {
			if !parameters.IsFinite(v) {
				return nil, fmt.Errorf("coefficient %d came out as %v at lambda %v: raise lambda", i, v, lambda)
			}
		}
		s.Intercept -= blas64.Dot(vector(means), vector(s.Alpha))
	}
	return solutions, nil
}
