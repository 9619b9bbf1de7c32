package federated

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/portable"
)

// ModelSlot is where a party of any algorithm over clients keeps in its vault what it ends with: a client as RunClient
// says, a server after the last round.
const ModelSlot = "model"

// keptTimes is how often a client keeps its model in the course of a job.
const keptTimes = 16

// keeps reports whether a client keeps its model after a round, counted from 1: after each sixteenth part of a job and
// after the last round. A client that is killed and does not come back before the job is done has the one kept last.
func keeps(round, rounds int) bool {
	return round%max(1, rounds/keptTimes) == 0 || round == rounds
}

// Model is what a party of a job over clients ends with. It is for one goroutine.
type Model interface {
	// Round returns how many of the job's rounds the model has seen.
	Round() int
	// Columns names the inputs in the order of x; nil at a server that does not know them.
	Columns() []string
	// Predict predicts one row from its inputs, in their own units, as a client does between two rounds; row is its
	// number, for errors. At a server, which has no rows, it is not for use.
	Predict(row int, x []float64) (Prediction, error)
	// Portable returns the model as other programs read it. Whose it is and what job it is of are not filled in.
	Portable() *portable.Model
}

// Prediction is what a model says of one row.
type Prediction struct {
	Value       float64 // in the label's units; a class where labels are classes
	Probability float64 // of that class; NaN where labels are numbers
}

// Number is the prediction of a number.
func Number(value float64) Prediction { return Prediction{value, math.NaN()} }
