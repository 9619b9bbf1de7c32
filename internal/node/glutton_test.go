package node

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// gluttonsJob are the parameters of a training whose solver has matrices of 2.1 GB at the bank.
const gluttonsJob = activeBank + "features = 16384\nlambda = 1e-3\nsigma = 1.0\nloss = \"square\""

// glutton is a member whose job takes more memory of the label holder's node than that has.
type glutton struct {
	l *testNetwork
	c *contract.Contract // not proposed yet
}

// newGlutton starts a network whose first node has so many bytes of memory, and prepares the job at the second.
func newGlutton(t *testing.T, has int64, policy *consent.Policy) glutton {
	l := newTestNetwork(t, 3, 40)
	l.memory, l.policy = map[int]int64{0: has}, policy
	l.startAll()
	c, err := l.nodes[1].Prepare(t.Context(), l.job("train", "privacy = \"masked\"", gluttonsJob), nil)
	must(t, err)
	return glutton{l, c}
}

// asking is a policy that leaves every job to a person.
func asking() *consent.Policy {
	p := openPolicy()
	p.Accept = nil
	return p
}

// asks asks the first node for its consent.
func (g glutton) asks() (consentResponse, error) {
	return g.l.nodes[0].serveConsent(g.l.keys[1].ID(), consentRequest{Contract: string(g.c.Document.Text())})
}

// TestGlutton: a rule accepts no job that takes more than half of what a node has, and a person is asked, who reads
// why. A rule with a max_memory of its own decides by that. The control is the same job at a node that has enough.
func TestGlutton(t *testing.T) {
	for _, tc := range []struct {
		has    int64
		most   string // of the rule
		signed bool
	}{{5e9, "", true}, {4e9, "", false}, {4e9, "3GB", true}, {5e9, "2GB", false}, {260e6, "", false}} {
		p := openPolicy()
		p.Accept[0].MaxMemory = tc.most
		g := newGlutton(t, tc.has, p)
		r, err := g.asks()
		if err != nil || (r.Signature != nil) != tc.signed {
			t.Errorf("with %d bytes and max_memory = %q: signed %v, %v", tc.has, tc.most, r.Signature != nil, err)
		}
		e, err := g.l.nodes[0].Explain(g.c.Hash())
		must(t, err)
		if why := e.Judgement.Why(); !tc.signed && !strings.Contains(why, "max_memory: the job has 2148.3 MB") {
			t.Errorf("with %d bytes and max_memory = %q the owner reads %q", tc.has, tc.most, why)
		}
		note := g.l.nodes[0].summaryOf(g.c).text
		if strings.Contains(note, "Memory: the job takes about 2148.3 MB") != (tc.has < 5e9) {
			t.Errorf("with %d bytes the summary is\n%s", tc.has, note)
		}
	}
}

// TestAPersonConsentsToAGlutton: then the node does not sign, and joins no session, until its owner has it start all
// the same. Others learn a code, and no figure of the machine.
func TestAPersonConsentsToAGlutton(t *testing.T) {
	g := newGlutton(t, 260e6, asking())
	n := g.l.nodes[0]
	if r, err := g.asks(); err != nil || r.Signature != nil {
		t.Fatalf("before consent: %+v, %v", r, err)
	}
	if _, err := n.Decide(Decision{Contract: g.c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also while the fault is young
		r, err := g.asks()
		if r.Signature != nil || !faults.WithCode(fault.CodeMemory)(err) {
			t.Fatalf("a job that the node has no memory for is answered by %+v, %v", r, err)
		}
		told, _, _ := strings.Cut(n.inWords(err, "insurer", "consent").String(), "(")
		if strings.ContainsAny(told, "0123456789") {
			t.Errorf("the insurer is told %q", told)
		}
	}
	s, _ := n.job(g.c.Hash())
	if why := s.Record().Reason; !strings.Contains(why, "takes about 2148.3 MB of memory here, and this node has 260.0 MB") {
		t.Errorf("the owner reads %q", why)
	}
	if j := g.l.infoAt(0, g.c.Hash()); !j.Held || j.Next != "hanse resume trial" {
		t.Errorf("the list has held %v, next %q", j.Held, j.Next)
	}
	must(t, n.Resume(g.c.Hash()))
	if r, err := g.asks(); err != nil || r.Signature == nil {
		t.Errorf("after hanse resume: %+v, %v", r, err)
	}
	if err := n.Resume(g.c.Hash()); err == nil || !strings.Contains(err.Error(), "goes on by itself") {
		t.Errorf("a second hanse resume: %v", err)
	}
}

// TestSessionsShareMemory: a session waits until those that are on leave it enough.
func TestSessionsShareMemory(t *testing.T) {
	g := newGlutton(t, 3e9, asking())
	n := g.l.nodes[0]
	one, err := g.asks()
	if err != nil || one.Signature != nil {
		t.Fatal(one, err)
	}
	s, _ := n.job(g.c.Hash())
	if err := n.enoughMemory(s); err != nil {
		t.Errorf("alone: %v", err)
	}
	n.sessions.mu.Lock()
	n.sessions.on[keys.HashOf("another")] = &activeSession{memory: 1e9, cancel: func() {}, done: make(chan struct{})}
	n.sessions.mu.Unlock()
	if err := n.enoughMemory(s); !faults.WithCode(fault.CodeMemory)(err) || !strings.Contains(err.Error(),
		"other sessions take 1000.0 MB") {
		t.Errorf("beside a session of 1 GB: %v", err)
	}
	n.sessions.mu.Lock()
	delete(n.sessions.on, keys.HashOf("another"))
	n.sessions.mu.Unlock()
	if err := n.enoughMemory(s); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// dies starts a member's node, and kills it when its next session of a job starts: nothing is written after that.
// meanwhile is done before that.
func (l *testNetwork) dies(ctx context.Context, i int, meanwhile func()) {
	l.t.Helper()
	died, killed := make(chan struct{}), new(atomic.Bool)
	l.faults[i] = func(string) (bool, error) {
		if killed.Load() {
			return false, errKilled
		}
		return false, nil
	}
	l.watch(i, func(e jobs.Event) {
		if e.Kind == jobs.EventState && strings.HasPrefix(e.Text, "session ") && killed.CompareAndSwap(false, true) {
			close(died)
		}
	})
	l.start(i)
	meanwhile()
	select {
	case <-died:
	case <-ctx.Done():
		l.t.Fatalf("no session starts at %s", l.names[i])
	}
	l.net.Kill(l.keys[i].ID())
	l.stops[i]()
	l.faults[i] = nil
	l.watch(i, nil)
}

// deadlyJob has the first node die in the first session of a job that it proposes.
func (l *testNetwork) deadlyJob(ctx context.Context) (h keys.Hash) {
	var ended <-chan error
	l.dies(ctx, 0, func() {
		c, err := l.nodes[0].Prepare(ctx, l.job("train", "privacy = \"published\"", smallJob), nil)
		if err != nil {
			l.t.Fatal(err)
		}
		h, ended = c.Hash(), l.launched(ctx, 0, c.Hash())
	})
	<-ended
	return h
}

// TestDeadlyJob: a node that dies in a job's session joins the next one by itself when it is started again; when it has
// died twice it does not, says so, and its other jobs go on. Its owner resumes the job, and it is done.
func TestDeadlyJob(t *testing.T) {
	l := newTestNetwork(t, 2, 40)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l.start(1)
	h := l.deadlyJob(ctx)
	l.dies(ctx, 0, func() {}) // the control: once is not held back
	l.start(0)
	n := l.nodes[0]
	l.awaitPause(ctx, 0, h, "this node died in this job's session; hanse resume trial")
	sessions := l.infoAt(0, h).Sessions
	if _, _, err := l.propose(l.job("train", "privacy = \"published\"", smallJob)); err != nil {
		t.Errorf("another job: %v", err)
	}
	s, _ := n.job(h)
	if err := n.attempt(ctx, s); !faults.WithCode(fault.CodeHeld)(err) {
		t.Errorf("the node begins a session that it holds back: %v", err)
	}
	if j := l.infoAt(0, h); j.Sessions != sessions || !j.Held || j.Next != "hanse resume "+h.String()[:8] {
		t.Errorf("there are %d sessions, were %d; held %v, next %q", j.Sessions, sessions, j.Held, j.Next)
	}
	l.stops[0]() // a start that is no death changes nothing
	l.start(0)
	l.awaitPause(ctx, 0, h, "this node died in this job's session; hanse resume trial")
	must(t, l.nodes[0].Resume(h))
	l.awaitDone(ctx, h)
}

// TestDeathsAreCounted by what the record says and what checkpoints there are: progress begins the count anew, and
// eight deaths in all are too many whatever there was of it.
func TestDeathsAreCounted(t *testing.T) {
	l := newTestNetwork(t, 2, 40)
	l.startAll()
	c := l.proposed(l.job("train", "privacy = \"published\"", smallJob), 1)
	s, _ := l.nodes[1].job(c.Hash())
	session := uint32(0)
	die := func(state job.State, stored bool) job.Deaths {
		t.Helper()
		session++
		l.rewritten(1, c.Hash(), func(r *job.Record) {
			r.State, r.Session = state, session
			if stored {
				r.Stored = session
			}
		})
		// A start after which no session begins is no second death.
		s = l.rewritten(1, c.Hash(), func(*job.Record) {})
		return s.Record().Deaths
	}
	checkpoint := func(n int) {
		must(t, s.vault.Save("iteration-0", make([]byte, n)))
	}
	if d := die(job.Paused, false); d.InAll != 0 {
		t.Errorf("a session that ended in good order counts: %+v", d)
	}
	if d := die(job.Running, true); d.InAll != 0 {
		t.Errorf("a session whose part is stored counts: %+v", d)
	}
	if d := die(job.Running, false); d.InARow != 1 || d.Hold() {
		t.Errorf("after one death: %+v", d)
	}
	for i := range 8 - 2 {
		checkpoint(i + 1)
		if d := die(job.Running, false); d.InARow != 1 || d.Hold() {
			t.Errorf("after a checkpoint and another death: %+v", d)
		}
	}
	checkpoint(100)
	if d := die(job.Running, false); d.InARow != 1 || !d.Hold() {
		t.Errorf("after eight deaths: %+v", d)
	}
	l.rewritten(1, c.Hash(), func(r *job.Record) { r.Deaths = job.Deaths{} })
	die(job.Running, false)
	if d := die(job.Running, false); d.InARow != 2 || !d.Hold() || s.State() != job.Paused {
		t.Errorf("after two deaths without a checkpoint: %+v, %s", d, s.State())
	}
}
