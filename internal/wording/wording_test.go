package wording

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSentences(t *testing.T) {
	for want, got := range map[string]string{
		"":           List(nil, "and"),
		"a":          List([]string{"a"}, "and"),
		"a or b":     List([]string{"a", "b"}, "or"),
		"a, b and c": List([]string{"a", "b", "c"}, "and"),
		"1 row":      Count(1, "row"),
		"0 rows":     Count(0, "row"),
		"12 rows":    Count(int64(12), "row"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "credit-2_b": true, strings.Repeat("a", MaxWord): true,
		"": false, "1a": false, "-": false, "A": false, "a b": false, "ä": false, strings.Repeat("a", MaxWord+1): false,
	} {
		if IsWord(s) != want {
			t.Errorf("IsWord(%q) is %v", s, !want)
		}
	}
	if got := Clip(strings.Repeat("a", MaxWord+1)); got != strings.Repeat("a", MaxWord)+"…" {
		t.Errorf("clipped to %q", got)
	}
}

// TestLinePrints: whatever comes, a line is short, valid and prints.
func TestLinePrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 40).Draw(t, "most")
		got := Line(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()),
			func(b []byte) string { return string(b) })).Draw(t, "text"), most)
		if len(got) > most || !utf8.ValidString(got) ||
			strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", got)
		}
	})
}
