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
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// logBook is a log that a test reads.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// smallJob are the parameters of a training that takes no time.
const smallJob = activeBank + "features = 8\nlambda = 1e-3\nsigma = 1.0\nloss = \"square\""

// stuffer is a member that asks as often and as much as it can.
type stuffer struct {
	l      *league
	node   *Node
	victim protocol.Party
	codes  map[code]int // what it was answered
}

// ask sends one call and counts the answer.
func (s *stuffer) ask(method string, request, response any) error {
	err := s.node.call(s.l.t.Context(), s.victim, method, request, response)
	var said *faultError
	if errors.As(err, &said) {
		s.codes[said.code]++
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
		another, err := protocol.NewContract(&job, c.Parties, c.Openings, c.Operations)
		if err != nil {
			s.l.t.Fatal(err)
		}
		texts = append(texts, string(another.Document.Text()))
	}
	return texts
}

// folders counts the folders of a node's jobs.
func (l *league) folders(i int) int {
	entries, err := os.ReadDir(filepath.Join(l.nodes[i].config.Dir, jobsDir))
	if err != nil {
		l.t.Fatal(err)
	}
	return len(entries)
}

// newStuffer starts a league of which the third member stuffs the second; no time passes there.
func newStuffer(t *testing.T, policy *consent.Policy) (*stuffer, *logBook) {
	l := newLeague(t, 3, 40)
	book, now := new(logBook), time.Now()
	l.policy, l.log, l.now = policy, slog.New(slog.NewTextHandler(book, nil)), func() time.Time { return now }
	l.startAll()
	return l.stuffer(), book
}

// stuffer is the third member, who stuffs the second.
func (l *league) stuffer() *stuffer {
	victim := protocol.Party{Name: "insurer", ID: l.keys[1].ID()}
	return &stuffer{l: l, node: l.nodes[2], victim: victim, codes: make(map[code]int)}
}

// TestStuffer: a member floods another with every call there is. What the other keeps stays small, its log names the
// member, and an honest job runs.
func TestStuffer(t *testing.T) {
	s, book := newStuffer(t, &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables,
		Accept: []consent.Rule{{Proposers: []string{"bank"}}}})
	l := s.l
	texts := s.contracts(300)
	for _, text := range texts {
		s.ask(methodConsent, consentRequest{Contract: text}, new(consentResponse))
	}
	if s.codes[codeLimit] == 0 || s.codes[codeBusy] == 0 {
		t.Errorf("300 proposals were answered by %v, want some %s and then %s", s.codes, codeLimit, codeBusy)
	}
	if n := l.folders(1); n > maxUndecidedEach || len(l.nodes[1].Jobs()) > maxUndecidedEach {
		t.Errorf("%d jobs of one member wait for a decision, want at most %d", n, maxUndecidedEach)
	}
	clear(s.codes)
	job := l.job("train", "", strings.Repeat("#", 1000))
	for range 200 {
		s.ask(methodDescribe, describeRequest{Job: string(job)}, new(protocol.Facts))
	}
	if s.codes[codeBusy] != 200 {
		t.Errorf("after all its proposals 200 descriptions were answered by %v, want %s", s.codes, codeBusy)
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
	if s.codes[codeBusy] == 0 || s.codes[codeUnknown] == 0 {
		t.Errorf("3,000 questions about no job were answered by %v", s.codes)
	}
	if n := l.nodes[1]; len(n.rates.members) > len(l.names)+1 || len(n.jobs) > maxUndecidedEach {
		t.Errorf("%d members are counted, %d jobs kept", len(n.rates.members), len(n.jobs))
	}
	if !strings.Contains(book.String(), "asks too much") || !strings.Contains(book.String(), "member=telco") {
		t.Errorf("the log does not name the stuffer:\n%.2000s", book)
	}
	if n := strings.Count(book.String(), "asks too much"); n > 2 {
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
		Accept: []consent.Rule{{Tasks: []string{"train", "predict"}}}})
	l := s.l
	_, kept, err := l.propose(l.job("train", "privacy = \"masked\"", smallJob))
	if err != nil {
		t.Fatal(err)
	}
	texts := s.contracts(maxEndedEach + 20)
	for _, text := range texts {
		s.ask(methodConsent, consentRequest{Contract: text}, new(consentResponse))
	}
	if s.codes[codeBusy] > 0 {
		t.Fatalf("the flood was answered by %v, want each proposal refused by the policy", s.codes)
	}
	check := func(when string) {
		t.Helper()
		n := l.nodes[1]
		if got := l.folders(1); got != maxEndedEach+1 {
			t.Errorf("%s %d folders of jobs are kept, want %d", when, got, maxEndedEach+1)
		}
		newest, _, _ := keys.NameOf(protocol.DomainContract, []byte(texts[len(texts)-1]))
		oldest, _, _ := keys.NameOf(protocol.DomainContract, []byte(texts[0]))
		for h, want := range map[keys.Hash]bool{kept: true, newest: true, oldest: false} {
			if _, there := n.job(h); there != want {
				t.Errorf("%s job %s is there: %v, want %v", when, h.Short(), there, want)
			}
		}
	}
	check("after the flood")
	l.stops[1]()
	half := filepath.Join(l.nodes[1].config.Dir, jobsDir, keys.HashOf("half").String()+".old"+durable.Suffix)
	if err := os.MkdirAll(filepath.Join(half, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.start(1)
	check("after a restart")
}

// TestCrowdedProposerWaits: a proposal to a member with many undecided ones waits and says so, and goes on when one of
// them is decided.
func TestCrowdedProposerWaits(t *testing.T) {
	l := newLeague(t, 3, 40)
	l.policy = &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables,
		Accept: []consent.Rule{{Tables: []string{"train"}}}}
	said := make(chan string, 100)
	l.told[0] = func(e Event) {
		if e.Kind == EventWaiting && strings.Contains(e.Text, "takes no more") {
			select {
			case said <- e.Text:
			default:
			}
		}
	}
	l.startAll()
	text := l.job("train", "privacy = \"masked\"\ntable = \"test\"", smallJob)
	var hashes []keys.Hash
	ctx, cancel := context.WithCancel(t.Context())
	var launched sync.WaitGroup
	defer func() { cancel(); launched.Wait() }()
	for range maxUndecidedEach + 1 {
		c, err := l.nodes[0].Prepare(ctx, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, c.Hash())
		launched.Go(func() { l.nodes[0].Launch(ctx, c.Hash(), nil) })
	}
	if text := <-said; !strings.HasPrefix(text, "waiting for insurer: it takes no more of this for now: 8 is the limit") {
		t.Errorf("the proposer says %q", text)
	}
	for _, h := range hashes {
		if s, _ := l.nodes[0].job(h); s.status().Final() {
			t.Errorf("a proposal that waits has ended: %+v", s.snapshot())
		}
	}
	for _, h := range hashes {
		if s, ok := l.nodes[1].job(h); ok && s.status() == StateProposed {
			if err := l.nodes[1].Decide(h, false, "no"); err != nil {
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
		if err := pause(ctx, tendEvery/50); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClaimedSessions: no party brings the number of sessions near its end, neither by what it says of the last one nor
// by the one it starts.
func TestClaimedSessions(t *testing.T) {
	if got := claimed(7, 1<<32-1); got != 7+claimAhead {
		t.Errorf("after session 7 a claim of the last number counts as %d", got)
	}
	if got := claimed(9, 3); got != 3 {
		t.Errorf("a claim of session 3 counts as %d", got)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &Consent{At: at}
	year := 365 * 24 * time.Hour
	for _, tc := range []struct {
		number uint32
		after  time.Duration
		want   bool
	}{
		{1, 0, true}, {sessionsFree, -time.Hour, true}, {1 << 20, time.Hour, false},
		{1<<32 - 1, year, false}, {1<<32 - 1, 3 * year, true},
	} {
		if got := c.plausible(tc.number, at.Add(tc.after)); got != tc.want {
			t.Errorf("session %d after %s is plausible: %v", tc.number, tc.after, got)
		}
	}
	const session = 10 * time.Second // the coordinator of a job that keeps breaking waits so long
	if perSecond := claimAhead / session.Seconds(); perSecond > sessionRate {
		t.Errorf("claims move the number by %v a second, and %d pass", perSecond, sessionRate)
	}
}
