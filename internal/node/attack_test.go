package node

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestExplainAfterLeaving: the owner of a node whose key has left the charter asks why a job waits.
func TestExplainAfterLeaving(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"bank\"]\nmax_bytes = 1\n")
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 32"), 1)
	smaller := *l.charter
	smaller.Members = append(append([]keys.Member{}, smaller.Members[:1]...), smaller.Members[2:]...)
	l.nodes[1].SetCharter(inForce(t, &smaller))
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("the node panics: %v", p)
		}
	}()
	if _, err := l.nodes[1].Explain(c.Hash()); err != nil {
		t.Log(err)
	}
}

// TestNobodyFillsTheLog: of refused calls so many are told in full, and the others counted.
func TestNobodyFillsTheLog(t *testing.T) {
	s, logged := newStuffer(t, &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables})
	for i := range 1500 {
		s.ask(methodConsent, consentRequest{Contract: fmt.Sprint("garbage ", i, strings.Repeat("x", 3000))},
			new(consentResponse))
	}
	lines := strings.Count(logged.String(), "another member was told of a fault by its code alone")
	if lines > 200 {
		t.Errorf("%d lines of %d bytes in the log for 1,500 calls that cost the member nothing", lines, len(logged.String()))
	}
}

// TestConsentsAreNotHoarded: a bound over 30 days. The attacker has jobs consented to every 31 days and starts none,
// to run all of them on one day: those that have not ended count as of now.
func TestConsentsAreNotHoarded(t *testing.T) {
	const angles = 50 * 16
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, fmt.Sprintf(boundedRules, angles))
	var later atomic.Int64
	l.now = func() time.Time { return time.Now().AddDate(0, 0, int(later.Load())) }
	l.startAll()
	signed := 0
	for range 3 {
		c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "expires = \"8700h\"", activeBank+"features = 32"), nil)
		must(t, err)
		r, err := l.nodes[1].serveConsent(l.keys[0].ID(), consentRequest{Contract: string(c.Document.Text())})
		must(t, err)
		if r.Signature != nil {
			signed++
		}
		later.Add(31)
	}
	if signed != 1 {
		t.Errorf("%d jobs were consented to that open %d angles each, the bound is %d in 30 days", signed, angles, angles)
	}
}

// TestTwoEndsOfOneMember: a member tells each of two others another end of its own. Once they have told each other they
// stand by one.
func TestTwoEndsOfOneMember(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"bank\"]\n")
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 32"), 1, 2, 3)
	lies := []contract.Ending{
		{By: "retailer", Outcome: contract.OutcomeCancelled, Reason: "one"},
		{By: "retailer", Outcome: contract.OutcomeFailed, Fault: &fault.Fault{Code: fault.CodeDisk}},
	}
	for i, lie := range lies {
		e, err := contract.NewEnding(c, lie)
		must(t, err)
		e.Sign(l.keys[3])
		if _, err := l.nodes[i+1].serveEnd(l.keys[3].ID(), endingRequest{Contract: c.Hash(), Ending: e.Text()}); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := l.nodes[1].job(c.Hash())
	two, _ := l.nodes[2].job(c.Hash())
	for range 5 {
		l.nodes[1].sendEnding(t.Context(), one)
		l.nodes[2].sendEnding(t.Context(), two)
	}
	if a, b := one.Ending(), two.Ending(); a.Hash() != b.Hash() {
		t.Errorf("the job is %s at the insurer and %s at the telco", a.Outcome, b.Outcome)
	}
}

// TestDoneAgainstTheOwnersWord: in a job over clients the proposer alone signs that it is done. It says so of a session
// that never was, after a client's owner has cancelled the job; and again and again, of later sessions. None counts.
func TestDoneAgainstTheOwnersWord(t *testing.T) {
	l := newTestNetwork(t, 5, 0)
	l.streams(1, 60)
	l.startAll()
	c, err := l.nodes[0].Prepare(t.Context(), l.servedJob("pofmkl", 1, "privacy = \"published\"", smallPOFMKL), nil)
	must(t, err)
	for i := 1; i < 5; i++ {
		r, err := l.nodes[i].serveConsent(l.keys[0].ID(), consentRequest{Contract: string(c.Document.Text())})
		if err != nil || r.Signature == nil {
			t.Fatal(err)
		}
	}
	must(t, l.nodes[1].Cancel(c.Hash(), "our customers object"))
	said := func(session uint32) error {
		e, err := contract.NewEnding(c, contract.Ending{
			Outcome: contract.OutcomeDone, Session: session, Parts: []contract.PartDigest{{Party: "bank"}},
		})
		must(t, err)
		e.Sign(l.keys[0])
		_, err = l.nodes[1].serveEnd(l.keys[0].ID(), endingRequest{Contract: c.Hash(), Ending: e.Text()})
		return err
	}
	if err := said(7); err != nil {
		t.Log(err)
	}
	s, _ := l.nodes[1].job(c.Hash())
	if s.State() == job.Done {
		t.Errorf("the insurer's owner cancelled a job that never had a session (%d here); it is %s now: %q",
			s.Record().Session, s.State(), s.Record().Reason)
	}
	changed := 0
	for i := range uint32(50) {
		before := s.Ending()
		if said(8+i) == nil && s.Ending() != before {
			changed++
		}
	}
	if changed > 1 {
		t.Errorf("a job that has ended ended %d times more, each told to all parties", changed)
	}
}

// TestWhoNeverFinishesIsNamed: a member goes through every session and says that it has stored no part. The
// proposer's owner is told because of whom another session follows.
func TestWhoNeverFinishesIsNamed(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	named := make(chan string, 100)
	l.watch(0, func(e jobs.Event) {
		if strings.Contains(e.Text, "another session follows") {
			named <- e.Text
		}
	})
	l.startAll()
	evil := l.nodes[3]
	evil.config.Transport.Handle(func(ctx context.Context, from keys.ID, method string, request []byte) ([]byte,
		*fault.Fault) {
		if method == methodPart {
			data, _ := cbor.Marshal(partResponse{})
			return data, nil
		}
		return evil.handle(ctx, from, method, request)
	})
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	ctx, cancel := context.WithCancel(minute(t))
	launched := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].Launch(ctx, c.Hash(), nil)
		launched <- err
	}()
	if text := <-named; !strings.Contains(text, "retailer says that it has not finished session 1") {
		t.Errorf("the owner is told: %s", text)
	}
	cancel()
	if <-launched == nil {
		t.Error("the job is done")
	}
}

// TestTwoJobsOfOneName: a member proposes a job under the name of another that waits. The owner consents to the one
// that was shown, by its contract.
func TestTwoJobsOfOneName(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables}
	l.startAll()
	var honest keys.Hash
	for _, from := range []int{3, 0} {
		c, err := l.nodes[from].Prepare(t.Context(), l.job("train", "", activeBank+"features = 32"), nil)
		must(t, err)
		if _, err := l.nodes[1].serveConsent(l.keys[from].ID(),
			consentRequest{Contract: string(c.Document.Text())}); err != nil {
			t.Fatal(err)
		}
		honest = c.Hash()
	}
	l.serveSocketOf(1)
	client := newClient(l.nodes[1].config.Dir, owner.Peer)
	jobs, err := client.Jobs(t.Context())
	must(t, err)
	for _, j := range jobs {
		if j.Contract != honest.String() {
			continue
		}
		if _, err := client.Decide(t.Context(), Decision{Contract: honest, Yes: true}); err != nil {
			t.Errorf("the owner cannot consent to the honest job: %v", err)
		}
	}
}

// TestARenamedMemberKeepsItsResults: what a job left belongs to the key.
func TestARenamedMemberKeepsItsResults(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	_, model, err := l.propose(l.job("train", "", activeBank+"features = 32"))
	must(t, err)
	_, scored, err := l.propose(l.job("predict", fmt.Sprintf("model = %q\nopen_to = \"bank\"\ntable = \"test\"", model),
		""))
	must(t, err)
	renamed := *l.charter
	renamed.Members = append([]keys.Member{}, renamed.Members...)
	renamed.Members[0].Name = "kreditbank"
	l.nodes[0].SetCharter(inForce(t, &renamed))
	s, _ := l.nodes[0].job(scored)
	if _, err := l.nodes[0].scores(s); err != nil {
		t.Errorf("scores that are on the disk: %v", err)
	}
	m, _ := l.nodes[0].job(model)
	if err := l.nodes[0].checkPart(m, jobs.ModelFile); err != nil {
		t.Errorf("a model part that is whole: %v", err)
	}
}

// TestThePersonIsShownTheTable: a member proposes a training on another table than was talked about. The summary says
// which.
func TestThePersonIsShownTheTable(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	shown := make(map[string]string)
	for name, c := range map[string]struct{ head, parameters string }{
		"table train": {"", activeBank + "features = 32"}, "table test": {"table = \"test\"", activeBank + "features = 32"},
	} {
		contract, err := l.nodes[0].Prepare(t.Context(), l.job("train", c.head, c.parameters), nil)
		must(t, err)
		text := strings.ReplaceAll(summary.Of(contract, "insurer", summary.Known{}).String(), contract.Hash().Short(), "HASH")
		for other, said := range shown {
			if said == text {
				t.Errorf("a job on %s and one on %s are shown by the same words", name, other)
			}
		}
		shown[name] = text
	}
}
