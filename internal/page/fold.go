package page

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hanse-project/hanse/internal/wording"
)

// textLine is a line of a text for a terminal, for a screen of any width: a sentence, which the browser breaks anew, or
// a row of a table.
type textLine struct {
	Indent int // blanks before it, at most maxIndent
	Cells  []textCell
}

// textCell is a cell of a row with the blanks before it; a sentence has one alone.
type textCell struct{ Gap, Text string }

// maxIndent is the deepest indent that page.css has a class for.
const maxIndent = 12

// gaps are what stands between two cells of a row.
var gaps = regexp.MustCompile(`  +`)

// unbroken puts the sentences of a text together that package wording has broken into lines of wording.Columns
// characters: a line goes on in the next one where both stand as far in and the next one's first word had no room in
// it. No word is left out, added or moved; broken again at the same width the text is the same.
func unbroken(text string) []textLine {
	var lines []textLine
	last := "" // the line before, as it was; "" where nothing goes on from it
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.TrimLeft(line, " ")
		indent := len(line) - len(words)
		isRow := gaps.MatchString(strings.TrimRight(words, " "))
		first, _, _ := strings.Cut(words, " ")
		left := wording.Columns - utf8.RuneCountInString(last)
		if last != "" && words != "" && !isRow && indent == len(last)-len(strings.TrimLeft(last, " ")) &&
			1+utf8.RuneCountInString(first) > left {
			lines[len(lines)-1].Cells[0].Text += " " + words
			last = line
			continue
		}
		l, gap := textLine{Indent: min(indent, maxIndent)}, strings.Repeat(" ", max(indent-maxIndent, 0))
		at := 0
		for _, g := range gaps.FindAllStringIndex(words, -1) {
			l.Cells = append(l.Cells, textCell{gap, words[at:g[0]]})
			gap, at = words[g[0]:g[1]], g[1]
		}
		lines = append(lines, textLine{l.Indent, append(l.Cells, textCell{gap, words[at:]})})
		if last = line; isRow {
			last = ""
		}
	}
	return lines
}
