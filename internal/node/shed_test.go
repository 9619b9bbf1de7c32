package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// copiesOf keeps so many jobs at the second node, all agreed to and signed by all, that differ in their nonces.
func (l *testNetwork) copiesOf(c *contract.Contract, number int) (all []keys.Hash) {
	l.t.Helper()
	for i := range number {
		j := *c.Job
		j.Nonce = fmt.Sprintf("%016x", i)
		made, err := contract.NewContract(&j, c.Parties, c.Openings, c.Operations)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, k := range l.keys {
			made.Sign(k)
		}
		copied, err := contract.ParseContract(made.Text()) // as it comes over a link
		if err != nil {
			l.t.Fatal(err)
		}
		n := l.nodes[1]
		s, err := n.openJob(copied, job.Record{State: job.Agreed, Session: 1,
			Consent: n.salted(job.Consent{By: job.ByPolicy})})
		if err != nil {
			l.t.Fatal(err)
		}
		n.keep(s)
		all = append(all, copied.Hash())
	}
	return all
}

// cancelled ends a job at the second node by the word of its proposer.
func (l *testNetwork) cancelled(h keys.Hash) {
	l.t.Helper()
	s, _ := l.nodes[1].job(h)
	e, err := contract.NewEnding(s.Contract(), contract.Ending{Outcome: contract.OutcomeCancelled, By: "bank",
		Reason: "enough"})
	if err != nil {
		l.t.Fatal(err)
	}
	e.Sign(l.keys[0])
	if _, err := l.nodes[1].serveEnd(l.keys[0].ID(), endingRequest{h, e.Text()}); err != nil {
		l.t.Fatal(err)
	}
}

// TestEndedJobsAreOnTheDisk: of a job that has ended a node has little in memory, also after a restart, and says as
// much of it as before. The control is what the same jobs take before they end.
func TestEndedJobsAreOnTheDisk(t *testing.T) {
	const number = 40
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "privacy = \"sealed\"", smallJob), nil)
	must(t, err)
	l.stops[0]() // nothing else happens
	l.stops[2]()
	l.stops[1]()
	l.start(1)
	n := l.nodes[1]
	n.life.stop()
	empty := heap()
	all := l.copiesOf(c, number)
	open := (heap() - empty) / number
	before := make(map[string]JobInfo)
	texts := make(map[keys.Hash]keys.Hash) // digests
	for _, j := range n.Jobs() {           // through JSON: a word of a contract would keep the whole in memory
		text, err := json.Marshal(j)
		var copied JobInfo
		if err = errors.Join(err, json.Unmarshal(text, &copied)); err != nil {
			t.Fatal(err)
		}
		before[j.Contract] = copied
	}
	for _, h := range all {
		s, _ := n.job(h)
		texts[h] = keys.HashOf("text", s.Contract().Body)
		l.cancelled(h)
	}
	check := func(when string, n *Node) {
		t.Helper()
		list := n.Jobs()
		if len(list) != number {
			t.Fatalf("%s %d jobs are listed, want %d", when, len(list), number)
		}
		for _, j := range list {
			if was := before[j.Contract]; j.Summary != was.Summary || !j.Made.Equal(was.Made) || j.State != job.Cancelled ||
				fmt.Sprint(j.Parties) != fmt.Sprint(was.Parties) || !strings.Contains(j.Reason, "enough") {
				t.Fatalf("%s the list has %+v, had %+v", when, j, was)
			}
		}
		for _, h := range all {
			if got := n.Contract(h); keys.HashOf("text", got.Body) != texts[h] || len(got.Operations) == 0 {
				t.Fatalf("%s the contract is %q", when, got.Body)
			}
			if s, _ := n.job(h); !s.Brief() || s.Contract().Hash() != h || s.Contract().Body != nil {
				t.Fatalf("%s the contract is whole in memory", when)
			}
			if r, err := n.serveStanding(l.keys[0].ID(), standingRequest{h}); err != nil || len(r.Ending) == 0 {
				t.Fatalf("%s others hear %+v, %v", when, r, err)
			}
			known, err := n.known(l.keys[0].ID(), string(n.Contract(h).Text()))
			if err != nil || known == nil {
				t.Fatalf("%s who brings the contract again: %v", when, err)
			}
			if _, agreed := known.InForce(); agreed {
				t.Fatalf("%s the contract with all signatures is in memory", when)
			}
		}
	}
	n.shed()
	ended := (heap() - empty) / number // with what this test keeps of them
	check("after the end", n)
	listed := (heap() - empty) / number
	t.Logf("bytes a job: open %d, ended %d, ended and listed %d", open, ended, listed)
	if ended > open/2 || listed > open/2 {
		t.Errorf("a job takes %d bytes when it is open, %d when it has ended and %d once it is listed", open, ended, listed)
	}
	l.stops[1]()
	l.start(1)
	check("after a restart", l.nodes[1])
}

// TestAJobThatIsShedIsSignedAsAWhole: who was about to sign a contract whose job ends and is shed signs all of it.
func TestAJobThatIsShedIsSignedAsAWhole(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "privacy = \"sealed\"", smallJob), nil)
	must(t, err)
	l.stops[0]() // nothing else happens
	h := l.copiesOf(c, 1)[0]
	l.cancelled(h)
	n := l.nodes[1]
	s, _ := n.job(h)
	if err := n.apply(s, job.Shed{}); err != nil || !s.Brief() {
		t.Fatalf("the job is whole still, %v", err)
	}
	signature, err := n.signContract(s)
	if err == nil {
		whole := *n.whole(s)
		err = whole.AddSignature(l.keys[1].ID(), signature)
	}
	if err != nil {
		t.Error(err)
	}
}
