// Package table writes tables in Markdown that are aligned for reading as they are.
package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table whose first column is set to the left, the others to the right.
type Table struct {
	rows [][]string // the first one is the head
}

// New starts a table with its head.
func New(head ...string) *Table { return &Table{rows: [][]string{head}} }

// Add appends a row; it has as many cells as the head.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Addf appends a row of formatted cells, which "|" separates in the format.
func (t *Table) Addf(format string, args ...any) { t.Add(Cells(format, args...)...) }

// Cells formats cells, which "|" separates in the format; one in an argument does not.
func Cells(format string, args ...any) []string {
	return strings.Split(fmt.Sprintf(strings.ReplaceAll(format, "|", "\x00"), args...), "\x00")
}

// Write renders the table.
func (t *Table) Write(w io.Writer) error {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(3, widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range t.rows {
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + gap + " |")
			} else {
				b.WriteString(" " + gap + cell + " |")
			}
		}
		b.WriteByte('\n')
		if n > 0 {
			continue
		}
		b.WriteString("|" + strings.Repeat("-", widths[0]+2))
		for _, width := range widths[1:] {
			b.WriteString("|" + strings.Repeat("-", width+1) + ":")
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// If renders a figure, or nothing when it is not known.
func If(known bool, format string, v float64) string {
	if !known {
		return ""
	}
	return fmt.Sprintf(format, v)
}
