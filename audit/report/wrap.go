package report

import (
	"strings"
	"unicode/utf8"
)

// width is how many characters a line of text holds.
const width = 80

// wrap breaks a text into lines, each behind its indent; a word longer than a line is cut up.
func wrap(indent, text string) []string {
	room := width - len(indent)
	var lines []string
	line := ""
	for _, word := range pieces(text, room) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room:
			lines = append(lines, indent+line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, indent+line)
	}
	return lines
}

// pieces returns the words of a text, those longer than room in parts.
func pieces(text string, room int) []string {
	var out []string
	for _, word := range strings.Fields(text) {
		letters := []rune(word)
		for len(letters) > room {
			out = append(out, string(letters[:room]))
			letters = letters[room:]
		}
		out = append(out, string(letters))
	}
	return out
}
