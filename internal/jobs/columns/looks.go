package columns

import (
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/forecast"
)

// looks are what the table that was looked at last says of how long jobs take.
type looks struct {
	mu      sync.Mutex
	density forecast.Density
	took    time.Duration // how long the facts that were stated last took
}

// known is what a forecast has of a table.
func (l *looks) known() forecast.Known {
	l.mu.Lock()
	defer l.mu.Unlock()
	return forecast.Known{Density: l.density, Facts: l.took}
}

// at notes the density of a table.
func (l *looks) at(rows *kernel.Matrix) {
	density := forecast.DensityOf(rows)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.density = density
}

// since notes that facts were stated just now, from a time on.
func (l *looks) since(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = time.Since(began)
}
