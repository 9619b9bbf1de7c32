package architecture

import (
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// dictionary holds words that had a meaning of our own, beside the one that readers know, and the
// word that says it plainly. docs/design.md explains them.
var dictionary = map[string]string{
	"seat": "party, server or client", "town": "party, server or client", "school": "party, server or client",
	"park": "wait", "lane": "session stream", "shelf": "cache", "leash": "limit", "hush": "quiet", "rouse": "wake",
	"errand": "task", "courier": "sender", "narrator": "log", "saboteur": "adversary", "assault": "attack result",
	"league": "test network", "simnet": "testnet",
}

// elsewhere lists folders in which a word of the dictionary is a word of the field.
var elsewhere = map[string][]string{
	"lane":   {"algorithms", "secagg"}, // one of the numbers that a processor adds at a time
	"letter": {"internal/dataset"},     // of an alphabet
	// Sun and wind parks, houses and the towns that they are in: whose data the online trials make up.
	"park":  {"internal/trial", "internal/demo", "lab/chaos", "cmd/hanse", "examples"},
	"house": {"internal/trial", "internal/demo", "examples"},
	"town":  {"internal/trial", "examples"},
}

// named holds words that are plain English in a sentence, but no name for a thing of ours. They are
// looked for in identifiers and in names of files, not in comments.
var named = map[string]string{
	"room": "session id, or space", "letter": "message", "tell": "send", "hear": "receive", "attend": "run client",
	"sight": "view", "slack": "tolerance", "crew": "members", "house": "party", "book": "address book",
}

// wordsLeft says how many uses of such words are left in a folder. A number may only fall; a folder
// without one has none.
var wordsLeft = map[string]int{}

var (
	// wordIn finds the words of an identifier: upperCamel, lowerCamel, snake_case and digits apart.
	wordIn = regexp.MustCompile(`[A-Z]+s?(?:[^a-zA-Z]|$)|[A-Z]?[a-z]+|[A-Z]+`)
	// textWord finds the words of a comment.
	textWord = regexp.MustCompile(`[a-zA-Z]+`)
)

// TestWordsHaveOneMeaning reads all identifiers, names of files and comments for words of the
// dictionary.
func TestWordsHaveOneMeaning(t *testing.T) {
	found := make(map[string][]string)
	eachSource(t, func(s source) {
		if s.folder == "internal/architecture" {
			return
		}
		note := func(at, word, plain string) {
			for _, folder := range elsewhere[singular(word)] {
				if within(s.folder, folder) {
					return
				}
			}
			found[s.folder] = append(found[s.folder], fmt.Sprintf("%s: %s: say %s", at, word, plain))
		}
		name := func(at, identifier string) {
			before := ""
			for _, word := range wordIn.FindAllString(identifier, -1) {
				word = singular(word)
				if plain, ok := dictionary[word]; ok {
					note(at+" "+identifier, word, plain)
				} else if plain, ok := named[word]; ok && !(before == "address" && word == "book") {
					note(at+" "+identifier, word, plain)
				}
				before = word
			}
		}
		name(s.path, strings.TrimSuffix(filepath.Base(s.path), ".go"))
		seen := make(map[string]bool) // each identifier counts once a file
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
				seen[id.Name] = true
				name(s.at(id.Pos()), id.Name)
			}
			return true
		})
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				for _, word := range textWord.FindAllString(c.Text, -1) {
					if plain, ok := dictionary[singular(word)]; ok {
						note(s.at(c.Pos()), word, plain)
					}
				}
			}
		}
	})
	onlyFewer(t, "uses of words with a second meaning", wordsLeft, found)
}

// singular returns a word in lower case without the endings that nouns and verbs take.
func singular(word string) string {
	word = strings.ToLower(word)
	if word == "shelves" {
		return "shelf"
	}
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		stem := strings.TrimSuffix(word, ending)
		if _, ok := dictionary[stem]; ok && stem != word {
			return stem
		}
		if _, ok := named[stem]; ok && stem+"s" == word {
			return stem
		}
	}
	return word
}

// longest is the longest line of Go, in characters; a tab is one.
const longest = 120

// linesLeft says how many lines of a folder are longer. A number may only fall; a folder without one
// has none.
var linesLeft = map[string]int{
	"internal/node":    1,
	"lab/labtest":      1,
	"lab/papers/fdskl": 4,
}

// longText is how long a text in quotes must be for its line in a test to be as long as it takes:
// tests hold sentences to the letter.
const longText = 60

// TestLinesAreShort looks for lines that are longer than a screen is wide.
func TestLinesAreShort(t *testing.T) {
	quoted := regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	found := make(map[string][]string)
	eachSource(t, func(s source) {
		for i, line := range strings.Split(string(s.text), "\n") {
			n := utf8.RuneCountInString(line)
			sentence := func(q string) bool { return utf8.RuneCountInString(q) > longText }
			if n <= longest || s.test && slices.ContainsFunc(quoted.FindAllString(line, -1), sentence) {
				continue
			}
			found[s.folder] = append(found[s.folder], fmt.Sprintf("%s:%d: %d characters", s.path, i+1, n))
		}
	})
	onlyFewer(t, fmt.Sprintf("lines of more than %d characters", longest), linesLeft, found)
}

// onlyFewer fails if a folder has more of something than is left over from before. The table that
// it then prints is what the list of leftovers would be today.
func onlyFewer(t *testing.T, what string, left map[string]int, found map[string][]string) {
	t.Helper()
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		if now, before := found[folder], left[folder]; len(now) > before {
			t.Errorf("%s has %d %s, at most %d were left:\n\t%s", folder, len(now), what, before, strings.Join(now, "\n\t"))
		}
	}
	if t.Failed() {
		var table strings.Builder
		for _, folder := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&table, "\t%q: %d,\n", folder, len(found[folder]))
		}
		t.Logf("today's list:\n%s", table.String())
	}
}
