package wording

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Wrap breaks a sentence into indented lines of at most width characters, but for words that are longer.
func Wrap(width int, indent, text string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line) > len(indent) && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// Hang breaks a sentence into lines for a screen, the first behind an indent of blanks and the others two further in.
func Hang(indent, text string) string {
	return indent + strings.TrimPrefix(Wrap(Columns, indent+"  ", text), indent+"  ")
}

// Size renders a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// Several joins names, of more than four the first and the last with their number.
func Several(names []string) string {
	if len(names) <= 4 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s to %s (%d)", names[0], names[len(names)-1], len(names))
}

// Time writes a point in time as all screens have it, to the minute and in UTC: members live in several zones.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Age says how long something has lasted, in one unit: "47 s", "5 min", "3 h", "12 d".
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}
