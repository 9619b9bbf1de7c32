package node

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// command makes the table "train" of a party what a command writes, and returns how often the command ran. The party's
// node has not started.
func (l *testNetwork) command(i int) (runs func() int) {
	noted := filepath.Join(l.t.TempDir(), "runs")
	if l.sources == nil {
		l.sources = make(map[int]string)
	}
	l.sources[i] = fmt.Sprintf("exec:sh -c 'echo >> %s; cat %s'", noted, l.tablePath(i, "train"))
	return func() int {
		text, err := os.ReadFile(noted)
		if err != nil && !os.IsNotExist(err) {
			l.t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// sourceAsker is a member that asks another again and again, within its limits, about a table that a command writes.
type sourceAsker struct {
	*stuffer
	clock atomic.Int64 // seconds that have passed
}

// newAsker makes a test network of which the third member asks the second. Nobody consents to what it proposes. The
// nodes are not started.
func newAsker(t *testing.T) (a *sourceAsker, runs func() int) {
	l := newTestNetwork(t, 3, 40)
	start := time.Now()
	a = &sourceAsker{stuffer: &stuffer{l: l}}
	l.now = func() time.Time { return start.Add(time.Duration(a.clock.Load()) * time.Second) }
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables}
	return a, l.command(1)
}

// again asks n times what the second member brings to a job, and shows it a proposal at every tenth time.
func (a *sourceAsker) again(n int) {
	a.l.t.Helper()
	texts := a.contracts(maxWaitingEach)
	c, err := contract.ParseContract([]byte(texts[0]))
	if err != nil {
		a.l.t.Fatal(err)
	}
	job, err := c.Job.Text()
	if err != nil {
		a.l.t.Fatal(err)
	}
	for i := range n {
		a.clock.Add(int64(workEvery / time.Second)) // as often as its limits let it
		if i%10 == 9 {
			var r consentResponse
			err = a.ask(methodConsent, consentRequest{Contract: texts[i/10%len(texts)]}, &r)
			if r.Signature != nil {
				a.l.t.Fatal("the insurer has signed")
			}
		} else {
			err = a.ask(methodDescribe, describeRequest{Job: string(job)}, new(description))
		}
		if err != nil {
			a.l.t.Fatalf("question %d: %v", i+1, err)
		}
	}
}

// TestAskerRunsNothing: a member's questions are answered from what was read when the node started, be they a thousand.
// Its owner's refresh runs the command, and so do the consent to a job and its session: the attacker's control.
func TestAskerRunsNothing(t *testing.T) {
	a, runs := newAsker(t)
	l := a.l
	logged := new(logBuffer)
	l.logs = map[int]*slog.Logger{1: slog.New(slog.NewTextHandler(logged, nil))}
	l.startAll()
	a.stuffer = l.stuffer()
	a.again(1000)
	if got := runs(); got != 1 {
		t.Errorf("a thousand questions, and the start of the node, ran the command %d times", got)
	}
	for _, said := range []string{
		`table=train for="the start of the node"`, `member=telco table=train job=trial times=100`,
	} {
		if !strings.Contains(logged.String(), said) {
			t.Errorf("the log lacks %s:\n%.3000s", said, logged)
		}
	}
	if n := strings.Count(logged.String(), "a member asks about a table"); n > 5 {
		t.Errorf("the log says %d times that a member asks", n)
	}

	if r, err := l.nodes[1].RefreshTable(t.Context(), "train", "ada"); err != nil || r.Changed || runs() != 2 {
		t.Errorf("its owner's refresh: %+v, %v; the command ran %d times", r, err, runs())
	}
	if !strings.Contains(logged.String(), `for="hanse table refresh of user ada"`) {
		t.Error("the log does not say that the owner had the table read")
	}
	c, err := l.nodes[0].Prepare(minute(t), l.job("train", "privacy = \"masked\"", smallJob), nil)
	must(t, err)
	launched := l.launched(minute(t), 0, c.Hash())
	l.awaitState(minute(t), 1, c.Hash(), job.Proposed)
	if got := runs(); got != 2 {
		t.Errorf("a proposal ran the command: %d times", got)
	}
	for i := 1; i < 3; i++ {
		l.awaitState(minute(t), i, c.Hash(), job.Proposed)
		if _, err := l.nodes[i].Decide(Decision{Contract: c.Hash(), Yes: true, Person: "ada"}); err != nil {
			t.Fatal(err)
		}
		if got := runs(); got != 3 {
			t.Errorf("the insurer's consent, and then the telco's, ran its command: %d times", got)
		}
	}
	must(t, <-launched)
	if got, sessions := runs(), int(l.sessions(c.Hash())); got != 3+sessions {
		t.Errorf("a job of %d sessions: the command ran %d times", sessions, got)
	}
	for _, said := range []string{
		`for="the consent to job \"trial\" of bank of user ada"`, `for="session 1 of job \"trial\" of bank"`,
	} {
		if !strings.Contains(logged.String(), said) {
			t.Errorf("the log lacks %s:\n%.3000s", said, logged)
		}
	}
}

// TestAskerWhoseJobsAreAccepted: a rule of the policy accepts what the member proposes, and the table has changed since
// it was read. The command runs once for the consent, which finds that, however often the member asks for it. The job
// goes on when the old table is back and its owner has had it read.
func TestAskerWhoseJobsAreAccepted(t *testing.T) {
	a, runs := newAsker(t)
	l := a.l
	l.policy = openPolicy()
	found := make(chan string, 100)
	l.watch(1, func(e jobs.Event) {
		if strings.Contains(e.Text, "not consented to yet") {
			found <- e.Text
		}
	})
	l.startAll()
	a.stuffer = l.stuffer()
	text := a.contracts(1)[0]
	before, err := os.ReadFile(l.tablePath(1, "train"))
	must(t, err)
	l.writeTable(1, "train", string(before)+"r99999,1\n")
	ask := func() (r consentResponse, err error) {
		a.clock.Add(int64(workEvery / time.Second))
		return r, a.ask(methodConsent, consentRequest{Contract: text}, &r)
	}
	if r, err := ask(); err != nil || r.Signature != nil {
		t.Errorf("before the table was looked at the insurer answers %+v, %v", r, err)
	}
	if why := <-found; !strings.Contains(why, "changed since job") || !strings.Contains(why, "hanse table refresh train") {
		t.Errorf("the owner is told: %s", why)
	}
	ran := runs()
	if ran != 3 { // the start; and the consent: for the digest, and, as that is another, for the rows
		t.Errorf("the command ran %d times", ran)
	}
	for range 200 {
		if r, err := ask(); r.Signature != nil || err == nil {
			t.Fatalf("the insurer answers %+v, %v", r, err)
		}
	}
	if a.codes[fault.CodeData] != 200 || runs() != ran {
		t.Errorf("asked 200 times more the insurer says %v, and the command ran %d times", a.codes, runs()-ran)
	}
	l.writeTable(1, "train", string(before))
	if _, err := l.nodes[1].RefreshTable(t.Context(), "train", ""); err != nil {
		t.Fatal(err)
	}
	ran = runs()
	if r, err := ask(); err != nil || r.Signature == nil || runs() != ran {
		t.Errorf("once the table is back: %+v, %v; the command ran %d times more", r, err, runs()-ran)
	}
}

// TestNoConsentToATableThatChanged: a person consents to a job whose table has changed since it was proposed. That
// person is told so, and what to do, and nothing is signed.
func TestNoConsentToATableThatChanged(t *testing.T) {
	a, _ := newAsker(t)
	l := a.l
	l.startAll()
	c := l.proposed(l.job("train", "privacy = \"masked\"", smallJob), 1)
	before, err := os.ReadFile(l.tablePath(1, "train"))
	must(t, err)
	l.writeTable(1, "train", string(before)+"r99999,1\n")
	yes := Decision{Contract: c.Hash(), Yes: true}
	if _, err := l.nodes[1].Decide(yes); err == nil || !strings.Contains(err.Error(), "changed since job \"trial\"") ||
		!strings.Contains(err.Error(), "put the old table back") {
		t.Errorf("the person is told: %v", err)
	}
	s, _ := l.nodes[1].job(c.Hash())
	if _, err := l.nodes[1].signContract(s); err == nil {
		t.Error("the contract is signed")
	}
	l.writeTable(1, "train", string(before))
	if _, err := l.nodes[1].Decide(yes); err != nil {
		t.Errorf("with the old table: %v", err)
	}
}

// TestSessionsWaitForASource: a proposer of a job that all have signed starts one session after another. Each runs the
// source, and so each waits until a while has passed since the one before, and no longer.
func TestSessionsWaitForASource(t *testing.T) {
	s, now := new(sourced), time.Now()
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0}, {0, sourceGap}, {sourceGap + time.Second, sourceGap - time.Second}, {2 * sourceGap, 0},
	} {
		now = now.Add(c.after)
		if got := s.wait(now); got != c.want {
			t.Errorf("%v later a session waits %v, want %v", c.after, got, c.want)
		}
	}
	if got := s.wait(now.Add(-time.Hour)); got != sourceGap {
		t.Errorf("with a clock that was put back a session waits %v", got)
	}
}
