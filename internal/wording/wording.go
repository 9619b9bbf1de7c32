// Package wording makes text of others fit for errors, reports and screens: cut to a length, of one line, and counted.
package wording

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// MaxWord is the longest word, in bytes; see IsWord.
const MaxWord = 64

// IsWord reports whether s is a name that never needs quoting: 1 to MaxWord characters of a-z, 0-9, "-" and "_", the
// first a letter.
func IsWord(s string) bool {
	ok := 1 <= len(s) && len(s) <= MaxWord && 'a' <= s[0] && s[0] <= 'z'
	for _, r := range s {
		ok = ok && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	}
	return ok
}

// Clip shortens a value from outside for an error, to MaxWord bytes and a mark that it goes on.
func Clip(s string) string { return ClipAt(s, MaxWord) }

// ClipAt is Clip with a limit of its own, in bytes.
func ClipAt(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// Line makes of any text one line of printable characters, of at most so many bytes.
func Line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if s = strings.TrimSpace(s); len(s) > most {
		s = strings.TrimSpace(strings.ToValidUTF8(s[:most], ""))
	}
	return s
}

// plainWord is a word that every shell takes as it stands.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:@%+=,-]+$`)

// Quoted writes a word of a command as a shell reads it.
func Quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// List writes names as a sentence does: "a", "a and b", "a, b and c", with the given word before the last.
func List(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// namedEach is how many parties are named one by one.
const namedEach = 5

// Named names parties one by one, of many the first, and counts the others.
func Named(parties []string) string {
	if n := len(parties) - namedEach; n > 0 {
		return strings.Join(parties[:namedEach], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return List(parties, "and")
}

// Count writes a number of things: "1 row", "2 rows".
func Count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
