package node

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// hoarder is a member whose jobs a rule accepts, and who starts none of them.
type hoarder struct {
	*stuffer
	days *atomic.Int64 // that have passed
}

// newHoarder starts a test network in which the second member's policy accepts all trainings of the third, who hoards.
func newHoarder(t *testing.T) hoarder {
	l := newTestNetwork(t, 3, 40)
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables,
		Accept: []consent.Rule{consent.Wide(
			consent.Rule{Proposers: []string{"bank", "telco"}, Tasks: []string{contract.TaskTrain}})}}
	noon, days := time.Now(), new(atomic.Int64)
	l.now = func() time.Time { return noon.AddDate(0, 0, int(days.Load())) }
	l.startAll()
	return hoarder{l.stuffer(), days}
}

// signed asks for consent to contracts and counts the signatures that come.
func (h hoarder) signed(texts []string) (n int) {
	for _, text := range texts {
		var r consentResponse
		if err := h.ask(methodConsent, consentRequest{Contract: text}, &r); err == nil && r.Signature != nil {
			n++
		}
	}
	return n
}

// state is how the job of a contract stands at the victim.
func (h hoarder) state(text string) job.Record {
	name, _, err := keys.NameOf(contract.DomainContract, []byte(text))
	if err != nil {
		h.l.t.Fatal(err)
	}
	if s, ok := h.l.nodes[1].job(name); ok {
		return s.Record()
	}
	return job.Record{}
}

// TestHoarder: of a member whose jobs a rule accepts, and who starts none, a node signs as many as it lets wait, and
// refuses the others until some have ended. They end by themselves after a week, and with a word. An honest job of
// another member runs meanwhile.
func TestHoarder(t *testing.T) {
	h := newHoarder(t)
	texts := h.contracts(60)
	if n := h.signed(texts); n != maxWaitingEach || h.l.folders(1) != maxWaitingEach {
		t.Errorf("%d of 60 contracts are signed, %d kept, want %d", n, h.l.folders(1), maxWaitingEach)
	}
	if h.codes[fault.CodeLimit] != 60-maxWaitingEach {
		t.Errorf("the others are answered by %v, want %s", h.codes, fault.CodeLimit)
	}
	if _, _, err := h.l.propose(h.l.job("train", "privacy = \"masked\"", smallJob)); err != nil {
		t.Errorf("an honest job: %v", err)
	}
	h.days.Store(6)
	s := h.l.nodes[1].Status()
	for _, j := range s.Jobs {
		if j.State == job.Agreed && (j.StartBy.IsZero() || !strings.Contains(j.Waiting, "it ends by itself on ")) {
			t.Errorf("of an agreed job that waits for a session its owner reads %q, until %v", j.Waiting, j.StartBy)
		}
	}
	for _, text := range texts[:maxWaitingEach] {
		if r := h.state(text); r.State != job.Agreed {
			t.Errorf("after six days the job is %s: %s", r.State, r.Reason)
		}
	}
	h.days.Store(8)
	ctx := minute(t)
	for _, text := range texts[:maxWaitingEach] {
		for h.state(text).State != job.Expired {
			if pause(ctx, 5*time.Millisecond) != nil {
				t.Fatalf("after eight days a job is %+v, want it expired", h.state(text))
			}
		}
		if r := h.state(text); !strings.Contains(r.Reason, "no session of it began by ") {
			t.Errorf("its owner reads %q", r.Reason)
		}
	}
}

// TestHoarderWithdraws: what a hoarder has signed and withdraws makes room for others, and does not stay for ever.
func TestHoarderWithdraws(t *testing.T) {
	h := newHoarder(t)
	texts := h.contracts(maxEndedEach + 20)
	for i, text := range texts {
		if h.signed([]string{text}) != 1 {
			t.Fatalf("contract %d is not signed: %v", i, h.codes)
		}
		c, err := contract.ParseContract([]byte(text))
		must(t, err)
		e, err := contract.NewEnding(c, contract.Ending{Outcome: contract.OutcomeCancelled, By: "telco", Reason: "no"})
		must(t, err)
		e.Sign(h.l.keys[2])
		must(t, h.ask(methodEnd, endingRequest{c.Hash(), e.Text()}, new(endingResponse)))
	}
	if n := h.l.folders(1); n != maxEndedEach {
		t.Errorf("%d folders of jobs are kept that ended before they began, want %d", n, maxEndedEach)
	}
}

// TestAnAgreedJobWaitsAsLongAsItsFileSays: a job whose proposal ends later than a week from now waits for its session
// until then, and its owner is told a day before.
func TestAnAgreedJobWaitsAsLongAsItsFileSays(t *testing.T) {
	h := newHoarder(t)
	c := h.l.proposed(h.l.job("train", "expires = \"720h\"", smallJob), 1)
	text := string(c.Document.Text())
	for _, day := range []int64{8, 29} {
		h.days.Store(day)
		s, _ := h.l.nodes[1].job(c.Hash())
		ended, err := h.l.nodes[1].expireUnbegun(t.Context(), s)
		if ended || err != nil || h.state(text).State != job.Agreed {
			t.Errorf("after %d days the job is %+v, %v", day, h.state(text), err)
		}
	}
	s := Status{Time: h.l.now(), Jobs: h.l.nodes[1].jobStatuses()}
	s.alert()
	for _, a := range s.Alerts {
		if a.Code == CodeUnbegun && strings.Contains(a.Text, "ends by itself on ") {
			return
		}
	}
	t.Errorf("a day before it ends its owner is told %+v", s.Alerts)
}
