package protocol

import (
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// StepError says which peer failed in which step of a session, and why.
type StepError struct {
	Peer      string // member name
	Other     string // of two that contradict each other, where it is not known which deviates; else empty
	Operation uint64
	Kind      string // message kind, such as "angles"
	Err       error
}

// Error implements error.
func (e *StepError) Error() string {
	who := e.Peer
	if e.Other != "" {
		who += " or " + e.Other
	}
	return fmt.Sprintf("operation %d (%s): %s: %v", e.Operation, e.Kind, who, e.Err)
}

// Unwrap returns the cause: a *GoneError, an ErrDeviation, or a context's error.
func (e *StepError) Unwrap() error { return e.Err }

// deviation makes an error that wraps ErrDeviation but reads as the reason alone.
func deviation(format string, args ...any) error {
	return &deviationError{fmt.Sprintf(format, args...)}
}

type deviationError struct{ reason string }

func (e *deviationError) Error() string { return e.reason }
func (e *deviationError) Unwrap() error { return contract.ErrDeviation }

// gone returns the peer that err says is gone, if it says so.
func gone(err error) (keys.ID, bool) {
	var g *GoneError
	if errors.As(err, &g) {
		return g.Peer, true
	}
	return keys.ID{}, false
}
