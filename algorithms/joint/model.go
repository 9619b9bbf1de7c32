package joint

import (
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// Reading is how a party's table was read, as its owner chose: new rows and an audit are to read as the training did.
// Zero fields were not chosen.
type Reading struct {
	ID          string            `cbor:"1,keyasint,omitempty"`  // the id column
	Categorical []string          `cbor:"2,keyasint,omitempty"`  // columns that hold codes or texts
	Missing     string            `cbor:"3,keyasint,omitempty"`  // what missing cells became
	NA          []string          `cbor:"4,keyasint,omitempty"`  // what stands for a missing cell beside the empty one
	NAChosen    bool              `cbor:"5,keyasint,omitempty"`  // NA was chosen, be it that nothing else does
	Columns     []string          `cbor:"6,keyasint,omitempty"`  // the only columns that jobs may use
	Ignore      []string          `cbor:"7,keyasint,omitempty"`  // columns that jobs may not use
	Levels      string            `cbor:"8,keyasint,omitempty"`  // what becomes of levels that training never saw
	Dates       string            `cbor:"9,keyasint,omitempty"`  // how dates are read that could be read in two ways
	DateOrders  map[string]string `cbor:"10,keyasint,omitempty"` // which columns were dates, and how they were read
	Delimiter   string            `cbor:"11,keyasint,omitempty"` // what separated the columns
	Decimal     string            `cbor:"12,keyasint,omitempty"` // what stood before the decimals
	Thousands   string            `cbor:"13,keyasint,omitempty"` // what stood between thousands
	Units       []string          `cbor:"14,keyasint,omitempty"` // what was taken off numbers
}

// Model is what is known of a party's part of a model whatever its algorithm is.
type Model struct {
	Goal       Goal
	Contract   keys.Hash          // that trained it
	Owner      keys.ID            // the party
	Names      []string           // all parties, in the job's order
	Privacy    string             // of the training
	Columns    []string           // the party's feature columns, in order
	Normaliser *kernel.Normaliser // of these; nil at a party that brought nothing
	Reading    *Reading           // how its table was read; nil: as any is
	Mean       float64            // of a regression; see Unit
	Scale      float64
	Classes    []string // their names, of two those of -1 and +1

	// Turned is that this party, who has the labels, reads scores the other way round: as those of the first of two
	// Classes, the rarer of its rows. It is nobody else's to know: all parts have the classes in one order.
	Turned bool
	Holds  bool // the party has coefficients
	// Probable is that scores are the logarithms of odds, so that probabilities follow from them.
	Probable bool

	Features     int     // that scores are made of
	Sigma        float64 // the kernel's width
	Lambda       float64 // the regulariser that the training chose; 0: the job says it, or this party does not know it
	Objective    float64 // NaN where this party does not know it
	TrainError   float64 // share of wrong labels, or RMSE; NaN where this party does not know it
	Iterations   int
	NotConverged string // that the solver did not reach the optimum, in words; empty: it did
	Secret       []byte // of this party's, for keys that follow from the part
}

// Unit returns a score in the target's own units.
func (m *Model) Unit(score float64) float64 { return score*m.Scale + m.Mean }

// Sides returns the two classes as this party reads scores: the larger a score the likelier the second, the event.
func (m *Model) Sides() [2]string {
	if m.Turned {
		return [2]string{m.Classes[1], m.Classes[0]}
	}
	return [2]string(m.Classes)
}

// Event returns the class of two that this party reads scores as, empty where there are not two.
func (m *Model) Event() string {
	if m.Goal.ClassCount() != 2 {
		return ""
	}
	return m.Sides()[1]
}

// Turn makes scores or labels of the model what this party reads, and the other way round, in place.
func (m *Model) Turn(values []float64) {
	if !m.Turned {
		return
	}
	for i := range values {
		values[i] = 0 - values[i] // so that 0 stays 0
	}
}

// Class returns the place in Model.Classes of the class that a row's scores say: of two the second where the one score
// is above 0, of more the first with the largest score.
func Class(scores []float64) int {
	if len(scores) == 1 {
		if scores[0] > 0 {
			return 1
		}
		return 0
	}
	best := 0
	for k, f := range scores {
		if f > scores[best] {
			best = k
		}
	}
	return best
}
