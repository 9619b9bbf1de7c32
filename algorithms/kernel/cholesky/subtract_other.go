//go:build !amd64

package cholesky

// subtract takes from a square of side rows and columns the products of the rows' lines and the columns'.
func subtract(square, columns, rows []float64) { plainSubtract(square, columns, rows) }
