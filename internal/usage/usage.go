// Package usage tells mistakes on a command line from failures: a program ends with another exit code for them.
package usage

import "fmt"

// Error is a mistake on the command line.
type Error struct{ Err error }

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an *Error as fmt.Errorf makes an error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }
