package cohort

import (
	"errors"
	"fmt"
)

// ErrLeftOut is what a client's Sum returns when the server went on without its vector: it came
// too late, or the server dropped the sum. The client can take part in the next one.
var ErrLeftOut = errors.New("the server went on without this client's vector")

// TooFewError says that a sum was not opened because too few clients stayed.
type TooFewError struct {
	Sum    uint64
	Kind   string
	Step   string // what was awaited
	Stayed int
	Want   int
	Lost   []Loss
}

// Error implements error.
func (e *TooFewError) Error() string {
	text := fmt.Sprintf("sum %d (%s) is not opened: %d clients stayed for %s, want at least %d", e.Sum, e.Kind, e.Stayed, e.Step, e.Want)
	if len(e.Lost) > 0 {
		text += fmt.Sprintf("; %d were lost, first %v", len(e.Lost), e.Lost[0])
	}
	return text
}

// Loss says which client was lost in a sum, in which step and why.
type Loss struct {
	Client int
	Name   string
	Step   string // the kind of message that was awaited
	Err    error  // nil: it was silent
}

// String returns the loss as one clause.
func (l Loss) String() string {
	if l.Err == nil {
		return fmt.Sprintf("%s: no %s in time", l.Name, l.Step)
	}
	return fmt.Sprintf("%s: %v", l.Name, l.Err)
}

// EquivocationError is what a client finds when the server has shown a neighbour another list of
// survivors than it has shown this client. The client hands out no share.
type EquivocationError struct {
	Sum       uint64
	Neighbour string
}

// Error implements error.
func (e *EquivocationError) Error() string {
	return fmt.Sprintf("sum %d: the server has shown %s another list of survivors, or changed its tag: no share is handed out", e.Sum, e.Neighbour)
}
