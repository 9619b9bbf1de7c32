package node

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestOneConsentHoldsForASeries: a person consents to the first of three monthly scorings. The others differ in their
// rows alone and need nobody; one that differs in anything else, one too many, and one after a refusal wait.
func TestOneConsentHoldsForASeries(t *testing.T) {
	l := newTestNetwork(t, 4, 120)
	var minutes atomic.Int64 // that pass beside
	l.now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
	l.startAll()
	_, model, err := l.propose(l.job("train", "privacy = \"sealed\"", activeBank+"features = 8\niterations = 8\n"+
		"loss = \"square\""))
	must(t, err)
	for _, stop := range l.stops {
		stop()
	}
	l.policy = nil
	l.startAll()
	month := 0
	newRows := func() { // at all parties
		month++
		for i := range l.names {
			text := readTable(t, l.tablePath(i, "test"))
			l.writeTable(i, "test", strings.ReplaceAll(text, "\nr", fmt.Sprintf("\nr%d", month)))
		}
	}
	score := func(head string) *contract.Contract {
		t.Helper()
		return l.proposed(l.job("predict", fmt.Sprintf("model = %q\ntable = \"test\"\nprivacy = \"sealed\"\n", model)+head,
			""), 1)
	}
	want := func(what string, c *contract.Contract, state job.State, by string) {
		t.Helper()
		r := mustJob(t, l.nodes[1], c).Record()
		if r.State != state || by != "" && (r.Consent == nil || r.Consent.By != job.BySeries || r.Consent.Rule != by) {
			t.Errorf("%s is %s by %+v, want %s by %s", what, r.State, r.Consent, state, by)
		}
	}
	const monthly = "open_to = \"bank\"\nrepeat = 3\n"
	first := score(monthly)
	want("the first", first, job.Proposed, "")
	if text := l.infoAt(1, first.Hash()).Summary; !strings.Contains(text, "a person's consent holds for 3 such jobs") {
		t.Errorf("the person does not read that the consent holds for several jobs:\n%s", text)
	}
	if _, err := l.nodes[1].Decide(Decision{Contract: first.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	newRows()
	cancel := func(c *contract.Contract) { // it makes room for others
		t.Helper()
		for _, n := range l.nodes[:2] {
			must(t, n.conclude(mustJob(t, n, c), contract.Ending{Outcome: contract.OutcomeCancelled}, ""))
		}
	}
	for what, head := range map[string]string{
		"another receiver": "open_to = \"telco\"\nrepeat = 3\n", "a row scored twice": monthly + "scores_per_row = 2\n",
		"a job of its own": "open_to = \"bank\"\n", "a longer series": "open_to = \"bank\"\nrepeat = 4\n",
	} {
		c := score(head)
		want(what, c, job.Proposed, "")
		cancel(c)
	}
	want("the second", score(monthly), job.Agreed, "2 of 3 after job trial")
	newRows()
	want("the third", score(monthly), job.Agreed, "3 of 3 after job trial")
	newRows()
	fourth := score(monthly)
	want("the fourth", fourth, job.Proposed, "")

	// Who refuses one of a series ends it.
	another := score(monthly + "topology = \"star\"\n")
	if _, err := l.nodes[1].Decide(Decision{Contract: another.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	newRows()
	want("the second of another series", score(monthly+"topology = \"star\"\n"), job.Agreed, "2 of 3 after job trial")
	newRows()
	refused := score(monthly + "topology = \"ring\"\n")
	if _, err := l.nodes[1].Decide(Decision{Contract: refused.Hash(), Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	ring := score(monthly + "topology = \"ring\"\n")
	if _, err := l.nodes[1].Decide(Decision{Contract: ring.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	after := score(monthly + "topology = \"ring\"\n")
	want("after a refusal", after, job.Proposed, "")
	cancel(after)
	cancel(fourth)

	// A nagger hopes that the refusal is forgotten among many that ended otherwise.
	for i := range maxEndedEach + 1 {
		minutes.Add(1)
		cancel(score(fmt.Sprintf("open_to = \"bank\"\nscores_per_row = %d\n", 2+i)))
	}
	must(t, l.nodes[1].forgetOldest("bank"))
	if _, ok := l.nodes[1].job(refused.Hash()); !ok {
		t.Error("the refusal is forgotten")
	}
	want("after a refusal and many proposals", score(monthly+"topology = \"ring\"\n"), job.Proposed, "")
}
