package joint

import (
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Disclosure is what a job opens to whom and what its parties do together, from public numbers
// alone.
type Disclosure struct {
	Openings   []contract.Opening
	Operations []contract.Operation
	Notes      trace.Notes
}

// Progress tells how far a party is.
type Progress struct {
	Step   string
	Done   int
	Total  int
	Metric float64 // objective or running loss; NaN when there is none
}

// ScoreRows is how many rows are scored at a time in a prediction of a whole table: several blocks of a sealed job with
// many features, and one with few, of which a block has at most so many rows.
const ScoreRows = 4080
