package rss

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
)

// DeviationError says that a party did not follow the protocol: no other session can help.
type DeviationError struct {
	Party  string // its name; where two contradict each other, both
	Kind   string // of the message that shows it
	Reason string
}

// Error implements error.
func (e *DeviationError) Error() string {
	return fmt.Sprintf("%s of %s: %s", e.Kind, e.Party, e.Reason)
}

// Unwrap returns protocol.ErrDeviation.
func (e *DeviationError) Unwrap() error { return protocol.ErrDeviation }
