package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/rss"
)

// TestFaultTable holds every row: which fault pauses a job and which ends it.
func TestFaultTable(t *testing.T) {
	step := func(err error) error {
		return fmt.Errorf("square: %w", &protocol.StepError{Peer: "telco", Operation: 3, Kind: "angles", Err: err})
	}
	path := func(err error) error { return &fs.PathError{Op: "write", Path: "x", Err: err} }
	for _, c := range []struct {
		name  string
		err   error
		code  fault.Code
		final bool
	}{
		{"a deviation in a step", step(fmt.Errorf("frame 3 refused: %w", contract.ErrDeviation)), fault.CodeDeviation, true},
		{"a deviation among the three", &rss.DeviationError{Parties: []string{"telco"}, Kind: "held", Reason: "it lies"},
			fault.CodeDeviation, true},
		{"a link that broke", step(&protocol.GoneError{Reason: "connection reset"}), fault.CodeLink, false},
		{"a party that left", step(&protocol.AbortError{Fault: &fault.Fault{Code: fault.CodeDisk}}), fault.CodeLeft, false},
		{"links that do not come about", &OpenError{context.DeadlineExceeded}, fault.CodeLink, false},
		{"a node that stops", fmt.Errorf("sum: %w", context.Canceled), fault.CodeStopped, false},
		{"a checkpoint on a full disk", &vault.WriteError{Err: path(syscall.ENOSPC)}, fault.CodeDisk, false},
		{"a transcript on a full disk", fmt.Errorf("transcript: %w", syscall.ENOSPC), fault.CodeDisk, false},
		{"a file that may not grow", fmt.Errorf("payload store: %w", syscall.EFBIG), fault.CodeDisk, false},
		{"a file system that is gone", fmt.Errorf("payload store: %w", syscall.ESTALE), fault.CodeDisk, false},
		{"half a write", fmt.Errorf("payload store: %w", io.ErrShortWrite), fault.CodeDisk, false},
		{"a link that breaks", &protocol.StepError{Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read",
			syscall.ECONNRESET)}}, fault.CodeLink, false},
		{"a quota", path(syscall.EDQUOT), fault.CodeDisk, false},
		{"a disk that fails", path(syscall.EIO), fault.CodeDisk, false},
		{"a disk that is read-only", &os.LinkError{Op: "rename", Err: syscall.EROFS}, fault.CodeDisk, false},
		{"a table that is gone", path(syscall.ENOENT), fault.CodeDisk, false},
		{"too few descriptors for a file", path(syscall.EMFILE), fault.CodeDescriptors, false},
		{"too few descriptors for a link", &OpenError{os.NewSyscallError("socket", syscall.ENFILE)}, fault.CodeDescriptors,
			false},
		{"no memory", os.NewSyscallError("mmap", syscall.ENOMEM), fault.CodeMemory, false},
		{"a table that changed", Errorf(fault.CodeData, "changed"), fault.CodeData, false},
		{"a damaged file", fmt.Errorf("phase: %w", &vault.DamagedError{Path: "phase", Why: "it is empty"}),
			fault.CodeDamaged, false},
		{"a damaged file that cannot be read, either", &vault.WriteError{Err: &vault.DamagedError{Path: "log", Why: "cut"}},
			fault.CodeDamaged, false},
		{"somebody has come back", federated.ErrPaused, fault.CodeClients, false},
		{"too few clients", errors.Join(federated.ErrScarce, context.DeadlineExceeded), fault.CodeClients, false},
		{"a full disk at another", &Error{Code: fault.CodeDisk, Err: errors.New("telco: its disk is full"), Remote: true},
			fault.CodeDisk, false},
		{"a code of a later version", &Error{Code: "eclipse", Err: errors.New("telco: eclipse"), Remote: true}, "eclipse",
			false},
		{"a contradiction at another", &Error{Code: fault.CodeContradicted, Err: errors.New("telco: no"), Remote: true},
			fault.CodeContradicted, true},
		{"rows of other people", Errorf(fault.CodeRows, "bank and telco each have 50 rows"), fault.CodeRows, true},
		{"a job that another does not know", &Error{Code: fault.CodeUnknown, Err: errors.New("telco: no"), Remote: true},
			fault.CodeUnknown, true},
		{"a job that ended at another", &Error{Code: fault.CodeEnded, Err: errors.New("telco: done"), Remote: true},
			fault.CodeEnded, false},
		{"nobody knows what", errors.New("the width is NaN"), fault.CodeContradicted, true},
	} {
		if got, final := CodeOf(c.err); got != c.code || final != c.final || Permanent(c.err) != c.final {
			t.Errorf("%s: %s, final %v, want %s, %v", c.name, got, final, c.code, c.final)
		}
	}
	seen := make(map[fault.Code]bool)
	for _, row := range table {
		if seen[row.code] || row.must == "" {
			t.Errorf("row %s stands twice, or says nothing to do", row.code)
		}
		seen[row.code] = true
		if row.final != rowOf(row.code).final {
			t.Errorf("row %s: final is %v", row.code, row.final)
		}
	}
}
