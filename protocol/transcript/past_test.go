package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// errKilled is how a party's process dies: it says nothing to anybody and seals nothing.
var errKilled = errors.New("killed")

// errFull ends a session with a reason.
var errFull = errors.New("the disk is full")

// attending is a test network whose parties run sessions as nodes do.
type attending struct {
	*testNetwork
	members *testnet.Federation
}

// newAttending makes a test network of three.
func newAttending(t testing.TB, dir, job string) *attending {
	a := &attending{testNetwork: newTestNetwork(t, dir, 3, job)}
	a.members = a.federation(t)
	return a
}

// sums is how many sums a session has.
const sums = 3

// runClient runs a session at all parties and returns each one's error. wrap puts itself before a party's log; nil: the
// party dies before it begins the session.
func (a *attending) runClient(
	number uint32, wrap func(i int, log *Log) protocol.Recorder, end func(i int) error,
) []error {
	for _, id := range a.ids {
		a.members.Restart(id)
	}
	return a.members.Each(func(i int) error { return a.runClientAs(number, i, wrap, end) })
}

// runClientAs is one party's session.
func (a *attending) runClientAs(
	number uint32, i int, wrap func(i int, log *Log) protocol.Recorder, end func(i int) error,
) error {
	ctx := context.Background()
	mesh, config, err := a.members.Join(ctx, testnet.Meeting{Number: number}, i)
	if err != nil {
		return err
	}
	defer mesh.Close()
	c := a.config(i)
	c.Now = nil // the test network's clock is for one goroutine
	log, err := Open(a.path(i), c)
	if err != nil {
		return err
	}
	defer log.Close()
	if config.Contract, config.Recorder = a.contract, wrap(i, log); config.Recorder == nil {
		return errKilled
	}
	if err := log.Begin(number); err != nil {
		return err
	}
	err = a.session(ctx, mesh, config, i, end)
	switch {
	case err == nil:
		return log.Sign(SignedDone)
	case errors.Is(err, errKilled):
		return err
	}
	return errors.Join(err, log.Sign(SignedBroken))
}

// session is what a party does in a session.
func (a *attending) session(
	ctx context.Context, mesh protocol.Mesh, config protocol.SessionConfig, i int, end func(i int) error,
) error {
	s, err := protocol.NewSession(ctx, mesh, config)
	if err != nil {
		return err
	}
	for n := range sums {
		if err = s.Ask(ctx, n%3, "angles", 8, n+1); err != nil {
			break
		}
		if err = s.Reduce(ctx, protocol.Reduction{
			Kind: "angles", Class: contract.ClassMasked, Encoding: contract.Fixed64,
			Plan: contract.PlanFor(contract.Tree, 3, n%3), Size: 64,
			Load: func(int, []byte) error { return nil }, Add: func(dst, src []byte) {},
			Store: func(int, []byte) error { return nil },
		}); err != nil {
			break
		}
	}
	if err == nil {
		err = end(i)
	}
	if err == nil {
		err = s.Finish(ctx)
	}
	if err != nil && !errors.Is(err, errKilled) {
		s.Abort(ctx, &fault.Fault{Code: fault.CodeDisk})
	}
	return err
}

// well is the end of a session that comes to its end.
func well(int) error { return nil }

// honest is a party's log as it is.
func honest(_ int, log *Log) protocol.Recorder { return log }

// mortal is a log whose process dies at a record.
type mortal struct {
	*Log
	left    int  // records until then
	written bool // that one is written all the same
}

// Record implements protocol.Recorder.
func (m *mortal) Record(e protocol.Entry, payload []byte) error {
	if m.left--; m.left > 0 {
		return m.Log.Record(e, payload)
	}
	if m.left == 0 && m.written {
		if err := m.Log.Record(e, payload); err != nil {
			return err
		}
	}
	return errKilled
}

// TestAKilledPartyAccusesNobody kills a party at every record of a session, before and after it is written, and another
// in the middle of the next: the session after both comes to its end, and all transcripts verify.
func TestAKilledPartyAccusesNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("kills at every record")
	}
	for at, whole := 0, false; !whole; at++ {
		for _, written := range []bool{false, true} {
			a := newAttending(t, t.TempDir(), "killed")
			die := func(who, n int) func(i int, log *Log) protocol.Recorder {
				return func(i int, log *Log) protocol.Recorder {
					switch {
					case i != who:
						return log
					case n == 0:
						return nil
					}
					return &mortal{Log: log, left: n, written: written}
				}
			}
			if whole = errors.Join(a.runClient(1, die(at%3, at), well)...) == nil; whole && at < 40 {
				t.Fatalf("a session of %d records only", at)
			}
			a.runClient(2, die((at+1)%3, (at+1)/2), well)
			if err := errors.Join(a.runClient(3, honest, well)...); err != nil {
				t.Fatalf("killed at record %d, written %v: %v", at, written, err)
			}
			for i := range a.ids {
				if _, err := verify(a.text(i), a.ids); err != nil {
					t.Errorf("killed at record %d, written %v: transcript of p%d: %v", at, written, i, err)
				}
			}
		}
	}
}

// liar is the log of a party that says something else of its past than it holds.
type liar struct {
	*Log
	lie func(log *Log, p *protocol.Past)
}

// Past implements protocol.Recorder.
func (l *liar) Past() (protocol.Past, error) {
	p, err := l.Log.Past()
	if err == nil {
		l.lie(l.Log, &p)
	}
	return p, err
}

// without returns the state of p2's link to a peer after so many frames less in each direction.
func without(log *Log, peer int, s protocol.LinkState, sent, received uint64) protocol.LinkState {
	f, err := log.Former(peer, s.Session, s.Sent.Frames-sent, s.Received.Frames-received)
	if err != nil || f.SentAt == (keys.Hash{}) || f.ReceivedAt == (keys.Hash{}) {
		panic(fmt.Sprintf("%+v, %v", f, err))
	}
	s.Sent = protocol.Passed{Frames: s.Sent.Frames - sent, Chain: f.SentAt}
	s.Received = protocol.Passed{Frames: s.Received.Frames - received, Chain: f.ReceivedAt}
	return s
}

// TestWhoDeniesItsPastIsNamed has p2 say, when a third session begins, something else of the two before than its
// transcript holds, as it must who took something out. The others stop before anything of the session leaves, and
// name it.
func TestWhoDeniesItsPastIsNamed(t *testing.T) {
	links := func(change func(log *Log, peer int, s *protocol.LinkState)) func(log *Log, p *protocol.Past) {
		return func(log *Log, p *protocol.Past) {
			for i := range 2 {
				change(log, i, &p.Links[i])
			}
		}
	}
	for name, c := range map[string]struct {
		lie func(log *Log, p *protocol.Past)
		why string
	}{
		"the last session never was": {func(log *Log, p *protocol.Past) {
			p.Sessions, p.Last = 1, 1
			for i := range 2 {
				f, err := log.Former(i, 1, 0, 0)
				if err != nil {
					panic(err)
				}
				p.Links[i] = f.State
			}
		}, "it has signed the link in a later session"},
		"no session ever was": {func(_ *Log, p *protocol.Past) {
			*p = protocol.Past{Transcript: p.Transcript, Links: make([]protocol.LinkState, 3)}
		}, "it has signed the link in a later session"},
		"it sent less than it has signed": {links(func(log *Log, peer int, s *protocol.LinkState) {
			*s = without(log, peer, *s, 9, 0)
		}), "it has signed for "},
		"less came than it has signed": {links(func(log *Log, peer int, s *protocol.LinkState) {
			*s = without(log, peer, *s, 0, 9)
		}), "it has signed for "},
		"as much, and other frames": {links(func(_ *Log, _ int, s *protocol.LinkState) { s.Sent.Chain[0] ^= 1 }),
			"what it sent are other frames than came to this party"},
		"other frames came": {links(func(_ *Log, _ int, s *protocol.LinkState) { s.Received.Chain[0] ^= 1 }),
			"what it received are other frames than were sent by this party"},
		"fewer, and other frames": {links(func(_ *Log, _ int, s *protocol.LinkState) { s.Sent.Frames-- }),
			"what it sent are other frames than came to this party"},
		"a session that is to come": {func(_ *Log, p *protocol.Past) { p.Last = 7 }, "that cannot be"},
		"a link in no session":      {links(func(_ *Log, _ int, s *protocol.LinkState) { s.Session = 0 }), "that cannot be"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttending(t, t.TempDir(), "denied")
			a.runClient(1, honest, func(i int) error {
				if i == 1 {
					return errFull
				}
				return nil
			})
			a.must(errors.Join(a.runClient(2, honest, well)...))
			errs := a.runClient(3, func(i int, log *Log) protocol.Recorder {
				if i == 2 {
					return &liar{log, c.lie}
				}
				return log
			}, well)
			found := false
			for i, err := range errs[:2] {
				var step *protocol.StepError
				named := errors.Is(err, contract.ErrDeviation) && errors.As(err, &step) && step.Peer == "p2"
				var left *protocol.AbortError
				told := errors.As(err, &left) && left.Fault.Code == fault.CodeDeviation && slices.Contains(left.Fault.Names, "p2")
				if !named && !told {
					t.Errorf("p%d: %v", i, err)
				}
				found = found || named && strings.Contains(err.Error(), c.why)
			}
			if !found {
				t.Errorf("errors %v, want one with %q", errs, c.why)
			}
		})
	}
}

// TestFormerIsTheSameFromTheLatestFramesAndFromTheFile compares the two ways to answer.
func TestFormerIsTheSameFromTheLatestFramesAndFromTheFile(t *testing.T) {
	a := newAttending(t, t.TempDir(), "former")
	a.must(errors.Join(a.runClient(1, honest, well)...))
	a.must(errors.Join(a.runClient(4, honest, well)...))
	log, err := Open(a.path(0), a.config(0))
	a.must(err)
	defer log.Close()
	a.must(log.Begin(6))
	answered := 0
	for session := range uint32(7) {
		for sent := range uint64(25) {
			for received := range uint64(25) {
				quick, ok := log.trails[1].former(session, sent, received)
				if !ok {
					continue
				}
				answered++
				links, err := NewLinks(a.contract, 0, a.ids)
				a.must(err)
				f := newFormer(links, 1, session, sent, received)
				a.must(log.scan(links, int64(log.before+1)*BlockSize, f.add))
				if quick != f.Former {
					t.Fatalf("session %d, frames %d and %d: %+v, from the file %+v", session, sent, received, quick, f.Former)
				}
			}
		}
	}
	if answered < 100 {
		t.Errorf("%d questions only", answered)
	}
}

// TestAPowerCutAccusesNobody cuts records off the end of the transcript of a party that was killed: those that it has
// not signed may be missing, at either end of a link, and no others.
func TestAPowerCutAccusesNobody(t *testing.T) {
	for name, c := range map[string]struct {
		less  int // records of what it has signed last
		zeros int // bytes where the records after it were
		well  bool
	}{
		"unsigned": {0, 0, true}, "signed": {1, 0, false},
		"unsigned, zeros": {0, 5000, true}, "signed, zeros": {1, 5000, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttending(t, t.TempDir(), "power")
			a.runClient(1, func(i int, log *Log) protocol.Recorder {
				if i == 1 {
					return &mortal{Log: log, left: 32, written: true}
				}
				return log
			}, well)
			text := blocks(a.text(1))
			last := 0
			for n := range text {
				var r Record
				if n > 0 && r.Decode((*[BlockSize]byte)(text[n])) == nil && r.Type == TypeSent &&
					r.Kind == contract.KindCountersign {
					last = n
				}
			}
			if last == 0 || last == len(text)-1 {
				t.Fatalf("of %d blocks the last signature is %d", len(text), last)
			}
			last -= 4 * c.less
			a.must(os.WriteFile(a.path(1), append(bytes.Join(text[:last+1], nil), make([]byte, c.zeros)...), 0o600))
			err := errors.Join(a.runClient(2, honest, well)...)
			if c.well && err != nil || !c.well && !errors.Is(err, contract.ErrDeviation) {
				t.Errorf("the next session: %v", err)
			}
			if !c.well && !strings.Contains(err.Error(), "it has signed for ") {
				t.Error(err)
			}
		})
	}
}

// powered is a log at a machine whose power is cut: it knows what is on the disk.
type powered struct {
	*mortal
	path   string
	synced int64
}

// Sync implements protocol.Recorder.
func (p *powered) Sync() error {
	err := p.mortal.Sync()
	if info, e := os.Stat(p.path); e == nil && err == nil {
		p.synced = info.Size()
	}
	return err
}

// TestAPowerCutLeavesNoRecordOfALostPayload cuts the power at a party that keeps payloads: of its transcript and its
// packs only what was synced is left. Every record that says kept has its payload then, and after the next session too.
func TestAPowerCutLeavesNoRecordOfALostPayload(t *testing.T) {
	a := newAttending(t, t.TempDir(), "power and packs")
	dir := filepath.Join(a.dir, "payloads")
	a.stores[1] = mustOpenStore(t, dir, 1<<20)
	a.stores[1].packSize = 1000 // some packs
	cut := &powered{path: a.path(1)}
	a.runClient(1, func(i int, log *Log) protocol.Recorder {
		if i != 1 {
			return log
		}
		cut.mortal = &mortal{Log: log, left: 40}
		return cut
	}, well)
	s := a.stores[1]
	if cut.synced == 0 || s.last < 3 || !s.listed || s.end == s.synced {
		t.Fatalf("%d bytes synced, %d packs, names %v, %d of %d bytes of the last",
			cut.synced, s.last, s.listed, s.synced, s.end)
	}
	a.must(os.Truncate(a.path(1), cut.synced))
	a.must(os.Truncate(filepath.Join(dir, packName(s.last)), s.synced))
	kept := a.payloadsOf(1, dir)
	if kept < 10 {
		t.Errorf("%d payloads kept before the power was cut", kept)
	}
	a.stores[1] = mustOpenStore(t, dir, 1<<20)
	a.must(errors.Join(a.runClient(2, honest, well)...))
	if after := a.payloadsOf(1, dir); after <= kept {
		t.Errorf("%d payloads kept, %d before", after, kept)
	}
}

// payloadsOf wants every payload that a party's transcript says it kept, and returns how many those are.
func (a *attending) payloadsOf(i int, dir string) (kept int) {
	a.t.Helper()
	store := mustOpenStore(a.t, dir, 0)
	for _, b := range blocks(a.text(i))[1:] {
		var r Record
		a.must(r.Decode((*[BlockSize]byte)(b)))
		if !r.Kept {
			continue
		}
		kept++
		if _, err := store.Get(r.Sum()); err != nil {
			a.t.Fatalf("record %d says that its payload was kept: %v", r.Number, err)
		}
	}
	return kept
}
