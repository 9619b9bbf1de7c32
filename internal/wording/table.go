package wording

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Columns is how many characters a line of a screen holds.
const Columns = 80

// Widths in characters that decide how a Table that is too wide for a screen is laid out.
const (
	gap        = 2  // between two columns
	foldIndent = 4  // of what of a row goes to the line below
	leastHang  = 28 // of the last column, for its sentences to be broken where it stands
	leastWords = 20 // of another column, for the same
)

// Table lines up columns on lines of Columns characters. Where they do not fit, the words of the last column go on
// below where it stands; if that is too narrow, a row folds: columns that do not fit go to a line of their own, further
// in. Words are never broken: one that is longer than a line makes it longer.
type Table struct {
	w      io.Writer
	indent string
	rows   [][]string
	notes  map[int][]string // below a row, by its place in rows
	begun  []byte           // a line that Write has not seen the end of
}

// NewTable makes an empty Table, every line of which begins with an indent of blanks.
func NewTable(w io.Writer, indent string) *Table { return &Table{w: w, indent: indent} }

// Row adds a row; the heading, if there is one, is the first. A row without cells is an empty line, which ends a table:
// the next begins below it.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Rows is how many rows the table has by now.
func (t *Table) Rows() int { return len(t.rows) }

// Note says something of the row added last, in a sentence on lines of its own below it; nothing of an empty text.
func (t *Table) Note(text string) {
	if text == "" {
		return
	}
	t.below(Wrap(Columns, t.indent+strings.Repeat(" ", foldIndent), text))
}

// Command puts a command below the last row, behind a word, on one line however long it is: it is to be copied whole.
func (t *Table) Command(word, command string) {
	t.below(t.indent + strings.Repeat(" ", foldIndent) + word + " " + command + "\n")
}

// below keeps lines that stand below the last row.
func (t *Table) below(lines string) {
	if t.notes == nil {
		t.notes = make(map[int][]string)
	}
	t.notes[len(t.rows)-1] = append(t.notes[len(t.rows)-1], lines)
}

// Write implements io.Writer: each line is a row, whose cells stand apart by tabs.
func (t *Table) Write(p []byte) (int, error) {
	t.begun = append(t.begun, p...)
	for {
		line, rest, found := bytes.Cut(t.begun, []byte("\n"))
		if !found {
			return len(p), nil
		}
		t.begun = rest
		if len(line) == 0 {
			t.Row()
			continue
		}
		t.Row(strings.Split(string(line), "\t")...)
	}
}

// Flush prints the rows and forgets them.
func (t *Table) Flush() error {
	var b strings.Builder
	for at := 0; at < len(t.rows); at++ {
		end := slices.IndexFunc(t.rows[at:], func(r []string) bool { return len(r) == 0 })
		if end < 0 {
			end = len(t.rows) - at
		}
		for i, lines := range layOut(t.rows[at:at+end], Columns-len(t.indent)) {
			for _, line := range lines {
				b.WriteString(strings.TrimRight(t.indent+line, " ") + "\n")
			}
			for _, note := range t.notes[at+i] {
				b.WriteString(note)
			}
		}
		if at += end; at < len(t.rows) {
			b.WriteString("\n")
		}
	}
	t.rows, t.notes = nil, nil
	_, err := io.WriteString(t.w, b.String())
	return err
}

// layOut returns the lines of each row.
func layOut(rows [][]string, space int) [][]string {
	n := 0
	for _, r := range rows {
		n = max(n, len(r))
	}
	if n == 0 {
		return make([][]string, len(rows))
	}
	widths := widthsOf(rows, n, space)
	last := widths[n-1]
	if n == 1 || shrink(widths[:n-1], rows, space-max(min(last, leastHang), longestWord(rows, n-1))) {
		widths[n-1] = min(last, space-sum(widths[:n-1]))
		return columns(rows, widths, space)
	}
	k := n - 1
	for k > 1 && !shrink(widths[:k], rows, space+gap) {
		k--
	}
	var left, right [][]string
	for _, r := range rows {
		at := min(k, len(r))
		left, right = append(left, r[:at]), append(right, r[at:])
	}
	lines := columns(left, widths[:k], space)
	for i, below := range layOut(right, space-foldIndent) {
		for _, line := range below {
			if line != "" {
				lines[i] = append(lines[i], strings.Repeat(" ", foldIndent)+line)
			}
		}
	}
	return lines
}

// shrink makes the widest columns narrower until they take at most so much of a line, with the gaps behind them. It
// reports false, and leaves them as they are, where that would break words or leave few of them in a line.
func shrink(widths []int, rows [][]string, space int) bool {
	narrow := slices.Clone(widths)
	for excess := sum(narrow) - space; excess > 0; excess-- {
		widest := -1
		for i, w := range narrow {
			if w > leastWords && w > longestWord(rows, i) && (widest < 0 || w > narrow[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		narrow[widest]--
	}
	copy(widths, narrow)
	return true
}

// columns returns the lines of each row, whose cells have these widths; the last cell of a short row has all that is
// left of the line.
func columns(rows [][]string, widths []int, space int) [][]string {
	all := make([][]string, len(rows))
	for i, r := range rows {
		var lines []string
		at := 0
		for c, cell := range r {
			width := widths[c]
			if c == len(r)-1 {
				width = max(width, space-at)
			}
			for k, part := range strings.Split(strings.TrimSuffix(Wrap(width, "", cell), "\n"), "\n") {
				if utf8.RuneCountInString(cell) <= width {
					part = cell // as it is, its blanks too
				}
				if k == len(lines) {
					lines = append(lines, "")
				}
				if behind := at - utf8.RuneCountInString(lines[k]); at > 0 {
					lines[k] += strings.Repeat(" ", max(behind, gap))
				}
				lines[k] += part
			}
			at += widths[c] + gap
		}
		all[i] = lines
	}
	return all
}

// widthsOf returns how wide each of n columns is. The last cell of a short row has what is left of its line, and makes
// no column wider unless a word of it has no room there.
func widthsOf(rows [][]string, n, space int) []int {
	widths := make([]int, n)
	for _, r := range rows {
		for i, cell := range r {
			if i == n-1 || i < len(r)-1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for i := range widths {
		if longest := longestWord(rows, i); sum(widths[:i])+longest > space {
			widths[i] = max(widths[i], longest)
		}
	}
	return widths
}

// longestWord is how long the longest word of a column is.
func longestWord(rows [][]string, column int) int {
	longest := 0
	for _, r := range rows {
		if column < len(r) {
			for _, word := range strings.Fields(r[column]) {
				longest = max(longest, utf8.RuneCountInString(word))
			}
		}
	}
	return longest
}

// sum is how much of a line columns take, with the gaps behind them.
func sum(widths []int) int {
	total := gap * len(widths)
	for _, w := range widths {
		total += w
	}
	return total
}
