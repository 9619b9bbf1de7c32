package rss

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/protocol/contract"
)

// DeviationError says that a party did not follow the protocol: no other session can help.
type DeviationError struct {
	Parties []string // the name of who deviates; where it is one of two or three, all their names
	Kind    string   // of the message that shows it
	Reason  string
}

// Error implements error.
func (e *DeviationError) Error() string {
	return fmt.Sprintf("%s of %s: %s", e.Kind, strings.Join(e.Parties, " or "), e.Reason)
}

// Unwrap returns protocol.ErrDeviation.
func (e *DeviationError) Unwrap() error { return contract.ErrDeviation }
