package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/protocol/contract"
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

// newAsker starts a test network of which the third member asks the second. Nobody consents to what it proposes.
func newAsker(t *testing.T) (a *sourceAsker, runs func() int) {
	l := newTestNetwork(t, 3, 40)
	a, start := new(sourceAsker), time.Now()
	l.now = func() time.Time { return start.Add(time.Duration(a.clock.Load()) * time.Second) }
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables}
	runs = l.command(1)
	l.startAll()
	a.stuffer = l.stuffer()
	return a, runs
}

// again asks n times what the second member brings to a job, and shows it a proposal at every tenth time.
func (a *sourceAsker) again(n int) {
	a.l.t.Helper()
	texts := a.contracts(maxUndecidedEach)
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

// TestAskerRunsTheSource says what a member's questions cost today: each runs the command at least once, though nobody
// has consented to anything.
func TestAskerRunsTheSource(t *testing.T) {
	a, runs := newAsker(t)
	a.again(30)
	if got := runs(); got < 30 {
		t.Errorf("30 questions ran the command %d times", got)
	}
}
