// Package terminal is what a person at a terminal sees and answers: tables, sentences that fit its width, a job's
// progress, a log, and questions.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// JSON prints one object on one line.
func JSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// maxText is the longest text of a line, in bytes.
const maxText = 4000

// Printable makes one line that prints of a text in which words of other members may be. Blanks at its beginning stay:
// lines of a summary are indented.
func Printable(text string) string {
	rest := strings.TrimLeft(text, " ")
	return text[:min(len(text)-len(rest), 40)] + wording.Line(rest, maxText)
}

// Sentence prints a sentence on lines of at most 80 characters; those after the first stand further in.
func Sentence(w io.Writer, indent, text string) {
	fmt.Fprint(w, wording.Hang(indent, Printable(text)))
}

// Percent writes a part of 1.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// Sparkline draws values as a row of at most width block characters, the lowest as the smallest.
func Sparkline(values []float64, width int) string {
	if len(values) == 0 {
		return ""
	}
	width = min(width, len(values))
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for i := range width {
		v := values[i*(len(values)-1)/max(width-1, 1)]
		level := 0
		if high > low {
			level = int((v - low) / (high - low) * float64(len(blocks)-1))
		}
		b.WriteRune(blocks[level])
	}
	return b.String()
}
