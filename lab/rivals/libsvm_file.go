package rivals

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// cellEntry is one cell that is not 0.
type cellEntry struct {
	column int
	value  float64
}

// writeLIBSVMFile writes the parts' rows side by side, with their labels, to a new file.
func writeLIBSVMFile(path string, parts []*kernel.Matrix, labels []float64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return writeLIBSVM(f, parts, labels)
}

// writeLIBSVM writes one line for each row: its label, then column:value for what is not 0, the
// columns numbered from 1 in the parts' order, dense before binary. All parts have len(labels) rows.
func writeLIBSVM(w io.Writer, parts []*kernel.Matrix, labels []float64) error {
	out := bufio.NewWriter(w)
	strays := make([]int, len(parts)) // of each part, the first stray that is not written
	var row []cellEntry
	for r, y := range labels {
		row = row[:0]
		first := 1
		for i, m := range parts {
			row, strays[i] = appendCells(row, m, r, first, strays[i])
			first += len(m.Dense) + len(m.Binary)
		}
		slices.SortFunc(row, func(a, b cellEntry) int { return a.column - b.column })
		// Writes one line. Numbers keep 9 digits, more than a float32 has.
		fmt.Fprintf(out, "%+g", y)
		for _, c := range row {
			out.WriteByte(' ')
			out.WriteString(strconv.Itoa(c.column))
			out.WriteByte(':')
			out.WriteString(strconv.FormatFloat(c.value, 'g', 9, 64))
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// appendCells appends the cells of row r that are not 0, from column number first on. next is the
// first stray of row r or later; it returns that of row r+1.
func appendCells(row []cellEntry, m *kernel.Matrix, r, first, next int) ([]cellEntry, int) {
	d := len(m.Dense)
	for c, v := range m.Values[r*d : (r+1)*d] {
		if v != 0 {
			row = append(row, cellEntry{first + c, v})
		}
	}
	for _, c := range m.Set[m.Starts[r]:m.Starts[r+1]] {
		row = append(row, cellEntry{first + d + int(c), 1})
	}
	for ; next < len(m.Strays) && int(m.Strays[next].Row) == r; next++ {
		s := m.Strays[next]
		row = append(row, cellEntry{first + d + int(s.Binary), s.Value})
	}
	return row, next
}
