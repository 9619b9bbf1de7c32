package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol"
)

// code names why a session ended before its time, or a request was not answered. Codes cross the wire.
type code string

// The codes of faults that come right: the job pauses, and goes on by itself or when a person has mended something.
const (
	codeStopped     code = "stopped"     // this node was stopped
	codeLink        code = "link"        // a party is gone or silent, or links do not come about
	codeLeft        code = "left"        // a party left the session and said why
	codeDisk        code = "disk"        // a file cannot be written or read
	codeDescriptors code = "descriptors" // too many files are open
	codeMemory      code = "memory"      // the system has no memory left
	codeData        code = "data"        // a table is not the one consented to
	codeDamaged     code = "damaged"     // a file of this node's is not what was written there
	codeClients     code = "clients"     // a session over clients ends for another to follow
	codeBusy        code = "busy"        // a node is not ready yet
	codeEnded       code = "ended"       // the job has ended at another party, which says how when it is asked
	codeUnsigned    code = "unsigned"    // not all parties have signed, or a person has yet to consent
)

// The codes of faults that another session would meet again: the job has failed, at all its parties.
const (
	codeDeviation    code = "deviation"    // a party did not follow the protocol
	codeContradicted code = "contradicted" // parties, or a party and its own files, contradict each other
	codeUnknown      code = "unknown"      // the party has no such job
	codeRequest      code = "request"      // the request cannot be answered as it is: its text says why
)

// faults is the one table that says which fault pauses a job and which ends it, and what a member must do. Rows are
// tried in this order; what none of them knows is contradicted.
var faults = []struct {
	code  code
	final bool
	is    func(error) bool
	told  string // what the other members are told of a fault of this node's own
	must  string // what a member must do, for docs/reliability.md
}{
	{codeDeviation, true, errorIs(protocol.ErrDeviation),
		"", "ask the member that the error names; propose the job anew when its node is right"},
	{codeData, false, withCode(codeData),
		"its table is not the one that it consented to", "put the old table back, or end the job with hanse cancel"},
	{codeDamaged, false, isDamage,
		"one of its files is damaged", "put back a copy of the file that the error names, or end the job with hanse cancel"},
	{codeClients, false, func(err error) bool {
		return errors.Is(err, errPaused) || errors.Is(err, errScarce) || withCode(codeClients)(err)
	}, "", "nothing"},
	{codeDescriptors, false, func(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) },
		"too many files are open there", "nothing, or raise the limit of open files (ulimit -n)"},
	{codeMemory, false, errorIs(syscall.ENOMEM),
		"its memory is full", "free some memory"},
	{codeDisk, false, isDiskFault,
		"its disk is full, or cannot be written or read", "free some space, or mend the disk"},
	{codeLeft, false, errorAs[*protocol.AbortError],
		"", "what the error says of the party that left"},
	{codeLink, false, isLinkFault,
		"", "nothing; where a member stays away, ask it"},
	{codeStopped, false, errorIs(context.Canceled),
		"", "start the node again"},
	{codeBusy, false, withCode(codeBusy),
		"", "nothing"},
	{codeUnsigned, false, withCode(codeUnsigned),
		"", "consent, or refuse"},
	{codeEnded, false, withCode(codeEnded),
		"", "nothing"},
	{codeUnknown, true, withCode(codeUnknown),
		"", "propose the job anew"},
	{codeRequest, true, withCode(codeRequest),
		"", "what the error says"},
	{codeContradicted, true, func(error) bool { return true },
		"its files or its parts of the job contradict each other", "read the error; propose the job anew"},
}

// errorIs is errors.Is for the table.
func errorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// errorAs is errors.As for the table.
func errorAs[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// withCode recognises errors that carry a code, this node's or another's.
func withCode(c code) func(error) bool {
	return func(err error) bool {
		var f *faultError
		return errors.As(err, &f) && f.code == c
	}
}

// isDamage recognises files that are not what was written there.
func isDamage(err error) bool { return errorAs[*vault.DamagedError](err) || withCode(codeDamaged)(err) }

// isDiskFault recognises what the system says of files, but for the two codes before.
func isDiskFault(err error) bool {
	return errorAs[*vault.WriteError](err) || errorAs[*fs.PathError](err) || errorAs[*os.LinkError](err) || errorAs[*os.SyscallError](err) || withCode(codeDisk)(err) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO)
}

// isLinkFault recognises parties that are gone and links that break or do not come about. A step of a session that
// fails for another reason than a deviation is one.
func isLinkFault(err error) bool {
	return errorAs[*protocol.GoneError](err) || errorAs[*protocol.StepError](err) || errorAs[*openError](err) ||
		errors.Is(err, context.DeadlineExceeded) || withCode(codeLink)(err)
}

// codeOf finds an error in the table.
func codeOf(err error) (c code, final bool) {
	var f *faultError
	if errors.As(err, &f) && f.remote { // what another node says of itself stands for itself
		return f.code, isFinal(f.code)
	}
	for _, row := range faults {
		if row.is(err) {
			return row.code, row.final
		}
	}
	panic("the last row takes every error")
}

// isFinal reports whether a code ends a job; one that this version does not know does not.
func isFinal(c code) bool {
	for _, row := range faults {
		if row.code == c {
			return row.final
		}
	}
	return false
}

// toldOf is what the other members are told of a fault of this node's own; nothing where it is not of its own.
func toldOf(err error) string {
	var f *faultError
	if errors.As(err, &f) && f.remote {
		return ""
	}
	c, _ := codeOf(err)
	for _, row := range faults {
		if row.code == c {
			return row.told
		}
	}
	return ""
}

// permanent reports whether another session would fail in the same way.
func permanent(err error) bool {
	_, final := codeOf(err)
	return final
}

// faultError is an error that carries its code.
type faultError struct {
	code   code
	err    error
	remote bool // another node says it of itself
}

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

// faultf makes a faultError.
func faultf(c code, format string, args ...any) error {
	return &faultError{code: c, err: fmt.Errorf(format, args...)}
}

// openError says that the links of a session did not come about.
type openError struct{ err error }

func (e *openError) Error() string { return "links: " + e.err.Error() }
func (e *openError) Unwrap() error { return e.err }
