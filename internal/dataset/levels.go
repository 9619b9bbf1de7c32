package dataset

import "slices"

// sortLevels sorts the levels and renumbers the codes.
func (c *Column) sortLevels() {
	c.recode(slices.Sorted(slices.Values(c.Levels)))
}

// recode renumbers the codes, in place, for a sorted list that has all of the column's levels.
func (c *Column) recode(sorted []string) {
	to := make([]int32, len(c.Levels))
	for i, level := range c.Levels {
		at, _ := slices.BinarySearch(sorted, level)
		to[i] = int32(at)
	}
	for i, code := range c.Codes {
		if code >= 0 {
			c.Codes[i] = to[code]
		}
	}
	c.Levels = sorted
}
