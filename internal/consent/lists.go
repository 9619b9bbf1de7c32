package consent

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol/contract"
)

// Listed is how many ids a party lists in an alignment, under all keys.
func Listed(f *contract.Facts) int {
	ids := 0
	for _, n := range f.IDs {
		ids += n
	}
	return ids
}

// Lists are two lists of an alignment: the longest of those of other parties than one, and the shortest beside that.
type Lists struct{ Longest, Shortest *contract.Facts }

// ListsOf returns what a party holds against each other; ok is false where there are no two lists, one of them
// another's.
func ListsOf(c *contract.Contract, self string) (l Lists, ok bool) {
	for i := range c.Parties {
		f := &c.Parties[i]
		if len(f.IDs) > 0 && f.Name != self && (l.Longest == nil || Listed(f) > Listed(l.Longest)) {
			l.Longest = f
		}
	}
	for i := range c.Parties {
		f := &c.Parties[i]
		if len(f.IDs) > 0 && f != l.Longest && (l.Shortest == nil || Listed(f) < Listed(l.Shortest)) {
			l.Shortest = f
		}
	}
	return l, l.Longest != nil && l.Shortest != nil
}

// Percent is how long the one list is, in percent of the other, rounded up.
func (l *Lists) Percent() int64 {
	return divide(times(100, int64(Listed(l.Longest))), int64(Listed(l.Shortest)))
}

// listPercent bounds how many ids another party lists in an alignment. Who asks and who keeps does not matter: each
// learns which of its ids are common, and what is beyond the shortest list cannot be.
var listPercent = standing("list_percent", "in an alignment no other party lists more than %d %% of the ids of the "+
	"shortest list beside its own", func(r *Rule) *int64 { return r.ListPercent }, true, StandardPercent,
	func(c *Case, most int64) (bool, string, string) {
		l, ok := ListsOf(c.Contract, c.Self)
		if !ok || c.job().Task != contract.TaskAlign || !c.brings() {
			return true, "", ""
		}
		return l.Percent() <= most, fmt.Sprintf("%d ids that %s lists, %d %% of the %d that %s lists", Listed(l.Longest),
			l.Longest.Name, l.Percent(), Listed(l.Shortest), l.Shortest.Name), fmt.Sprintf("at most %d %%", most)
	})
