package kernel

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// gramRows is the number of rows that are multiplied at once. Sums are formed within such a
// block and then added up block by block, so that the result does not depend on how the caller
// cuts the rows; changing it changes the last bits of every model.
const gramRows = 128

// gramTile is the number of features whose columns stay in the first cache.
const gramTile = 32

// MaxGram bounds the features of a Gram: its matrix then takes 2 GiB.
const MaxGram = 16384

// Gram accumulates the normal equations of ridge regression on random features, row by row.
//
// It holds the upper triangle of A^T A in float64, where A = [Phi, y, 1] has a row for each
// sample: Phi^T Phi, Phi^T y, column sums and the sums of y and y^2 in one matrix. The result
// depends on the rows and their order alone, to the bit.
//
// Products are matrix times vector, by gonum's kernel that keeps four sums in registers: on a
// block in the second cache it is 2.5 times as fast as gonum's matrix product, and no slower than
// the best in float32, which therefore has nothing to offer here.
type Gram struct {
	table    *Table
	features int
	rows     int
	width    int       // features + 2, padded
	sums     []float64 // [width][width], upper triangle of A^T A over whole blocks
	turns    []uint16  // rows that do not fill a block yet
	labels   []float64
	scratch  []float64 // [width][gramRows], A^T of a block
}

// NewGram starts normal equations for the given number of features, up to 16,384. It takes
// about 8 features^2 bytes.
func NewGram(t *Table, features int) (*Gram, error) {
	if features < 1 || features > MaxGram {
		return nil, fmt.Errorf("%d features are out of range for the normal equations: want 1 to %d", features, MaxGram)
	}
	width := pad(features + 2)
	return &Gram{table: t, features: features, width: width,
		sums: make([]float64, width*width), scratch: make([]float64, width*gramRows)}, nil
}

// Rows returns the number of rows added so far.
func (g *Gram) Rows() int { return g.rows }

// Add adds samples: turns is row-major [len(labels)][features], labels are finite.
func (g *Gram) Add(turns []uint16, labels []float64, workers int) error {
	if len(turns) != len(labels)*g.features {
		return fmt.Errorf("there are %d angles for %d labels: want %d for each", len(turns), len(labels), g.features)
	}
	if i := slices.IndexFunc(labels, func(y float64) bool { return !finite(y) }); i >= 0 {
		return fmt.Errorf("label %d is %v: want a finite number", i+1, labels[i])
	}
	g.rows += len(labels)
	if len(g.labels) > 0 {
		n := min(gramRows-len(g.labels), len(labels))
		g.keep(turns[:n*g.features], labels[:n])
		turns, labels = turns[n*g.features:], labels[n:]
		if len(g.labels) < gramRows {
			return nil
		}
		g.multiply(g.sums, g.turns, g.labels, workers)
		g.turns, g.labels = g.turns[:0], g.labels[:0]
	}
	for len(labels) >= gramRows {
		g.multiply(g.sums, turns[:gramRows*g.features], labels[:gramRows], workers)
		turns, labels = turns[gramRows*g.features:], labels[gramRows:]
	}
	g.keep(turns, labels)
	return nil
}

// keep stores rows until they fill a block.
func (g *Gram) keep(turns []uint16, labels []float64) {
	g.turns = append(g.turns, turns...)
	g.labels = append(g.labels, labels...)
}

// multiply adds A^T A of one block, of at most gramRows rows, to sums.
func (g *Gram) multiply(sums []float64, turns []uint16, labels []float64, workers int) {
	tiles := (g.width + gramTile - 1) / gramTile
	spread(workers, tiles, func(i int) { g.expand(i*gramTile, turns, labels) })
	spread(workers, tiles, func(i int) { g.multiplyTile(sums, (tiles-1-i)*gramTile) })
}

// expand fills the rows of the scratch matrix for the tile that starts at feature first.
// Missing rows of a short block are zero.
func (g *Gram) expand(first int, turns []uint16, labels []float64) {
	for i := first; i < min(first+gramTile, g.width); i++ {
		row := g.scratch[i*gramRows : (i+1)*gramRows]
		clear(row[len(labels):])
		switch {
		case i < g.features:
			for r := range labels {
				row[r] = float64(g.table.cos[turns[r*g.features+i]])
			}
		case i == g.features:
			copy(row, labels)
		case i == g.features+1:
			for r := range labels {
				row[r] = 1
			}
		}
	}
}

// multiplyTile adds the products of the tile's columns with all columns up to them.
func (g *Gram) multiplyTile(sums []float64, first int) {
	n := min(gramTile, g.width-first)
	tile := blas64.General{Rows: n, Cols: gramRows, Stride: gramRows, Data: g.scratch[first*gramRows : (first+n)*gramRows]}
	for j := range first + n {
		column := blas64.Vector{N: gramRows, Inc: 1, Data: g.scratch[j*gramRows : (j+1)*gramRows]}
		into := blas64.Vector{N: n, Inc: 1, Data: sums[j*g.width+first:][:n]}
		blas64.Gemv(blas.NoTrans, 1, tile, column, 1, into)
	}
}

// Ridge is the solution of a regularised least squares problem: f(x) = Intercept + Alpha^T phi(x).
type Ridge struct {
	Alpha     []float64
	Intercept float64
}

// Solve minimises (1/N) sum_j (f(x_j) - y_j)^2 + lambda |alpha|^2 over alpha and the intercept,
// which is not penalised: (Phi_c^T Phi_c / N + lambda I) alpha = Phi_c^T y / N with centred
// columns. More rows may be added afterwards. The factorisation is gonum's, which uses GOMAXPROCS
// goroutines whatever workers says; its result does not depend on them.
func (g *Gram) Solve(lambda float64, workers int) (*Ridge, error) {
	if !(lambda > 0) || !finite(lambda) {
		return nil, fmt.Errorf("lambda is %v: want a positive number", lambda)
	}
	if g.rows < 2 {
		return nil, fmt.Errorf("%d rows are too few to fit anything: want at least two", g.rows)
	}
	sums := slices.Clone(g.sums)
	if len(g.labels) > 0 {
		g.multiply(sums, g.turns, g.labels, workers)
	}
	return g.solve(sums, lambda)
}
