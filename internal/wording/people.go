package wording

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Wrap breaks a sentence into indented lines of at most width characters, but for words that are longer. A command that
// the sentence names stays on one line, to be copied, if it fits there.
func Wrap(width int, indent, text string) string {
	var b strings.Builder
	line := indent
	for _, word := range unbroken(strings.Fields(text), width-len(indent)) {
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

// unbroken joins the words of each command of this program, as far as its last flag and that flag's value; without
// flags they are two words. A comma, a colon or the like ends a command, and so do more words without a flag than one
// has. The words of a command of more than most characters stay apart.
func unbroken(words []string, most int) []string {
	const arguments = 4 // before the first flag; behind one is its value
	var joined []string
	for len(words) > 0 {
		end := 1
		if strings.TrimLeft(words[0], "(") == "hanse" {
			end = min(2, len(words))
			for i, left := 1, arguments; i < len(words) && left >= 0 && !ends(words[i-1]); i++ {
				switch left--; {
				case strings.HasPrefix(words[i], "-"):
					end, left = i+1, 1
				case end == i && strings.HasPrefix(words[i-1], "-"):
					end = i + 1
				}
			}
		}
		if command := strings.Join(words[:end], " "); utf8.RuneCountInString(command) <= most {
			joined = append(joined, command)
		} else {
			joined = append(joined, words[:end]...)
		}
		words = words[end:]
	}
	return joined
}

// ends reports whether a word is the last of a clause.
func ends(word string) bool { return strings.ContainsAny(word[len(word)-1:], ",;:.)") }

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
