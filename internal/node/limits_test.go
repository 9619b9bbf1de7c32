package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// smallJob are the parameters of a training that takes no time.
const smallJob = activeBank + "features = 8\nlambda = 1e-3\nsigma = 1.0\nloss = \"square\""

// stuffer is a member that asks as often and as much as it can.
type stuffer struct {
	l      *testNetwork
	node   *Node
	victim contract.Party
	codes  map[fault.Code]int // what it was answered
}

// ask sends one call and counts the answer.
func (s *stuffer) ask(method string, request, response any) error {
	err := s.node.call(s.l.t.Context(), s.victim, method, request, response)
	var said *faults.Error
	if errors.As(err, &said) {
		s.codes[said.Code]++
	}
	return err
}

// contracts makes valid contracts, each with another nonce, of one that it has prepared.
func (s *stuffer) contracts(n int) []string {
	c, err := s.node.Prepare(s.l.t.Context(), s.l.job("train", "privacy = \"masked\"", smallJob), nil)
	if err != nil {
		s.l.t.Fatal(err)
	}
	var texts []string
	for i := range n {
		job := *c.Job
		job.Nonce = fmt.Sprintf("%016x", i)
		another, err := contract.NewContract(&job, c.Parties, c.Openings, c.Operations)
		if err != nil {
			s.l.t.Fatal(err)
		}
		texts = append(texts, string(another.Document.Text()))
	}
	return texts
}

// folders counts the folders of a node's jobs.
func (l *testNetwork) folders(i int) int {
	entries, err := os.ReadDir(filepath.Join(l.nodes[i].config.Dir, jobsDir))
	if err != nil {
		l.t.Fatal(err)
	}
	return len(entries)
}

// newStuffer starts a test network of which the third member stuffs the second; no time passes there.
func newStuffer(t *testing.T, policy *consent.Policy) (*stuffer, *logBuffer) {
	l := newTestNetwork(t, 3, 40)
	logged, now := new(logBuffer), time.Now()
	l.policy, l.log, l.now = policy, slog.New(slog.NewTextHandler(logged, nil)), func() time.Time { return now }
	l.startAll()
	return l.stuffer(), logged
}

// stuffer is the third member, who stuffs the second.
func (l *testNetwork) stuffer() *stuffer {
	victim := contract.Party{Name: "insurer", ID: l.keys[1].ID()}
	return &stuffer{l: l, node: l.nodes[2], victim: victim, codes: make(map[fault.Code]int)}
}

// TestStuffer: a member floods another with every call there is. What the other keeps stays small, its log names the
// member, and an honest job runs.
func TestStuffer(t *testing.T) {
	s, logged := newStuffer(t, &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables,
		Accept: []consent.Rule{consent.Wide(consent.Rule{Proposers: []string{"bank"}})}})
	l := s.l
	texts := s.contracts(300)
	for _, text := range texts {
		s.ask(methodConsent, consentRequest{Contract: text}, new(consentResponse))
	}
	if s.codes[fault.CodeLimit] == 0 || s.codes[fault.CodeBusy] == 0 {
		t.Errorf("300 proposals were answered by %v, want some %s and then %s", s.codes, fault.CodeLimit, fault.CodeBusy)
	}
	if n := l.folders(1); n > maxWaitingEach || len(l.nodes[1].Jobs()) > maxWaitingEach {
		t.Errorf("%d jobs of one member wait for a decision, want at most %d", n, maxWaitingEach)
	}
	clear(s.codes)
	job := l.job("train", "", strings.Repeat("#", 1000))
	for range 200 {
		s.ask(methodDescribe, describeRequest{Job: string(job)}, new(description))
	}
	if s.codes[fault.CodeBusy] != 200 {
		t.Errorf("after all its proposals 200 descriptions were answered by %v, want %s", s.codes, fault.CodeBusy)
	}
	long := bytes.Repeat([]byte("x\x1b[2J"), 1<<18)
	for range 20 {
		s.ask(methodEnd, endingRequest{Contract: keys.HashOf("x"), Ending: long}, new(endingResponse))
		s.ask("job/"+string(long[:1000]), standingRequest{}, new(standing))
	}
	clear(s.codes)
	for i := range 3000 {
		s.ask(methodStanding, standingRequest{Contract: keys.HashOf("none", fmt.Append(nil, i))}, new(standing))
	}
	if s.codes[fault.CodeBusy] == 0 || s.codes[fault.CodeUnknown] == 0 {
		t.Errorf("3,000 questions about no job were answered by %v", s.codes)
	}
	if n := l.nodes[1]; len(n.rates.members) > len(l.names)+1 || len(n.allJobs()) > maxWaitingEach {
		t.Errorf("%d members are counted, %d jobs kept", len(n.rates.members), len(n.allJobs()))
	}
	if !strings.Contains(logged.String(), "asks too much") || !strings.Contains(logged.String(), "member=telco") {
		t.Errorf("the log does not name the stuffer:\n%.2000s", logged)
	}
	if n := strings.Count(logged.String(), "asks too much"); n > 2 {
		t.Errorf("the log says it %d times in one minute", n)
	}
	if _, _, err := l.propose(l.job("train", "privacy = \"masked\"", smallJob)); err != nil {
		t.Errorf("an honest job: %v", err)
	}
}

// TestRefusedProposalsAreForgotten: what the policy refuses is kept up to a number, the newest, also over a restart; a
// job that somebody here consented to stays. A folder that a crash left half removed is swept up.
func TestRefusedProposalsAreForgotten(t *testing.T) {
	refuse := []consent.Rule{{Proposers: []string{"telco"}}}
	s, _ := newStuffer(t, &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables, Refuse: refuse,
		Accept: []consent.Rule{consent.Wide(consent.Rule{Tasks: []string{"train", "predict"}})}})
	l := s.l
	_, kept, err := l.propose(l.job("train", "privacy = \"masked\"", smallJob))
	must(t, err)
	texts := s.contracts(maxEndedEach + 20)
	for _, text := range texts {
		s.ask(methodConsent, consentRequest{Contract: text}, new(consentResponse))
	}
	if s.codes[fault.CodeBusy] > 0 {
		t.Fatalf("the flood was answered by %v, want each proposal refused by the policy", s.codes)
	}
	check := func(when string) {
		t.Helper()
		n := l.nodes[1]
		if got := l.folders(1); got != maxEndedEach+1 {
			t.Errorf("%s %d folders of jobs are kept, want %d", when, got, maxEndedEach+1)
		}
		newest, _, _ := keys.NameOf(contract.DomainContract, []byte(texts[len(texts)-1]))
		oldest, _, _ := keys.NameOf(contract.DomainContract, []byte(texts[0]))
		for h, want := range map[keys.Hash]bool{kept: true, newest: true, oldest: false} {
			if _, there := n.job(h); there != want {
				t.Errorf("%s job %s is there: %v, want %v", when, h.Short(), there, want)
			}
		}
	}
	check("after the flood")
	l.stops[1]()
	half := filepath.Join(l.nodes[1].config.Dir, jobsDir, keys.HashOf("half").String()+".old"+durable.Suffix)
	must(t, os.MkdirAll(filepath.Join(half, "deep"), 0o700))
	l.start(1)
	check("after a restart")
}

// TestCrowdedProposerWaits: a proposal to a member with many undecided ones waits and says so, and goes on when one of
// them is decided.
func TestCrowdedProposerWaits(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables,
		Accept: []consent.Rule{consent.Wide(consent.Rule{Tables: []string{"train"}})}}
	said := make(chan string, 100)
	l.watch(0, func(e jobs.Event) {
		if e.Kind == jobs.EventWaiting && strings.Contains(e.Text, "takes no more") {
			select {
			case said <- e.Text:
			default:
			}
		}
	})
	l.startAll()
	text := l.job("train", "privacy = \"masked\"\ntable = \"test\"", smallJob)
	var hashes []keys.Hash
	ctx, cancel := context.WithCancel(t.Context())
	var launched sync.WaitGroup
	defer func() { cancel(); launched.Wait() }()
	for range maxWaitingEach + 1 {
		c, err := l.nodes[0].Prepare(ctx, text, nil)
		must(t, err)
		hashes = append(hashes, c.Hash())
		launched.Go(func() { l.nodes[0].Launch(ctx, c.Hash(), nil) })
	}
	if text := <-said; !strings.HasSuffix(text, ": it takes no more of this for now: 8 is the limit") {
		t.Errorf("the proposer says %q", text)
	}
	for _, h := range hashes {
		if s, _ := l.nodes[0].job(h); s.State().Final() {
			t.Errorf("a proposal that waits has ended: %+v", s.Record())
		}
	}
	for _, h := range hashes {
		if s, ok := l.nodes[1].job(h); ok && s.State() == job.Proposed {
			if _, err := l.nodes[1].Decide(Decision{Contract: h, Reason: "no"}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for there := 0; there < len(hashes); there = 0 { // all have been there once
		for _, h := range hashes {
			if _, ok := l.nodes[1].job(h); ok {
				there++
			}
		}
		if there == len(hashes) {
			break
		}
		must(t, pause(ctx, tendEvery/50))
	}
}
