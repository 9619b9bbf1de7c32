//go:build !linux

package chaos

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/internal/localnet"
)

// errElsewhere is why some kinds are skipped.
var errElsewhere = errors.New("this kind of trial runs on Linux alone")

func suspend(*localnet.Process) error           { return errElsewhere }
func proceed(*localnet.Process)                 {}
func mountMemory(string, int) error             { return errElsewhere }
func unmount(string) error                      { return errElsewhere }
func isFull(error) bool                         { return false }
func openFiles(int) (int, error)                { return 0, errElsewhere }
func limitFiles(int, uint64) (uint64, error)    { return 0, errElsewhere }
func unableToStop(context.Context, *lab) error  { return errElsewhere }
func unableToMount(context.Context, *lab) error { return errElsewhere }
func unableToLimit(context.Context, *lab) error { return errElsewhere }
