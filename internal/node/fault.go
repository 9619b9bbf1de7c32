package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
	"github.com/hanse-project/hanse/secagg/rss"
)

// code is a word of the vocabulary; package protocol says what each means, this one what becomes of a job.
type code = protocol.Code

// The codes of faults that come right: the job pauses, and goes on by itself or when a person has mended something.
const (
	codeStopped     = protocol.CodeStopped
	codeLink        = protocol.CodeLink
	codeLeft        = protocol.CodeLeft
	codeDisk        = protocol.CodeDisk
	codeDescriptors = protocol.CodeDescriptors
	codeMemory      = protocol.CodeMemory
	codeData        = protocol.CodeData
	codeDamaged     = protocol.CodeDamaged
	codeClients     = protocol.CodeClients
	codeBusy        = protocol.CodeBusy
	codeLimit       = protocol.CodeLimit
	codeEnded       = protocol.CodeEnded
	codeUnsigned    = protocol.CodeUnsigned
)

// The codes of faults that another session would meet again: the job has failed, at all its parties.
const (
	codeDeviation    = protocol.CodeDeviation
	codeCharter      = protocol.CodeCharter
	codeJob          = protocol.CodeJob
	codeContract     = protocol.CodeContract
	codeTable        = protocol.CodeTable
	codeOffer        = protocol.CodeOffer
	codeLabel        = protocol.CodeLabel
	codePolicy       = protocol.CodePolicy
	codeContradicted = protocol.CodeContradicted
	codeRows         = protocol.CodeRows
	codeScored       = protocol.CodeScored
	codeUnknown      = protocol.CodeUnknown
	codeRequest      = protocol.CodeRequest
	codeMethod       = protocol.CodeMethod
)

// faultRow is what becomes of a job with one fault.
type faultRow struct {
	code  code
	final bool
	is    func(error) bool
	sort  faultSort
	must  string // what a member must do, for docs/reliability.md
}

// faultSort says whose a fault is, and whether there is more to say of it.
type faultSort int

const (
	sortShared  faultSort = iota // between parties, or of another
	sortOwn                      // of this node: another session with it has no use before it is mended here
	sortRoutine                  // the code says all there is: no full text is kept
)

// faults is the one table that says which fault pauses a job and which ends it, and what a member must do. Rows are
// tried in this order; what none of them knows is contradicted.
var faults = []faultRow{
	{codeDeviation, true, errorIs(protocol.ErrDeviation),
		sortShared, "ask the member that the error names; propose the job anew when its node is right"},
	{codeData, false, withCode(codeData),
		sortOwn, "put the old table back, or end the job with hanse cancel"},
	{codeDamaged, false, isDamage,
		sortOwn, "put back a copy of the file that the error names, or end the job with hanse cancel"},
	{codeClients, false, func(err error) bool {
		return errors.Is(err, errPaused) || errors.Is(err, errScarce) || withCode(codeClients)(err) || errorAs[*cohort.FewerError](err)
	}, sortRoutine, "nothing"},
	{codeDescriptors, false, func(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) },
		sortOwn, "nothing, or raise the limit of open files (ulimit -n)"},
	{codeMemory, false, errorIs(syscall.ENOMEM),
		sortOwn, "free some memory"},
	{codeDisk, false, isDiskFault,
		sortOwn, "free some space, or mend the disk"},
	{codeLeft, false, errorAs[*protocol.AbortError],
		sortRoutine, "what the error says of the party that left"},
	{codeLink, false, isLinkFault,
		sortRoutine, "nothing; where a member stays away, ask it"},
	{codeStopped, false, errorIs(context.Canceled),
		sortRoutine, "start the node again"},
	{codeBusy, false, withCode(codeBusy),
		sortRoutine, "nothing"},
	{codeLimit, false, withCode(codeLimit),
		sortRoutine, "nothing; ask that member to decide on earlier proposals, or withdraw some with hanse cancel"},
	{codeUnsigned, false, withCode(codeUnsigned),
		sortRoutine, "consent, or refuse"},
	{codeEnded, false, withCode(codeEnded),
		sortRoutine, "nothing"},
	{codeRows, true, withCode(codeRows),
		sortRoutine, "make the id columns that the error names agree; propose the job anew"},
	{codeScored, true, withCode(codeScored),
		sortRoutine, "take the scores from the member that received them, or propose a job with a higher scores_per_row"},
	{codeUnknown, true, withCode(codeUnknown),
		sortRoutine, "propose the job anew"},
	{codeCharter, true, withCode(codeCharter),
		sortShared, "propose the job anew under the charter in force"},
	{codeJob, true, withCode(codeJob),
		sortShared, "what the error says, or its owner's log; propose the job anew"},
	{codeContract, true, withCode(codeContract),
		sortShared, "ask the member who proposed it; propose the job anew"},
	{codeTable, true, withCode(codeTable),
		sortShared, "its owner mends the table, or the job asks for another; propose the job anew"},
	{codePolicy, true, withCode(codePolicy),
		sortShared, "ask the member whose policy refuses it"},
	{codeMethod, true, withCode(codeMethod),
		sortRoutine, "update the older of the two programs"},
	{codeOffer, true, withCode(codeOffer),
		sortShared, "ask its owner for a [[table]] of that name in the policy"},
	{codeLabel, true, withCode(codeLabel),
		sortShared, "ask its owner for a [[table]] with that column among its labels"},
	{codeRequest, true, withCode(codeRequest),
		sortShared, "what the error says"},
	{codeContradicted, true, func(error) bool { return true },
		sortOwn, "read the error; propose the job anew"},
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

// withCode recognises errors that carry this code, whether this node gave it or another.
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
		return f.code, rowOf(f.code).final
	}
	for _, row := range faults {
		if row.is(err) {
			return row.code, row.final
		}
	}
	panic("the last row takes every error")
}

// rowOf finds a code in the table; one that this version does not know ends no job.
func rowOf(c code) faultRow {
	i := slices.IndexFunc(faults, func(row faultRow) bool { return row.code == c })
	if i < 0 {
		return faultRow{code: c}
	}
	return faults[i]
}

// isOwn reports whether a fault is this node's own, which another session meets again until it is mended here.
func isOwn(err error) bool {
	var f *faultError
	if errors.As(err, &f) && f.remote {
		return false
	}
	c, _ := codeOf(err)
	return rowOf(c).sort == sortOwn
}

// waits reports whether who was told a code asks again in a while.
func waits(c code) bool {
	return slices.Contains([]code{codeBusy, codeLimit, protocol.CodeVersions}, c)
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
	remote bool            // another node says it of itself
	who    string          // and who it is
	said   *protocol.Fault // what it says; of this node's own, what was said of it before
	// Of this node's own: what all may know.
	names   []string
	numbers []int64
}

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

// faultf makes a faultError.
func faultf(c code, format string, args ...any) error {
	return &faultError{code: c, err: fmt.Errorf(format, args...)}
}

// orElse gives an error a code that the table does not know it by.
func orElse(c code, err error) error {
	if err == nil {
		return nil
	}
	if known, _ := codeOf(err); known != codeContradicted {
		return err
	}
	return &faultError{code: c, err: err}
}

// saidBy is a fault as another node said it of itself.
func saidBy(party string, f *protocol.Fault) error {
	return &faultError{code: f.Code, err: fmt.Errorf("%s: %s", party, f), remote: true, said: f, who: party}
}

// inWords makes of an error what others are told of it: a code, and names and numbers that all of them know. The full
// text stays with this node, under a reference. to is who is told, on is what of.
func (n *Node) inWords(err error, to, on string) *protocol.Fault {
	var f *faultError
	if errors.As(err, &f) && f.remote { // who said it has the text
		return &protocol.Fault{Code: protocol.CodeSays, Names: []string{f.who, string(f.said.Code)}, Ref: f.said.Ref}
	}
	if f != nil && f.said != nil {
		return f.said
	}
	c, _ := codeOf(err)
	told := &protocol.Fault{Code: c}
	var step *protocol.StepError
	var deviation *rss.DeviationError
	var left *protocol.AbortError
	switch {
	case f == nil && errors.As(err, &left) && left.Fault.Code == protocol.CodeSays: // somebody before it knows why
		return left.Fault
	case f == nil && errors.As(err, &left) && errors.As(err, &step):
		return (&protocol.Fault{Code: protocol.CodeSays, Names: []string{step.Peer, string(left.Fault.Code)}, Ref: left.Fault.Ref}).Clean()
	case f != nil:
		told.Names, told.Numbers = f.names, f.numbers
	case errors.As(err, &deviation):
		told.Names = []string{deviation.Party}
	case errors.As(err, &step):
		told.Names, told.Numbers = []string{step.Peer, step.Kind}, []int64{int64(step.Operation)}
		if step.Other != "" {
			told.Names = append(told.Names, step.Other)
		}
	}
	if rowOf(c).sort != sortRoutine {
		told.Ref = n.config.References.Add(reference.Entry{At: n.config.Now(), To: to, On: on, Code: string(c),
			Text: err.Error()})
	}
	if told.Ref != "" {
		n.config.Log.Warn("another member was told of a fault by its code alone", "told", to, "on", on, "code", c,
			"ref", told.Ref, "error", err)
	}
	return told.Clean()
}

// openError says that the links of a session did not come about.
type openError struct{ err error }

func (e *openError) Error() string { return "links: " + e.err.Error() }
func (e *openError) Unwrap() error { return e.err }
