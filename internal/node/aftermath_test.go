package node

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestANodeWithANewKeyStarts: a member's key was lost and the charter has a new one; its folder has the jobs of the
// old.
func TestANodeWithANewKeyStarts(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = nil
	l.startAll()
	l.proposed(l.job("train", "", activeBank+"features = 32"), 1)
	l.stops[1]()
	k, err := keys.GenerateKey()
	must(t, err)
	next := l.nextCharter(func(c *keys.Charter) {
		old := c.Members[1]
		c.Members[1] = keys.Member{Name: old.Name, ID: k.ID(), Addresses: old.Addresses}
		c.Revoked = append(c.Revoked, keys.Revoked{Name: old.Name, ID: old.ID, Reason: "lost"})
	})
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("the node panics at its start: %v", p)
		}
	}()
	must(t, next.Sign(k))
	n, err := New(Config{Key: k, Charter: inForce(t, next), Transport: l.transport(1),
		Dir:     filepath.Join(l.dirs[1], "node"),
		Workers: 1})
	must(t, err)
	n.Jobs()
}

// TestACancelledClientLearnsThatItIsDone: a client takes part in session 1, or in none, and is away in session 2, in
// which an honest proposer ends the job well. Meanwhile its owner cancels, or another client, a liar, tells it alone
// that it cancelled. All come to one end, but for the owner's word on a job that never had a session there.
func TestACancelledClientLearnsThatItIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		by      int
		session uint32
	}{"its owner's word after a session": {1, 1}, "a liar's word after a session": {4, 1}, "a liar's word before any": {4,
		0}} {
		t.Run(name, func(t *testing.T) { cancelledAway(t, c.by, c.session) })
	}
}

func cancelledAway(t *testing.T, by int, session uint32) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 60)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.servedJob("pofmkl", 1, "privacy = \"published\"", smallPOFMKL), nil)
	must(t, err)
	for i := 1; i < 5; i++ {
		if r, err := l.nodes[i].serveConsent(l.keys[0].ID(),
			consentRequest{Contract: string(c.Document.Text())}); err != nil || r.Signature == nil {
			t.Fatal(err)
		}
	}
	h := c.Hash()
	states := make([]*jobState, 5)
	for i := range states {
		states[i], _ = l.nodes[i].job(h)
		if i == 0 {
			if _, err := l.nodes[0].consentHere(states[0], Decision{}); err != nil {
				t.Fatal(err)
			}
		}
		number := uint32(2)
		if i == 1 {
			number = session
		}
		if number == 0 {
			continue
		}
		must(t, l.nodes[i].apply(states[i], job.Opened{Number: number, Now: time.Now()}))
	}
	done, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeDone, Session: 2,
		Parts: []contract.PartDigest{{Party: "bank"}}})
	must(t, err)
	done.Sign(l.keys[0])
	word, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeCancelled, By: l.names[by],
		Reason: "no longer"})
	must(t, err)
	word.Sign(l.keys[by])
	if _, err := states[1].Apply(job.Ended{Ending: word, Now: time.Now()}); err != nil { // no link to the others is up
		t.Fatal(err)
	}
	for _, i := range []int{0, 2, 3, 4} {
		must(t, l.nodes[i].adopt(states[i], done))
	}
	for range 3 { // all links are up again
		for i := range states {
			l.nodes[i].sendEnding(t.Context(), states[i])
		}
	}
	for i := range states {
		if s := states[i].State(); s != job.Done {
			t.Errorf("%s has the job as %s for ever, the others as done", l.names[i], s)
		}
	}
}

// TestACrashAtTheEndForgetsNoOpenings: a node is killed between an end and its status, 40 days after the consent.
func TestACrashAtTheEndForgetsNoOpenings(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	at := time.Now()
	var later atomic.Int64 // days
	l.now = func() time.Time { return at.AddDate(0, 0, int(later.Load())) }
	l.startAll()
	c := l.proposed(l.job("train", "expires = \"8700h\"", activeBank+"features = 32"), 1)
	s, _ := l.nodes[1].job(c.Hash())
	must(t, l.nodes[1].apply(s, job.Opened{Number: 1, Now: at}))
	e, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeCancelled, By: "bank", Reason: "enough"})
	must(t, err)
	e.Sign(l.keys[0])
	if err := s.vault.Save(job.EndingFile, e.Text()); err != nil { // and dies before the status
		t.Fatal(err)
	}
	l.stops[1]()
	later.Store(40)
	now := l.now()
	if err := os.Chtimes(s.vault.Path(job.EndingFile), now, now); err != nil { // that was today
		t.Fatal(err)
	}
	l.start(1)
	s, _ = l.nodes[1].job(c.Hash())
	opened, ok := l.nodes[1].opensAt(s)
	if !ok || now.Sub(opened) > 24*time.Hour {
		t.Errorf("a job that ran until today counts as of %v, %v: 40 days ago", opened, ok)
	}
}

// TestANodeWithANewKeyListsItsOldJobs: all of the old key's jobs have ended.
func TestANodeWithANewKeyListsItsOldJobs(t *testing.T) {
	for _, consented := range []bool{true, false} {
		l := newTestNetwork(t, 4, 50)
		if !consented {
			l.policy = nil
		}
		l.startAll()
		c := l.proposed(l.job("train", "", activeBank+"features = 32"), 1)
		must(t, l.nodes[1].Cancel(c.Hash(), "no"))
		l.stops[1]()
		k, err := keys.GenerateKey()
		must(t, err)
		next := l.nextCharter(func(c *keys.Charter) {
			old := c.Members[1]
			c.Members[1] = keys.Member{Name: old.Name, ID: k.ID(), Addresses: old.Addresses}
			c.Revoked = append(c.Revoked, keys.Revoked{Name: old.Name, ID: old.ID, Reason: "lost"})
		})
		func() {
			step := "starts"
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("consented %v: the node panics when it %s: %v", consented, step, p)
				}
			}()
			must(t, next.Sign(k))
			n, err := New(Config{Key: k, Charter: inForce(t, next), Transport: l.transport(1),
				Dir:     filepath.Join(l.dirs[1], "node"),
				Workers: 1})
			must(t, err)
			step = "lists its jobs"
			n.Jobs()
		}()
	}
}

// TestADamagedEndAtTheProposerOverClients: a bit flips in the file of the end at the proposer of a job over clients.
func TestADamagedEndAtTheProposerOverClients(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 60)
	l.startAll()
	_, h, err := l.propose(l.servedJob("pofmkl", 1, "privacy = \"published\"", smallPOFMKL))
	must(t, err)
	l.stops[0]()
	path := filepath.Join(l.dirs[0], "node", "jobs", h.String(), job.EndingFile)
	data, err := os.ReadFile(path)
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(path, data, 0o600))
	l.start(0)
	s, _ := l.nodes[0].job(h)
	select {
	case <-s.Final():
	case <-time.After(time.Minute):
		t.Errorf("after a minute the proposer has no end: %s %q", s.State(), s.Record().Reason)
	}
}

// TestASecondNodeOnTheSameFolder: a person starts a node on a folder whose node runs. It is told so, and nothing
// changes.
func TestASecondNodeOnTheSameFolder(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	l.serveSocketOf(0)
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	dir := filepath.Join(l.dirs[0], "node")
	n, err := New(Config{Key: l.keys[0], Charter: inForce(t, l.charter), Transport: l.transport(0), Dir: dir, Workers: 1})
	if err != nil {
		t.Logf("refused: %v", err)
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx) }()
	err = n.ServeSocket(ctx)
	cancel()
	<-done
	t.Logf("the second node says: %v", err)
	second, _ := n.job(c.Hash())
	first, _ := l.nodes[0].job(c.Hash())
	if _, err := os.Stat(first.vault.Path(job.EndingFile)); err == nil {
		t.Errorf("the second node has ended a proposal of the first: %s there, %s in the first's memory", second.State(),
			first.State())
	}
}

// TestWhoIsToldOfAnEndHasIt: a member is told that a job is done while its own session is on. When it answers, the
// job is done there, too, so that whoever told all may go on with what the job has made.
func TestWhoIsToldOfAnEndHasIt(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 60)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.servedJob("pofmkl", 1, "privacy = \"published\"", smallPOFMKL), nil)
	must(t, err)
	n := l.nodes[1]
	request := consentRequest{Contract: string(c.Document.Text())}
	if r, err := n.serveConsent(l.keys[0].ID(), request); err != nil || r.Signature == nil {
		t.Fatal(err)
	}
	s, _ := n.job(c.Hash())
	must(t, n.apply(s, job.Opened{Number: 1, Now: time.Now()}))
	_, active, _ := n.enterSession(t.Context(), s)
	done, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeDone, Session: 1,
		Parts: []contract.PartDigest{{Party: "bank"}}})
	must(t, err)
	done.Sign(l.keys[0])
	left := make(chan error)
	go func() {
		<-s.Over()
		err := n.adopt(s, s.Awaited())
		n.leaveSession(s, active)
		left <- err
	}()
	r, err := n.serveEnd(l.keys[0].ID(), endingRequest{Contract: c.Hash(), Ending: done.Text()})
	if state := s.State(); err != nil || state != job.Done || len(r.Ending) == 0 {
		t.Errorf("it answers %d bytes, %v, and has the job as %s", len(r.Ending), err, state)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// TestAClientEndsNoJobForItsProposer: a client asks the proposer of a job over clients, who alone signs that it is
// done, for that signature when its own session has ended, before the other servers' have.
func TestAClientEndsNoJobForItsProposer(t *testing.T) {
	l := newTestNetwork(t, 5, 30)
	l.streams(1, 60)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.servedJob("pofmkl", 1, "privacy = \"published\"", smallPOFMKL), nil)
	must(t, err)
	n, s := l.nodes[0], mustJob(t, l.nodes[0], c)
	if _, err := n.consentHere(s, Decision{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []job.Event{job.Opened{Number: 1, Now: time.Now()}, job.Finished{Session: 1, Report: []byte("{}")}} {
		must(t, n.apply(s, e))
	}
	part, err := n.servePart(l.keys[3].ID(), standingRequest{c.Hash()})
	if err != nil || part.Session != 1 {
		t.Fatalf("the proposer has finished %+v, %v", part, err)
	}
	done, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeDone, Session: 1,
		Parts: []contract.PartDigest{{Party: "bank", Digest: part.Digest}}})
	must(t, err)
	r, err := n.serveSign(l.keys[3].ID(), endingRequest{Contract: c.Hash(), Ending: done.Text()})
	if !faults.WithCode(fault.CodeRequest)(err) || r.Signature != nil {
		t.Errorf("the proposer signs for a client: %x, %v", r.Signature, err)
	}
	if _, err := n.signEnding(s, done); err != nil { // the control: what it signs for itself
		t.Error(err)
	}
}

// TestAnEndIsTakenWhileASessionStops: a job is cancelled, and that it is done is told while its session is still being
// stopped, or was told before. It is done here, too.
func TestAnEndIsTakenWhileASessionStops(t *testing.T) {
	for name, before := range map[string]bool{"told while it stops": false, "told before": true} {
		t.Run(name, func(t *testing.T) {
			l := newTestNetwork(t, 3, 60)
			l.startAll()
			_, h, err := l.propose(l.job("train", "", activeBank+"features = 16"))
			must(t, err)
			l.awaitDone(minute(t), h)
			l.stops[1]()
			at, _ := l.nodes[1].job(h)
			done := at.Ending()
			l.forgetEnd(1, h)
			for i := range l.nodes {
				l.net.Kill(l.keys[i].ID())
				l.stops[i]()
			}
			l.start(1)
			n := l.nodes[1]
			s, _ := n.job(h)
			ctx, active, _ := n.enterSession(t.Context(), s)
			if before {
				must(t, n.apply(s, job.Awaits{Ending: done}))
			}
			word, err := contract.NewEnding(s.Contract(), contract.Ending{Outcome: contract.OutcomeCancelled, By: l.names[2],
				Reason: "no longer"})
			must(t, err)
			word.Sign(l.keys[2])
			must(t, n.adopt(s, word))
			if before {
				f, _ := s.InForce()
				n.follow(ctx, s, f, s.Record().Session, 0)
			} else if r, err := n.serveEnd(l.keys[0].ID(), endingRequest{h, done.Text()}); err != nil || r.Ending == nil {
				t.Errorf("it answers %v, %v", r, err)
			}
			n.leaveSession(s, active)
			if got := s.State(); got != job.Done {
				t.Errorf("the job is %s here, and done at all others", got)
			}
		})
	}
}
