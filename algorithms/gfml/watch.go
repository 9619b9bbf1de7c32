package gfml

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// A watch judges the squared error by windows of this many rows. It calls a model divergent whose
// mean squared error is this many times that of the model 0, which is the mean square of the target,
// and has risen this many windows in a row. Both are strict, lest a client whose targets are smaller
// than its neighbours' raises an alarm; slower growth ends at the bound of uploads.
const (
	watchRows  = 50
	watchTimes = 100
	watchRises = 5
)

// DivergenceError says that a model grows without bound. The training must stop.
type DivergenceError struct {
	Who       string  // the party
	Iteration int     // when it was noticed
	What      string  // what was seen
	Step      float64 // the job's learning rate
}

// Error implements error.
func (e *DivergenceError) Error() string {
	return fmt.Sprintf("%s, iteration %d: the model diverges: %s; step is %v, try a smaller one", e.Who, e.Iteration,
		e.What, e.Step)
}

// watch notices that a model diverges. The zero watch has seen nothing.
type watch struct {
	Rows   int     `cbor:"1,keyasint"` // in this window so far
	Errors float64 `cbor:"2,keyasint"` // sum of squared errors in it
	Power  float64 `cbor:"3,keyasint"` // sum of squared targets in it
	Last   float64 `cbor:"4,keyasint"` // mean squared error of the window before
	Rises  int     `cbor:"5,keyasint"` // windows in a row with more error than the one before
}

// observe takes the squared error of a row and the square of its target, and says what is wrong, or
// nothing.
func (w *watch) observe(squaredError, squaredTarget float64) string {
	if !parameters.IsFinite(squaredError) {
		return fmt.Sprintf("the squared error is %v", squaredError)
	}
	w.Rows, w.Errors, w.Power = w.Rows+1, w.Errors+squaredError, w.Power+squaredTarget
	if w.Rows < watchRows {
		return ""
	}
	mse, power := w.Errors/watchRows, w.Power/watchRows
	rises := 0
	if mse > w.Last {
		rises = w.Rises + 1
	}
	*w = watch{Last: mse, Rises: rises}
	if rises < watchRises || !(mse > watchTimes*power) {
		return ""
	}
	return fmt.Sprintf("its mean squared error has risen to %.3g where the target's mean square is %.3g", mse, power)
}
