package node

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// withholder is a member that lets a link break in place of its signature on what passed there, at the end of a
// session: all parties have stored their parts then.
type withholder struct {
	l        *testNetwork
	from, to int // to -1: all others
	times    int // in how many sessions, -1: in all

	mu    sync.Mutex
	over  bool     // all say in this session that they are done
	shown int      // signatures withheld
	after []string // kinds of frames after the first that was withheld
}

// withhold makes a member a withholder of signatures for another.
func (l *testNetwork) withhold(from, to, times int) *withholder {
	w := &withholder{l: l, from: from, to: to, times: times}
	l.net.OnFrame(w.frame)
	return w
}

// frame is the network's hook.
func (w *withholder) frame(f testnet.Frame) []testnet.Frame {
	const kindLength, kind = 2, 68 // where a frame's header has them
	name := string(f.Data[kind : kind+int(f.Data[kindLength])])
	w.mu.Lock()
	defer w.mu.Unlock()
	switch name {
	case contract.KindSessionKey:
		w.over = false
	case contract.KindDone:
		w.over = true
	}
	if w.shown > 0 {
		w.after = append(w.after, name)
	}
	due := w.over && name == contract.KindCountersign && (w.times < 0 || w.shown < w.times)
	if !due || f.From != w.l.keys[w.from].ID() || w.to >= 0 && f.To != w.l.keys[w.to].ID() {
		return []testnet.Frame{f}
	}
	w.shown++
	for i, k := range w.l.keys {
		if i == w.to || w.to < 0 && i != w.from {
			w.l.net.Cut(f.From, k.ID())
			w.l.net.Heal(f.From, k.ID())
		}
	}
	return nil
}

// wantOnlyAnEnd wants nothing to have passed after the first withheld signature but what begins and ends a session.
func (w *withholder) wantOnlyAnEnd(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown == 0 || !slices.Contains(w.after, contract.KindDone) {
		t.Errorf("%d signatures were withheld, and %d frames came after", w.shown, len(w.after))
	}
	ends := []string{contract.KindSessionKey, contract.KindPast, contract.KindStates, contract.KindCountersign,
		contract.KindDone, contract.KindAbort}
	for _, kind := range w.after {
		if !slices.Contains(ends, kind) {
			t.Errorf("%q passes after all parts were stored", kind)
			return
		}
	}
}

// wantWhole wants every transcript of a job to be whole, and all that it says to fit together.
func (l *testNetwork) wantWhole(h keys.Hash) {
	l.t.Helper()
	r := l.audit(h)
	complete := 0
	for _, c := range r.Checks {
		if c.Name == "complete" && c.Verdict == audit.Passed {
			complete++
		}
		if c.Verdict == audit.Failed {
			l.t.Errorf("%s (%s): %s", c.Name, c.Party, c.Detail)
		}
	}
	if complete != len(l.names) || r.Exit == 1 {
		l.t.Errorf("%d of %d transcripts are whole, exit code %d: %s", complete, len(l.names), r.Exit, r.Summary)
	}
}

// TestWithholder: a member's last signature does not come, in one session or two. The job is done when all have signed
// what passed; meanwhile nothing is computed again, and nothing opens. The day draws a mode for one session and
// another for two.
func TestWithholder(t *testing.T) {
	for i, mode := range slices.Sorted(maps.Keys(cagedModes)) {
		head := cagedModes[mode]
		for times := 1; times <= 2; times++ {
			if !drawn.Today(t, i+2*times, 4) {
				continue
			}
			t.Run(fmt.Sprint(mode, " ", times), func(t *testing.T) {
				l := newTestNetwork(t, 4, 60)
				l.startAll()
				w := l.withhold(1, 2, times)
				report, h, err := l.propose(l.cagedTraining(head + "\nrecord = \"full\""))
				must(t, err)
				w.wantOnlyAnEnd(t)
				if got := l.sessions(h); got != uint32(times+1) || report.Sessions != got {
					t.Errorf("%d sessions, %d in the report, want %d", got, report.Sessions, times+1)
				}
				if report.Trained == nil || report.BytesOut < 1000 {
					t.Errorf("the report forgets the session that computed: %+v", report)
				}
				l.wantWhole(h)
				models := l.models(h)
				w = l.withhold(3, 0, times)
				_, p, err := l.propose(l.job("predict", fmt.Sprintf(
					"%s\ntable = \"test\"\nopen_to = \"bank\"\nmodel = %q\nrecord = \"full\"", head, h), ""))
				must(t, err)
				w.wantOnlyAnEnd(t)
				l.wantWhole(p)
				if n := len(lines(t, l.scoresOf("bank", p))); n < 60 {
					t.Errorf("%d lines of scores", n)
				}
				for i, m := range l.models(h) {
					if !bytes.Equal(m, models[i]) {
						t.Errorf("%s has another model part", l.names[i])
					}
				}
			})
		}
	}
}

// TestWithholderForEver: with a member that never signs the last of a session for another no job is done, and the one
// that lacks the signature does not say that it is.
func TestWithholderForEver(t *testing.T) {
	l := newTestNetwork(t, 4, 60)
	l.startAll()
	l.withhold(1, 2, -1)
	closing := make(chan struct{}, 100)
	l.watch(2, func(e jobs.Event) {
		if strings.Contains(e.Text, "session 3 starts") {
			closing <- struct{}{}
		}
	})
	c, err := l.nodes[0].Prepare(t.Context(), l.cagedTraining("privacy = \"masked\""), nil)
	must(t, err)
	ctx, cancel := context.WithCancel(minute(t))
	launched := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(ctx, c.Hash(), nil)
		launched <- err
	}()
	select {
	case <-closing:
	case err := <-launched:
		t.Fatalf("the job ended with %v", err)
	case <-ctx.Done():
		t.Fatal("there was no third session")
	}
	for i, n := range l.nodes {
		s, _ := n.job(c.Hash())
		if e := s.Ending(); e != nil {
			t.Errorf("%s has the job as %s", l.names[i], e.Outcome)
		}
		if r := s.Record(); i == 2 && (r.Stored == 0 || r.Finished > 0) {
			t.Errorf("who lacks a signature has stored its part of session %d, and finished session %d", r.Stored, r.Finished)
		}
	}
	s, _ := l.nodes[2].job(c.Hash())
	parts := make([]contract.PartDigest, 4)
	for i, name := range l.names {
		parts[i].Party = name
	}
	for session := range uint32(3) {
		e, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeDone, Session: session + 1, Parts: parts})
		must(t, err)
		if _, err := l.nodes[2].signEnding(s, e); !faults.WithCode(fault.CodeUnsigned)(err) {
			t.Errorf("asked to sign that session %d ended well, it says %v", session+1, err)
		}
	}
	cancel()
	if <-launched == nil {
		t.Error("the job is done")
	}
}

// TestWithholderCutsItsTranscript: a member withholds its last signature until the job cannot be done without it, and
// then cuts its transcript. The others can show what it has signed.
func TestWithholderCutsItsTranscript(t *testing.T) {
	l := newTestNetwork(t, 4, 60)
	l.startAll()
	l.withhold(1, -1, 1)
	_, h, err := l.propose(l.cagedTraining("privacy = \"masked\""))
	must(t, err)
	l.awaitDone(minute(t), h)
	path := l.jobFile(1, h, TranscriptFile)
	text, err := os.ReadFile(path)
	must(t, err)
	const recordSize = 160
	records := len(text) / recordSize
	for _, n := range []int{0, 5, 20, records / 2, 3 * records / 4} {
		must(t, os.WriteFile(path, text[:recordSize*(1+n)], 0o600))
		if r := l.audit(h); r.Verdict != audit.Unverifiable {
			t.Errorf("with %d of %d records of insurer's the verdict is %s: %s", n, records, r.Verdict, r.Summary)
		}
	}
}

// TestWithholderOfAServedRow: the owner has ended a prediction row by row when the last signature does not come. Nobody
// waits for rows again.
func TestWithholderOfAServedRow(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	ctx := minute(t)
	h := l.prepare(ctx, model, "sealed", "bank", "requests = 5")
	launched := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(ctx, h, nil)
		launched <- err
	}()
	if _, err := l.nodes[0].ScoreRow(ctx, h, "r00003"); err != nil {
		t.Fatal(err)
	}
	w := l.withhold(1, 2, 1)
	if _, err := l.nodes[0].ScoreRow(ctx, h, ""); err != nil {
		t.Fatal(err)
	}
	must(t, <-launched)
	w.wantOnlyAnEnd(t)
	l.wantWhole(h)
}

// TestKilledAtTheLastSignatures kills a party at each of the frames with which a session ends, and starts it again: the
// job is done at all, with the model that was trained, and all transcripts are whole.
func TestKilledAtTheLastSignatures(t *testing.T) {
	for victim := range 3 {
		for frame := 1; frame <= 12; frame += 2 { // three kinds, each way to two others
			t.Run(fmt.Sprintf("party %d at frame %d", victim, frame), func(t *testing.T) {
				t.Parallel()
				l := newTestNetwork(t, 3, 40)
				l.startAll()
				ctx := minute(t)
				c, err := l.nodes[0].Prepare(ctx, l.job("train", "record = \"full\"", smallJob), nil)
				must(t, err)
				killed := l.killAtTheEnd(victim, frame)
				go l.nodes[0].Launch(l.lives[0], c.Hash(), nil)
				l.awaitKill(ctx, killed)
				l.restart(victim, c.Hash(), nil)
				l.wantWhole(c.Hash())
				for i := range l.nodes {
					if _, err := os.Stat(l.jobFile(i, c.Hash(), jobs.ModelFile)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// killAtTheEnd is killAtFrame for the frames from the first "done" on.
func (l *testNetwork) killAtTheEnd(victim, n int) <-chan struct{} {
	const kindLength, kind = 2, 68 // where a frame's header has them
	killed := make(chan struct{})
	id := l.keys[victim].ID()
	count, over := 0, false
	l.net.OnFrame(func(f testnet.Frame) []testnet.Frame {
		over = over || string(f.Data[kind:kind+int(f.Data[kindLength])]) == contract.KindDone
		if over && (f.From == id || f.To == id) {
			if count++; count == n {
				l.net.Kill(id)
				close(killed)
				return nil
			}
		}
		return []testnet.Frame{f}
	})
	return killed
}
