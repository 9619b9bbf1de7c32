package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table is a table in Markdown that is aligned for reading as it is. The first column is set to the
// left, the others to the right.
type table struct {
	rows [][]string // the first one is the head
}

// newTable starts a table with its head.
func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

// add appends a row; it has as many cells as the head.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write renders the table.
func (t *table) write(w io.Writer) error {
	widths := t.widths()
	lines := []string{renderRow(t.rows[0], widths), renderRule(widths)}
	for _, row := range t.rows[1:] {
		lines = append(lines, renderRow(row, widths))
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// renderRow renders one row.
func renderRow(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 {
			b.WriteString("| " + cell + gap + " |")
		} else {
			b.WriteString(" " + gap + cell + " |")
		}
	}
	return b.String()
}

// renderRule renders the line below the head.
func renderRule(widths []int) string {
	rule := make([]string, len(widths))
	for i, n := range widths {
		rule[i] = strings.Repeat("-", n+1) + ":"
	}
	rule[0] = strings.Repeat("-", widths[0]+2)
	return "|" + strings.Join(rule, "|") + "|"
}

// widths returns the width of every column in characters, at least 3.
func (t *table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(3, widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
