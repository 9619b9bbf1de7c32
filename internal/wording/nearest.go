package wording

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xrash/smetrics"
)

// DidYouMean is the end of an error about a word that is none of those that are known: it names the one that was
// probably meant, and is empty where none is near.
func DidYouMean(word string, known []string) string {
	if len(word) > MaxWord {
		return ""
	}
	length := utf8.RuneCountInString(word)
	nearest, least := "", min(max(length/3, 1), length-1) // so many characters may be wrong, too many or missing
	for _, k := range known {
		if len(k) > MaxWord || k == word {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least || d == least && nearest == "" {
			nearest, least = k, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", nearest)
}

// distance counts by how many characters words differ; two that changed places are one.
func distance(a, b string) int {
	d := smetrics.WagnerFischer(a, b, 1, 1, 1)
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	if d == 2 && bytes.Equal(x, y) {
		return 1
	}
	return d
}
