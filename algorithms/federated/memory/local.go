package memory

import (
	"context"
	"io"
	"slices"
)

// Rows is a stream of rows that are all there; it implements federated.Rows. It is for one goroutine.
type Rows struct {
	X           [][]float64
	Y           []float64
	Predictions map[int]float64 // by row, from 1: the newest

	row int // the one whose inputs were returned last
}

// NewRows returns a stream from its first row on.
func NewRows(x [][]float64, y []float64) *Rows {
	return &Rows{X: x, Y: y, Predictions: make(map[int]float64)}
}

// RowsAfter is NewRows for a client that comes back, with its predictions so far; nil: it comes for the first
// time.
func RowsAfter(earlier *Rows, x [][]float64, y []float64) *Rows {
	r := NewRows(x, y)
	if earlier != nil {
		r.Predictions = earlier.Predictions
	}
	return r
}

// Inputs implements federated.Rows.
func (r *Rows) Inputs(ctx context.Context) (row int, x []float64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	if r.row == len(r.X) {
		return 0, nil, io.EOF
	}
	r.row++
	return r.row, r.X[r.row-1], nil
}

// Label implements federated.Rows.
func (r *Rows) Label(ctx context.Context) (float64, error) { return r.Y[r.row-1], ctx.Err() }

// Predicted implements federated.Rows.
func (r *Rows) Predicted(row int, prediction float64) error {
	r.Predictions[row] = prediction
	return nil
}

// Vault is states by name; it implements federated.Vault. It is for one goroutine.
type Vault map[string][]byte

// Load implements federated.Vault.
func (v Vault) Load(name string) ([]byte, error) { return slices.Clone(v[name]), nil }

// Save implements federated.Vault.
func (v Vault) Save(name string, data []byte) error {
	v[name] = slices.Clone(data)
	return nil
}
