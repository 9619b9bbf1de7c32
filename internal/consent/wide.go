package consent

import "math"

// Wide is a rule without the standards that hold where a rule says nothing: jobs of any few rows, and any number of
// them. What the rule says itself stays.
func Wide(r Rule) Rule {
	if r.MinRows == nil {
		r.MinRows = new(int64(0))
	}
	r.Trainings30, r.Alignments30 = new(int64(math.MaxInt64)), new(int64(math.MaxInt64))
	r.ListPercent = new(int64(math.MaxInt64))
	r.RowBits, r.LeastDifference = new(int64(math.MaxInt64)), new(int64(1))
	return r
}
