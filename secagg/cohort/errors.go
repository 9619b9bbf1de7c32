package cohort

import (
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
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
	text := fmt.Sprintf("sum %d (%s) is not opened: %d clients stayed for %s, want at least %d", e.Sum,
		e.Kind, e.Stayed, e.Step, e.Want)
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

// FewerError says that a client takes no part in a sum because the candidates are fewer than half of the
// latest sum's. It is no deviation: clients may have left. The next time half as many are enough.
type FewerError struct {
	Sum                uint64
	Candidates, Before int
}

// Error implements error.
func (e *FewerError) Error() string {
	return fmt.Sprintf("sum %d: the server names %d candidates after %d, fewer than half: this client takes no part",
		e.Sum, e.Candidates, e.Before)
}

// SpentError says that a client helps to draw no more graphs in a job: the server has let too many be drawn
// without ending their sums.
type SpentError struct {
	Sum   uint64 // that it takes no part in
	Spent uint64
}

// Error implements error.
func (e *SpentError) Error() string {
	return fmt.Sprintf("sum %d: %d graphs were drawn in this job whose sums this client has not seen "+
		"to their end, at most %d: it draws no more", e.Sum, e.Spent, maxSpent)
}

// Unwrap says that the server has deviated.
func (e *SpentError) Unwrap() error { return contract.ErrDeviation }

// ofSize refuses a message that has not so many bytes.
func ofSize(m protocol.Message, size int) error {
	if len(m.Payload) != size {
		return fmt.Errorf("it has %d bytes, want %d", len(m.Payload), size)
	}
	return nil
}

// EquivocationError is what a client finds when the server has shown a neighbour another list of
// survivors, or another coin of the graph, than it has shown this client. The client hands out no share.
type EquivocationError struct {
	Sum       uint64
	Neighbour string
}

// Error implements error.
func (e *EquivocationError) Error() string {
	return fmt.Sprintf("sum %d: the server has shown %s another list of survivors, or other nonces, "+
		"or changed its tag: no share is handed out", e.Sum, e.Neighbour)
}
