package point

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestFindEqualsPlainSearch compares places with those of a search from the start, up to the first word that is there
// already.
func TestFindEqualsPlainSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3).Draw(t, "size")
		n := rapid.IntRange(0, 60).Draw(t, "n")
		list := rapid.SliceOfN(rapid.Byte(), n*size, n*size).Draw(t, "list")
		x, again := NewIndex(list, size)
		known := n
		if again >= 0 {
			known = again
		}
		plain := func(word []byte, below int) int {
			for i := range below {
				if bytes.Equal(list[size*i:size*(i+1)], word) {
					return i
				}
			}
			return -1
		}
		for i := range known {
			if got := x.Find(list[size*i : size*(i+1)]); got != i || plain(list[size*i:size*(i+1)], i) >= 0 {
				t.Fatalf("word %d of %d is found at %d", i, n, got)
			}
		}
		if again >= 0 && plain(list[size*again:size*(again+1)], again) < 0 {
			t.Fatalf("word %d is said to stand before, and does not", again)
		}
		word := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "word")
		if got, want := x.Find(word), plain(word, known); got != want {
			t.Fatalf("a word is found at %d, want %d", got, want)
		}
	})
}
