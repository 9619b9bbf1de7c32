package fdskl

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// angleRow is a run of opened angles: turns in Z_{2^16} when they were masked, radians when they
// were published. The other slice is empty.
type angleRow struct {
	turns   []uint16
	radians []float64
}

// cut splits the first n angles off.
func (a angleRow) cut(n int) (head, tail angleRow) {
	if len(a.radians) > 0 {
		return angleRow{radians: a.radians[:n]}, angleRow{radians: a.radians[n:]}
	}
	return angleRow{turns: a.turns[:n]}, angleRow{turns: a.turns[n:]}
}

// append adds the angles of b behind those of a.
func (a angleRow) append(b angleRow) angleRow {
	return angleRow{turns: append(a.turns, b.turns...), radians: append(a.radians, b.radians...)}
}

// phi returns sqrt(2) cos of angle i.
func (a angleRow) phi(cosines []float64, i int) float64 {
	if len(a.radians) > 0 {
		return math.Sqrt2 * math.Cos(a.radians[i])
	}
	return cosines[a.turns[i]]
}

// allCosines lists the table's entries.
func allCosines(table *kernel.Table) []float64 {
	turns := make([]uint16, 1<<16)
	for i := range turns {
		turns[i] = uint16(i)
	}
	cosines := make([]float64, len(turns))
	table.Features64(cosines, turns)
	return cosines
}
