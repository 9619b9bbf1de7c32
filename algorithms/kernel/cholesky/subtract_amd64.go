package cholesky

import (
	"golang.org/x/sys/cpu"

	"github.com/hanse-project/hanse/internal/raced"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg cholesky

// subtract takes from a square of side rows and columns the products of the rows' lines and the columns'.
//
//go:norace
func subtract(square, columns, rows []float64) {
	lines := len(columns) / side
	square, rows = square[:side*side:len(square)], rows[:len(columns):len(rows)]
	if !cpu.X86.HasAVX2 {
		plainSubtract(square, columns, rows)
		return
	}
	if lines == 0 {
		return
	}
	raced.Read(columns)
	raced.Read(rows)
	raced.Write(square)
	tile(&square[0], &columns[0], &rows[0], lines)
	tile(&square[half*side], &columns[half], &rows[0], lines)
}
