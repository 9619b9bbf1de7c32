package report

import (
	"strings"
	"unicode/utf8"
)

// maxRows is how many rows of a table a report shows.
const maxRows = 500

// column is one column of a table.
type column struct {
	Name  string
	Right bool // numbers
	Class string
}

// table is what both renderings make of a list. Its fields are open to the template of the page.
type table struct {
	Title   string
	Note    string
	Columns []column
	Rows    [][]string
	More    int // rows that were left out
}

// newTable makes a table without rows; a column whose name begins with '>' holds numbers.
func newTable(title string, names ...string) *table {
	t := &table{Title: title}
	for _, name := range names {
		word, right := strings.CutPrefix(name, ">")
		c := column{Name: word, Right: right}
		if right {
			c.Class = "n"
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// add appends a row, one cell per column, unless the table is full.
func (t *table) add(cells ...string) {
	if len(t.Rows) == maxRows {
		t.More++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// Size is how many rows there are.
func (t *table) Size() string { return count(len(t.Rows) + t.More) }

// Left says how many rows were left out.
func (t *table) Left() string {
	if t.More == 0 {
		return ""
	}
	return "and " + plural(t.More, "row", "rows") + " more, which the JSON report lists"
}

// lines lays the table out for a terminal, every cell cut to most characters.
func (t *table) lines(indent string, most int) []string {
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Name
	}
	rows := append([][]string{head}, t.Rows...)
	widths := widthsOf(rows, most)
	t.fit(widths, width-utf8.RuneCountInString(indent))
	var out []string
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			b.WriteString(t.cell(i, clip(cell, widths[i]), widths[i]))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	if left := t.Left(); left != "" {
		out = append(out, indent+left)
	}
	return out
}

// narrowest is how narrow a column of words may become.
const narrowest = 6

// fit makes the widest columns of words narrower until a line has room, or nothing gives.
func (t *table) fit(widths []int, room int) {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := -1
		for i, w := range widths {
			if !t.Columns[i].Right && w > narrowest && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// cell pads a cell to its column's width, with two spaces before all but the first.
func (t *table) cell(i int, text string, width int) string {
	pad := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	gap := ""
	if i > 0 {
		gap = "  "
	}
	if t.Columns[i].Right {
		return gap + pad + text
	}
	return gap + text + pad
}

// widthsOf returns the width of every column, in characters.
func widthsOf(rows [][]string, most int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(clip(cell, most)))
		}
	}
	return widths
}
