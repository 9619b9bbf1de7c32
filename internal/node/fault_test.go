package node

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestOthersAreNotToldWhatIsInFiles: of a fault of this node's own others hear what kind it is.
func TestOthersAreNotToldWhatIsInFiles(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.start(0)
	for _, err := range []error{
		&vault.WriteError{Err: &fs.PathError{Op: "write", Path: "/canary", Err: syscall.ENOSPC}},
		&vault.DamagedError{Path: "/canary", Why: "canary"},
		faults.Errorf(fault.CodeData, "canary changed"),
		errors.New("canary"),
	} {
		s := memoryJob(job.Record{})
		l.nodes[0].ail(s, err)
		asked := l.nodes[0].inWords(s.Ailing(time.Now()), "insurer", methodConsent)
		if asked.Ref == "" || asked != s.Why() {
			t.Errorf("of %v who asks is told %+v, and who asks how it stands %+v", err, asked, s.Why())
		}
		for _, told := range []*fault.Fault{l.nodes[0].inWords(err, "insurer", "job credit"), asked} {
			if line := string(told.Encode()); strings.Contains(line, "canary") || strings.Contains(told.String(), "canary") {
				t.Errorf("of %v others are told %q", err, line)
			}
			kept, e := l.nodes[0].config.References.Find(told.Ref)
			if e != nil || len(kept) != 1 || !strings.Contains(kept[0].Text, "canary") {
				t.Errorf("under %s the owner finds %v, %v", told.Ref, kept, e)
			}
		}
	}
	s := memoryJob(job.Record{})
	if l.nodes[0].ail(s, &protocol.GoneError{Peer: keys.ID{}, Reason: "reset"}); s.Ailing(time.Now()) != nil {
		t.Errorf("a broken link keeps this node from the next session: %v", s.Ailing(time.Now()))
	}
}

// TestWhoLeavesForAnotherSaysWhy: a party that leaves a session because another did passes on why, so that all can name
// who must mend what; and a fault that every session meets has one reference.
func TestWhoLeavesForAnotherSaysWhy(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.start(0)
	first := &protocol.AbortError{Fault: &fault.Fault{Code: fault.CodeDamaged, Ref: "7f3a2c"}}
	told := l.nodes[0].inWords(&protocol.StepError{Peer: "telco", Operation: 3, Kind: "target", Err: first}, "insurer",
		"job credit")
	if want := "telco says: one of its files is damaged (its owner reads more with hanse jobs --ref " +
		"7f3a2c)"; told.String() != want {
		t.Errorf("it says %q, want %q", told, want)
	}
	again := l.nodes[0].inWords(&protocol.StepError{Peer: "bank", Operation: 4, Kind: "target",
		Err: &protocol.AbortError{Fault: told}}, "insurer", "job credit")
	if again.String() != told.String() {
		t.Errorf("passed on twice it is %q, want %q", again, told)
	}
	s := memoryJob(job.Record{})
	damage := &vault.DamagedError{Path: "/phase", Why: "flipped"}
	if one, two := l.nodes[0].toldOnce(s, damage), l.nodes[0].toldOnce(s,
		&vault.DamagedError{Path: "/phase", Why: "flipped"}); one.Ref != two.Ref {
		t.Errorf("one fault has the references %s and %s", one.Ref, two.Ref)
	}
}
