package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/internal/wording"
)

// home is where the options of a table are written.
type home struct {
	file     string   // the one beside the table; "" where there can be none
	written  []string // keys that the file has
	location []string // keys that the table's location has, which go before the file

	// What the options have of lists to which advice adds.
	ignore, categorical, missing []string
}

// optionsOf is where they are written where that is no file.
const optionsOf = "the table's options"

// put says in one sentence where lines of options are written, each as TOML has it: put decimal = "," into
// train.csv.toml.
func (h home) put(lines ...string) string {
	text := "put " + wording.List(lines, "and") + " into " + cmp.Or(h.file, optionsOf)
	if behind := h.besides(lines); behind != "" {
		text += ", " + behind
	}
	return text
}

// ignoring says how columns are left out.
func (h home) ignoring(names ...string) string {
	return h.put(optionList("ignore", union(h.ignore, names)))
}

// na returns what says of a table's cells that they are missing: its own texts, or the default ones that it has.
func (h home) na(missed map[string]bool) []string {
	if h.missing != nil {
		return h.missing
	}
	return slices.DeleteFunc(DefaultNA(), func(word string) bool { return !missed[word] })
}

// besides says what becomes of what the file or the location has of the same keys; "" where they have nothing of them.
func (h home) besides(lines []string) string {
	var replaced, first []string
	for _, line := range lines {
		key, _, _ := strings.Cut(line, " = ")
		switch {
		case slices.Contains(h.location, key):
			first = append(first, key)
		case slices.Contains(h.written, key):
			replaced = append(replaced, key)
		}
	}
	var parts []string
	if len(replaced) > 0 {
		parts = append(parts, "in place of its "+wording.List(replaced, "and"))
	}
	if len(first) > 0 {
		parts = append(parts, fmt.Sprintf("with %s taken out of the table's location, which goes before the file",
			wording.List(first, "and")))
	}
	return strings.Join(parts, ", ")
}

// optionLine writes one option of text as a line of TOML.
func optionLine(key, value string) string { return key + " = " + tomlText(value) }

// optionList writes one option of several texts as a line of TOML.
func optionList(key string, words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = tomlText(w)
	}
	return key + " = [" + strings.Join(list, ", ") + "]"
}

// tomlText quotes a text as TOML has it, whole and with nothing that does not show: of two blanks the second is written
// as its number, as a sentence keeps one.
func tomlText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	last := ' '
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > 0xffff && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		case !unicode.IsPrint(r) || r == ' ' && last == ' ':
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
		last = r
	}
	b.WriteByte('"')
	return b.String()
}

// union returns the words of a and those of b that a has not.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
