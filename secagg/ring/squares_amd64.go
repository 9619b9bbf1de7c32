package ring

import (
	"golang.org/x/sys/cpu"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/internal/raced"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg ring

// Instructions says what sums of products are computed with: "AVX2" or "plain Go".
func Instructions() string {
	if cpu.X86.HasAVX2 {
		return "AVX2"
	}
	return plainGo
}

// vectorSquares is AddSquares and AddSquares16 with vector instructions, and false where there are none.
func vectorSquares[T total, N number](t []T, u []N, d, workers int) bool {
	if !cpu.X86.HasAVX2 {
		return false
	}
	switch u := any(u).(type) {
	case []int16:
		tiles[int64, int16, int32]{4, 16, 2, pairLine, tile16}.add(any(t).([]int64), u, d, workers)
	case []uint32:
		tiles[uint32, uint32, uint32]{4, 16, 1, copyLine[uint32], tile32}.add(any(t).([]uint32), u, d, workers)
	case []uint64:
		tiles[uint64, uint64, uint64]{2, 8, 1, copyLine[uint64], tile64}.add(any(t).([]uint64), u, d, workers)
	}
	return true
}

// panelLines is how many lines a panel has: two panels fit the first-level cache, and 510 rows of numbers of 16 bits
// their sums 32 bits, 510 MaxNumber16^2 < 2^31. An odd number keeps the panels from the same places in the cache.
const panelLines = 255

// tiles multiply a matrix's columns as panels: of each width columns one, of 64 bytes a line. A line holds the words of
// a row, or the numbers of two. The sums of a tile are the first height words of one panel's lines by all of another's.
type tiles[T total, N number, P int32 | uint32 | uint64] struct {
	height, width int
	rows          int // in a line

	// pack writes a line of every panel, stride words apart.
	pack func(panels []P, stride, width int, rows []N, d int)
	tile func(sums, a, b *P, lines int)
}

// add is AddSquares.
func (k tiles[T, N, P]) add(t []T, u []N, d, workers int) {
	if d < 1 || len(u) < d {
		return
	}
	workers = workersFor(len(u)*d, workers)
	count := (d + k.width - 1) / k.width
	lines := (len(u)/d + k.rows - 1) / k.rows
	parts := (lines + panelLines - 1) / panelLines
	most := (lines + parts - 1) / parts
	panels := make([]P, count*most*k.width)
	for part := range parts {
		n := lines*(part+1)/parts - lines*part/parts
		stride := n * k.width
		split(n, 8, workers, func(from, to int) {
			for l := from; l < to; l++ {
				row := u[l*k.rows*d:]
				k.pack(panels[l*k.width:], stride, k.width, row[:min(k.rows*d, len(row))], d)
			}
		})
		parallel.All(workers, count, func(i int) { k.strip(t, d, panels[i*stride:count*stride], n, i*k.width) })
		u = u[min(n*k.rows*d, len(u)):]
	}
}

// strip adds the products of the first of some panels, whose first column is given, by itself and those after it. This
// way the result is written in long runs.
func (k tiles[T, N, P]) strip(t []T, d int, panels []P, lines, first int) {
	size := lines * k.width
	sums := make([]P, k.height*k.width)
	for column := first; column < d; column += k.width {
		right := panels[(column-first)*lines:][:size]
		for row := first; row < min(first+k.width, d); row += k.height {
			k.tile(&sums[0], &panels[row-first], &right[0], lines)
			for i := row; i < min(row+k.height, d); i++ {
				from := max(i, column)
				out := t[PairIndex(i, from, d):][:max(0, min(column+k.width, d)-from)]
				for j, sum := range sums[(i-row)*k.width+from-column:][:len(out)] {
					out[j] += T(sum)
				}
			}
		}
	}
}

// copyLine is pack for words.
//
//go:norace
func copyLine[W Word](panels []W, stride, width int, row []W, d int) {
	raced.Read(row)
	for ; len(row) > width; row = row[width:] {
		copy(panels[:width], row)
		panels = panels[stride:]
	}
	copy(panels, row)
}

// pairLine is pack for numbers of 16 bits. Of the last row of an odd number of them the other is zero.
//
//go:norace
func pairLine(panels []int32, stride, width int, rows []int16, d int) {
	raced.Read(rows)
	a, b := rows[:d], rows[d:]
	if len(b) == 0 {
		b = make([]int16, d)
	}
	for ; len(a) > width; a, b = a[width:], b[width:] {
		for i, v := range a[:width] {
			panels[i] = int32(uint16(v)) | int32(b[i])<<16
		}
		panels = panels[stride:]
	}
	for i, v := range a {
		panels[i] = int32(uint16(v)) | int32(b[i])<<16
	}
}
