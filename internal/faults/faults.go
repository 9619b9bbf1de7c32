// Package faults says what becomes of a job when something goes wrong: one table names the faults that pause a job and
// those that end it, and an error carries what other members may know of it.
package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/cohort"
	"github.com/hanse-project/hanse/secagg/psi"
)

// row is what becomes of a job with one fault.
type row struct {
	code  fault.Code
	final bool
	is    func(error) bool
	whose whose
	must  string // what a member must do, for docs/reliability.md
}

// whose says whose a fault is, and whether there is more to say of it.
type whose int

const (
	shared  whose = iota // between parties, or of another
	own                  // of this node: another session with it has no use before it is mended here
	routine              // the code says all there is: no full text is kept
)

// table is the one place that says which fault pauses a job and which ends it, and what a member must do. Rows are
// tried in this order; what none of them knows is contradicted.
var table = []row{
	{fault.CodeDeviation, true, errorIs(contract.ErrDeviation),
		shared, "ask the member that the error names; propose the job anew when its node is right"},
	{fault.CodeData, false, WithCode(fault.CodeData),
		own, "put the old table back, or end the job with hanse cancel"},
	{fault.CodeDamaged, false, func(err error) bool { return IsDamage(err) || errorAs[*vault.VersionError](err) },
		own, "put back a copy of the file that the error names, or end the job with hanse cancel"},
	{fault.CodeClients, false, func(err error) bool {
		return errors.Is(err, federated.ErrPaused) || errors.Is(err, federated.ErrScarce) ||
			WithCode(fault.CodeClients)(err) || errorAs[*cohort.FewerError](err)
	}, routine, "nothing"},
	{fault.CodeDescriptors, false, func(err error) bool {
		return errors.Is(err, syscall.EMFILE) ||
			errors.Is(err, syscall.ENFILE)
	},
		own, "nothing, or raise the limit of open files (ulimit -n)"},
	{fault.CodeMemory, false, func(err error) bool {
		return errors.Is(err, syscall.ENOMEM) || WithCode(fault.CodeMemory)(err)
	},
		own, "give the node more memory, or have the job start all the same with hanse resume"},
	{fault.CodeHeld, false, WithCode(fault.CodeHeld),
		own, "look why the node died, and run hanse resume"},
	{fault.CodeDisk, false, IsDiskFault,
		own, "free some space, or mend the disk"},
	{fault.CodeLeft, false, errorAs[*protocol.AbortError],
		routine, "what the error says of the party that left"},
	{fault.CodeLink, false, isLinkFault,
		routine, "nothing; where a member stays away, ask it"},
	{fault.CodeStopped, false, errorIs(context.Canceled),
		routine, "start the node again"},
	{fault.CodeBusy, false, WithCode(fault.CodeBusy),
		routine, "nothing"},
	{fault.CodeEnding, false, WithCode(fault.CodeEnding),
		routine, "nothing"},
	{fault.CodeLimit, false, WithCode(fault.CodeLimit),
		routine, "nothing; ask that member to decide on earlier proposals, or withdraw or start some"},
	{fault.CodeUnsigned, false, WithCode(fault.CodeUnsigned),
		routine, "consent, or refuse"},
	{fault.CodeEnded, false, WithCode(fault.CodeEnded),
		routine, "nothing"},
	{fault.CodeRows, true, WithCode(fault.CodeRows),
		routine, "run hanse align, and name the alignment as the job's rows"},
	{fault.CodeTooFew, true, errorAs[psi.TooFewError],
		routine, "compare how the ids are written (hanse ids check); propose the alignment anew"},
	{fault.CodeScored, true, WithCode(fault.CodeScored),
		routine, "take the scores from the member that received them, or propose a job with a higher scores_per_row"},
	{fault.CodeUnknown, true, WithCode(fault.CodeUnknown),
		routine, "propose the job anew"},
	{fault.CodeCharter, true, WithCode(fault.CodeCharter),
		shared, "propose the job anew under the charter in force"},
	{fault.CodeJob, true, WithCode(fault.CodeJob),
		shared, "what the error says, or its owner's log; propose the job anew"},
	{fault.CodeContract, true, WithCode(fault.CodeContract),
		shared, "ask the member who proposed it; propose the job anew"},
	{fault.CodeTable, true, WithCode(fault.CodeTable),
		shared, "its owner mends the table, or the job asks for another; propose the job anew"},
	{fault.CodePolicy, true, WithCode(fault.CodePolicy),
		shared, "ask the member whose policy refuses it"},
	{fault.CodeMethod, true, WithCode(fault.CodeMethod),
		routine, "update the older of the two programs"},
	{fault.CodeOffer, true, WithCode(fault.CodeOffer),
		shared, "ask its owner for a [[table]] of that name in the policy"},
	{fault.CodeLabel, true, WithCode(fault.CodeLabel),
		shared, "ask its owner for a [[table]] with that column among its labels"},
	{fault.CodeRequest, true, WithCode(fault.CodeRequest),
		shared, "what the error says"},
	{fault.CodeContradicted, true, func(error) bool { return true },
		own, "read the error; propose the job anew"},
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

// WithCode recognises errors that carry this code, whether this node gave it or another.
func WithCode(c fault.Code) func(error) bool {
	return func(err error) bool {
		var f *Error
		return errors.As(err, &f) && f.Code == c
	}
}

// IsDamage recognises files that are not what was written there.
func IsDamage(err error) bool {
	return errorAs[*vault.DamagedError](err) || WithCode(fault.CodeDamaged)(err)
}

// IsDiskFault recognises what the system says of files, but for the two codes before: whatever it refuses, and also
// where the error has lost which file and which call it was.
func IsDiskFault(err error) bool {
	if errorAs[*net.OpError](err) {
		return false
	}
	return errorAs[*vault.WriteError](err) || errorAs[*fs.PathError](err) || errorAs[*os.LinkError](err) ||
		errorAs[*os.SyscallError](err) || errorAs[syscall.Errno](err) || errors.Is(err, io.ErrShortWrite) ||
		WithCode(fault.CodeDisk)(err)
}

// isLinkFault recognises parties that are gone and links that break or do not come about. A step of a session that
// fails for another reason than a deviation is one.
func isLinkFault(err error) bool {
	return errorAs[*protocol.GoneError](err) || errorAs[*protocol.StepError](err) || errorAs[*OpenError](err) ||
		errors.Is(err, context.DeadlineExceeded) || WithCode(fault.CodeLink)(err)
}

// CodeOf finds an error in the table.
func CodeOf(err error) (c fault.Code, final bool) {
	var f *Error
	if errors.As(err, &f) && f.Remote { // what another node says of itself stands for itself
		return f.Code, rowOf(f.Code).final
	}
	for _, r := range table {
		if r.is(err) {
			return r.code, r.final
		}
	}
	panic("the last row takes every error")
}

// rowOf finds a code in the table; one that this version does not know ends no job.
func rowOf(c fault.Code) row {
	i := slices.IndexFunc(table, func(r row) bool { return r.code == c })
	if i < 0 {
		return row{code: c}
	}
	return table[i]
}

// IsOwn reports whether a fault is this node's own, which another session meets again until it is mended here.
func IsOwn(err error) bool {
	var f *Error
	if errors.As(err, &f) && f.Remote {
		return false
	}
	c, _ := CodeOf(err)
	return rowOf(c).whose == own
}

// HasReference reports whether there is more to say of a code than the code: the full text is kept under a reference.
func HasReference(c fault.Code) bool { return rowOf(c).whose != routine }

// Waits reports whether who was told a code asks again in a while.
func Waits(c fault.Code) bool {
	return slices.Contains([]fault.Code{fault.CodeBusy, fault.CodeEnding, fault.CodeLimit, fault.CodeVersions}, c)
}

// Permanent reports whether another session would fail in the same way.
func Permanent(err error) bool {
	_, final := CodeOf(err)
	return final
}

// Error is an error that carries its code.
type Error struct {
	Code   fault.Code
	Err    error
	Remote bool         // another node says it of itself
	Who    string       // and who it is
	Said   *fault.Fault // what it says; of this node's own, what was said of it before
	// Of this node's own: what all may know.
	Names   []string
	Numbers []int64
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of this node's own.
func Errorf(c fault.Code, format string, args ...any) error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}

// OrElse gives an error a code that the table does not know it by.
func OrElse(c fault.Code, err error) error {
	if err == nil {
		return nil
	}
	if known, _ := CodeOf(err); known != fault.CodeContradicted {
		return err
	}
	return &Error{Code: c, Err: err}
}

// OfTable gives an error of reading a table that was consented to its code: whatever the system refuses of its file is
// a fault of the table, and not of the node's own disk.
func OfTable(err error) error {
	if c, _ := CodeOf(err); err != nil && c == fault.CodeDisk {
		return &Error{Code: fault.CodeData, Err: err}
	}
	return OrElse(fault.CodeData, err)
}

// SaidBy is a fault as another node said it of itself.
func SaidBy(party string, f *fault.Fault) error {
	return &Error{Code: f.Code, Err: fmt.Errorf("%s: %s", party, f), Remote: true, Said: f, Who: party}
}

// OpenError says that the links of a session did not come about.
type OpenError struct{ Err error }

func (e *OpenError) Error() string { return "links: " + e.Err.Error() }
func (e *OpenError) Unwrap() error { return e.Err }
