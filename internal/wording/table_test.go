package wording

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestTables lays out a table that fits, one whose sentences hang, one that folds, and one of a word too long.
func TestTables(t *testing.T) {
	const long = "one-time masks: noise to whoever receives it, and so on for a while"
	for name, test := range map[string]struct {
		rows [][]string
		want string
	}{
		"fits":  {[][]string{{"name", "n"}, {"ä", "1"}, {"longer", "22"}}, "  name    n\n  ä       1\n  longer  22\n"},
		"short": {[][]string{{"a", "b", "c"}, {"and longer"}, {"y", ""}}, "  a  b  c\n  and longer\n  y\n"},
		"two":   {[][]string{{"one", "1"}, {}, {"another", "1"}}, "  one  1\n\n  another  1\n"},
		"hangs": {[][]string{{"message", "how"}, {"angles of rows", long + " " + long}}, `
  message         how
  angles of rows  one-time masks: noise to whoever receives it, and so on for a
                  while one-time masks: noise to whoever receives it, and so on
                  for a while
`},
		"folds": {[][]string{{"message", "to", "content", "at most", "protected how"},
			{"angles", "insurer, telco, retailer", "230400 turns16", "460.8 kB", long}}, `
  message  to                        content         at most
      protected how
  angles   insurer, telco, retailer  230400 turns16  460.8 kB
      one-time masks: noise to whoever receives it, and so on for a while
`},
		"a column of many words": {[][]string{
			{"a", "to", "b"}, {"x", "north-park, south-park, east-park, west-park, isle-park", strings.Repeat("b", 40)}}, `
  a  to                                 b
  x  north-park, south-park,            bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
     east-park, west-park, isle-park
`},
	} {
		var b strings.Builder
		table := NewTable(&b, "  ")
		for _, r := range test.rows {
			table.Row(r...)
		}
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != strings.TrimPrefix(test.want, "\n") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestNotesBelowRows stand under their own rows, also where a table ends and the next begins, and are gone with them.
func TestNotesBelowRows(t *testing.T) {
	var b strings.Builder
	table := NewTable(&b, " ")
	table.Row("job", "state")
	table.Row("a", "done")
	table.Note(strings.Repeat("why ", 20) + "so")
	table.Note("")
	table.Row()
	table.Row("second", "1")
	table.Note("next: this")
	table.Note("and that")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	table.Row("later")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := " job  state\n a    done\n     " + strings.TrimSpace(strings.Repeat("why ", 19)) + "\n     why so\n\n" +
		" second  1\n     next: this\n     and that\n later\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestNoTableIsWiderThanAScreen: whatever the cells are, no line is longer than a screen unless a word is too long for
// it, and every word is there, whole and in the order of its cell.
func TestNoTableIsWiderThanAScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zäß]{1,20}`)
		cell := rapid.Map(rapid.SliceOfN(word, 0, 12), func(words []string) string { return strings.Join(words, " ") })
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 1, 8), 1, 5).Draw(t, "rows")
		var b strings.Builder
		table := NewTable(&b, "  ")
		words := map[string]int{}
		for _, r := range rows {
			table.Row(r...)
			for _, w := range strings.Fields(strings.Join(r, " ")) {
				words[w]++
			}
		}
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Columns {
				t.Fatalf("a line of %d characters:\n%s", n, b.String())
			}
		}
		for _, w := range strings.Fields(b.String()) {
			words[w]--
		}
		for w, n := range words {
			if n != 0 {
				t.Fatalf("%q is there %d times too few:\n%s", w, n, b.String())
			}
		}
	})
}
