package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
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
		code  code
		final bool
	}{
		{"a deviation in a step", step(fmt.Errorf("frame 3 refused: %w", protocol.ErrDeviation)), codeDeviation, true},
		{"a deviation among the three", &rss.DeviationError{Party: "telco", Kind: "held", Reason: "it lies"}, codeDeviation, true},
		{"a link that broke", step(&protocol.GoneError{Reason: "connection reset"}), codeLink, false},
		{"a party that left", step(&protocol.AbortError{Fault: &protocol.Fault{Code: codeDisk}}), codeLeft, false},
		{"links that do not come about", &openError{context.DeadlineExceeded}, codeLink, false},
		{"a node that stops", fmt.Errorf("sum: %w", context.Canceled), codeStopped, false},
		{"a checkpoint on a full disk", &vault.WriteError{Err: path(syscall.ENOSPC)}, codeDisk, false},
		{"a transcript on a full disk", fmt.Errorf("transcript: %w", syscall.ENOSPC), codeDisk, false},
		{"a quota", path(syscall.EDQUOT), codeDisk, false},
		{"a disk that fails", path(syscall.EIO), codeDisk, false},
		{"a disk that is read-only", &os.LinkError{Op: "rename", Err: syscall.EROFS}, codeDisk, false},
		{"a table that is gone", path(syscall.ENOENT), codeDisk, false},
		{"too few descriptors for a file", path(syscall.EMFILE), codeDescriptors, false},
		{"too few descriptors for a link", &openError{os.NewSyscallError("socket", syscall.ENFILE)}, codeDescriptors, false},
		{"no memory", os.NewSyscallError("mmap", syscall.ENOMEM), codeMemory, false},
		{"a table that changed", faultf(codeData, "changed"), codeData, false},
		{"a damaged file", fmt.Errorf("phase: %w", &vault.DamagedError{Path: "phase", Why: "it is empty"}), codeDamaged, false},
		{"a damaged file that cannot be read, either", &vault.WriteError{Err: &vault.DamagedError{Path: "log", Why: "cut"}}, codeDamaged, false},
		{"somebody has come back", errPaused, codeClients, false},
		{"too few clients", errors.Join(errScarce, context.DeadlineExceeded), codeClients, false},
		{"a full disk at another", &faultError{code: codeDisk, err: errors.New("telco: its disk is full"), remote: true}, codeDisk, false},
		{"a code of a later version", &faultError{code: "eclipse", err: errors.New("telco: eclipse"), remote: true}, "eclipse", false},
		{"a contradiction at another", &faultError{code: codeContradicted, err: errors.New("telco: no"), remote: true}, codeContradicted, true},
		{"rows of other people", faultf(codeRows, "bank and telco each have 50 rows"), codeRows, true},
		{"a job that another does not know", &faultError{code: codeUnknown, err: errors.New("telco: no"), remote: true}, codeUnknown, true},
		{"a job that ended at another", &faultError{code: codeEnded, err: errors.New("telco: done"), remote: true}, codeEnded, false},
		{"nobody knows what", errors.New("the width is NaN"), codeContradicted, true},
	} {
		if got, final := codeOf(c.err); got != c.code || final != c.final || permanent(c.err) != c.final {
			t.Errorf("%s: %s, final %v, want %s, %v", c.name, got, final, c.code, c.final)
		}
	}
	seen := make(map[code]bool)
	for _, row := range faults {
		if seen[row.code] || row.must == "" {
			t.Errorf("row %s stands twice, or says nothing to do", row.code)
		}
		seen[row.code] = true
		if row.final != rowOf(row.code).final {
			t.Errorf("row %s: final is %v", row.code, row.final)
		}
	}
}

// TestOthersAreNotToldWhatIsInFiles: of a fault of this node's own others hear what kind it is.
func TestOthersAreNotToldWhatIsInFiles(t *testing.T) {
	l := newLeague(t, 3, 10)
	l.start(0)
	for _, err := range []error{
		&vault.WriteError{Err: &fs.PathError{Op: "write", Path: "/canary", Err: syscall.ENOSPC}},
		&vault.DamagedError{Path: "/canary", Why: "canary"},
		faultf(codeData, "canary changed"),
		errors.New("canary"),
	} {
		s := newJobState(nil, &protocol.Contract{Job: &protocol.Job{Name: "credit"}})
		l.nodes[0].ail(s, err)
		asked := l.nodes[0].inWords(s.ailing(), "insurer", methodConsent)
		if asked.Ref == "" || asked != s.whyPaused() {
			t.Errorf("of %v who asks is told %+v, and who asks how it stands %+v", err, asked, s.whyPaused())
		}
		for _, told := range []*protocol.Fault{l.nodes[0].inWords(err, "insurer", "job credit"), asked} {
			if line := string(told.Encode()); strings.Contains(line, "canary") || strings.Contains(told.String(), "canary") {
				t.Errorf("of %v others are told %q", err, line)
			}
			kept, e := l.nodes[0].config.References.Find(told.Ref)
			if e != nil || len(kept) != 1 || !strings.Contains(kept[0].Text, "canary") {
				t.Errorf("under %s the owner finds %v, %v", told.Ref, kept, e)
			}
		}
	}
	s := newJobState(nil, &protocol.Contract{Job: &protocol.Job{Name: "credit"}})
	if l.nodes[0].ail(s, &protocol.GoneError{Peer: keys.ID{}, Reason: "reset"}); s.ailing() != nil {
		t.Errorf("a broken link keeps this node from the next session: %v", s.ailing())
	}
}

// TestWhoLeavesForAnotherSaysWhy: a party that leaves a session because another did passes on why, so that all can name
// who must mend what; and a fault that every session meets has one reference.
func TestWhoLeavesForAnotherSaysWhy(t *testing.T) {
	l := newLeague(t, 3, 10)
	l.start(0)
	first := &protocol.AbortError{Fault: &protocol.Fault{Code: codeDamaged, Ref: "7f3a2c"}}
	told := l.nodes[0].inWords(&protocol.StepError{Peer: "telco", Operation: 3, Kind: "target", Err: first}, "insurer", "job credit")
	if want := "telco says: one of its files is damaged (its owner reads more with hanse jobs --ref 7f3a2c)"; told.String() != want {
		t.Errorf("it says %q, want %q", told, want)
	}
	again := l.nodes[0].inWords(&protocol.StepError{Peer: "bank", Operation: 4, Kind: "target", Err: &protocol.AbortError{Fault: told}}, "insurer", "job credit")
	if again.String() != told.String() {
		t.Errorf("passed on twice it is %q, want %q", again, told)
	}
	s := newJobState(nil, &protocol.Contract{Job: &protocol.Job{Name: "credit"}})
	damage := &vault.DamagedError{Path: "/phase", Why: "flipped"}
	if one, two := l.nodes[0].toldOnce(s, damage), l.nodes[0].toldOnce(s, &vault.DamagedError{Path: "/phase", Why: "flipped"}); one.Ref != two.Ref {
		t.Errorf("one fault has the references %s and %s", one.Ref, two.Ref)
	}
}
