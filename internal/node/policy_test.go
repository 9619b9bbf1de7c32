package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// rulesOf reads a policy.
func rulesOf(t testing.TB, rules string) *consent.Policy {
	t.Helper()
	p, err := consent.Parse("policy.toml", []byte("format = \"hanse-policy-v1\"\n"+rules))
	must(t, err)
	return p
}

// wideRules reads a policy, and takes the standards out that hold where its rules say nothing.
func wideRules(t testing.TB, rules string) *consent.Policy {
	t.Helper()
	p := rulesOf(t, rules)
	for i := range p.Accept {
		p.Accept[i] = consent.Wide(p.Accept[i])
	}
	return p
}

// boundedRules let the bank train and score masked, within bounds over 30 days: two trainings and three scorings of 50
// rows with 32 features.
const boundedRules = `
[[accept]]
proposers = ["bank"]
openings = [
    { kind = "distances" },
    { kind = "class names" },
    { kind = "angles", to = ["bank"], count_30_days = %d },
    { kind = "scores", to = ["bank"], count_30_days = 150 },
]
`

// TestOracleIsStoppedByTheBound has an attacker who proposes the same job again and again, with its own column changed
// each time, and learns from the answers what the others' columns say. The bound over 30 days leaves the job that is
// too many to a person, also when the node was started again in between; after 30 days it accepts again.
func TestOracleIsStoppedByTheBound(t *testing.T) {
	const angles = 50 * 16
	for _, c := range []struct {
		task       string
		angles     int // in 30 days
		accepted   int
		said       string
		sinceStart int // trainings before
	}{
		{"train", 2 * angles, 2, fmt.Sprintf("accept rule 1 does not fit: openings: the job has %d angles to bank with "+
			"the jobs of the last 30 days, the rule wants at most %d (count_30_days)", 3*angles, 2*angles), 0},
		{"predict", 100 * angles, 3, "accept rule 1 does not fit: openings: the job has 200 scores to bank with the jobs " +
			"of the last 30 days, the rule wants at most 150 (count_30_days)", 1},
	} {
		t.Run(c.task, func(t *testing.T) {
			l := newTestNetwork(t, 4, 50)
			l.policy = wideRules(t, fmt.Sprintf(boundedRules, c.angles))
			var later atomic.Int64 // days
			l.now = func() time.Time { return time.Now().AddDate(0, 0, int(later.Load())) }
			waits := make(chan string, 100)
			l.watch(1, func(e jobs.Event) {
				if strings.HasPrefix(e.Text, "no rule of the policy accepts it") {
					waits <- e.Text
				}
			})
			l.startAll()
			j, table := l.job("train", "", activeBank+"features = 32"), "train"
			if c.task == "predict" {
				_, model, err := l.propose(j)
				must(t, err)
				j, table = l.job("predict", fmt.Sprintf("model = %q\nopen_to = \"bank\"\ntable = \"test\"", model), ""), "test"
			}
			for i := range c.accepted {
				l.changeOwnColumn(table, i)
				if _, _, err := l.propose(j); err != nil {
					t.Fatalf("job %d: %v", i+1, err)
				}
			}
			l.stops[1]()
			l.start(1)
			ctx, cancel := context.WithCancel(minute(t))
			defer cancel()
			contract, err := l.nodes[0].Prepare(ctx, j, nil)
			must(t, err)
			ended := l.launched(ctx, 0, contract.Hash())
			if got := <-waits; !strings.Contains(got, c.said) {
				t.Errorf("the owner is told\n%s, want\n%s", got, c.said)
			}
			e, err := l.nodes[1].Explain(contract.Hash())
			if err != nil || e.State != job.Proposed || e.Judgement.Verdict != consent.Ask ||
				!strings.Contains(e.Judgement.Why(), c.said) {
				t.Errorf("explained as %+v, %v", e, err)
			}
			cancel()
			<-ended
			must(t, l.nodes[0].Cancel(contract.Hash(), "it was not accepted"))
			later.Store(31)
			if _, _, err := l.propose(j); err != nil {
				t.Errorf("after 31 days: %v", err)
			}
		})
	}
}

// changeOwnColumn changes the bank's column in one of its tables.
func (l *testNetwork) changeOwnColumn(table string, i int) {
	l.t.Helper()
	text := readTable(l.t, l.tablePath(0, table))
	l.writeTable(0, table, regexp.MustCompile(`(?m)^(r00007,)[^,]*`).ReplaceAllString(text, fmt.Sprintf("${1}%d.5", i)))
}

// TestOneBoundIsNotSpentTwice has the oracle propose several jobs at once, each of which fits the bound alone.
func TestOneBoundIsNotSpentTwice(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, fmt.Sprintf(boundedRules, 50*16))
	var written atomic.Int64
	l.faults[1] = func(path string) (bool, error) {
		if filepath.Base(path) != job.RecordFile || strings.HasSuffix(filepath.Dir(path), durable.Suffix) {
			return true, nil
		}
		written.Add(1)
		if l.nodes[1].judging.TryLock() {
			l.nodes[1].judging.Unlock()
			t.Error("while a consent is written another job can be judged, without it")
		}
		return true, nil
	}
	l.startAll()
	var texts [6]string
	for i := range texts {
		c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 32"), nil)
		must(t, err)
		texts[i] = string(c.Document.Text())
	}
	var signed atomic.Int64
	var asking sync.WaitGroup
	for _, text := range texts {
		asking.Go(func() {
			for answers := 0; answers < 3; answers++ {
				r, err := l.nodes[1].serveConsent(l.keys[0].ID(), consentRequest{Contract: text})
				if code, _ := faults.CodeOf(err); err != nil && code == fault.CodeBusy {
					answers-- // the others of the six take their time: whoever hears this asks again
					continue
				}
				if err != nil {
					t.Error(err)
				}
				if r.Signature != nil {
					signed.Add(1)
					return
				}
			}
		})
	}
	asking.Wait()
	if signed.Load() != 1 || written.Load() != 1 {
		t.Errorf("%d jobs were accepted and %d consents written, want 1", signed.Load(), written.Load())
	}
}

// TestDescriberLearnsACode has an attacker who asks for tables and label columns that the owner does not offer, by
// every question there is. It learns that they are not offered, and not whether they exist; the owner's log has it
// all.
func TestDescriberLearnsACode(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"bank\"]\n[[table]]\nname = \"train\"\nlabels = [\"y\"]\nmembers "+
		"= [\"bank\", \"telco\"]\n")
	var log syncBuffer
	l.logs = map[int]*slog.Logger{1: slog.New(slog.NewTextHandler(&log, nil))}
	const canary = "canary-7f3a"
	l.writeTable(1, "train", strings.ReplaceAll(readTable(t, l.tablePath(1, "train")), "id,a", "id,"+canary))
	l.startAll()
	insurerHolds := "active = [\"insurer\"]\nlabel = %q\nfeatures = 32"
	refusals := 0
	for _, c := range []struct{ name, head, parameters, want, log string }{
		{"a table that exists", "table = \"test\"", activeBank, "it does not offer that table to this member",
			`bank asks about table \"test\", and no [[table]] of the policy offers it`},
		{"a table that does not", "table = \"payroll\"", activeBank, "it does not offer that table to this member",
			`bank asks about table \"payroll\", and no [[table]] of the policy offers it`},
		{"a label column that exists", "", fmt.Sprintf(insurerHolds, canary),
			"it does not offer that label column to other members",
			`bank asks for the labels in column \"` + canary + `\" of table \"train\"`},
		{"a label column that does not", "", fmt.Sprintf(insurerHolds, "salary"),
			"it does not offer that label column to other members",
			`labels = [\"salary\"]`},
		{"a hidden table's label", "table = \"test\"", fmt.Sprintf(insurerHolds, "a"),
			"it does not offer that table to this member", `about table \"test\"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, _, err := l.nodes[0].complete(l.job("train", c.head, c.parameters))
			must(t, err)
			text, _ := job.Text()
			facts := make([]contract.Facts, 4)
			for i, name := range l.names {
				facts[i] = contract.Facts{Name: name, ID: l.keys[i].ID(), Role: "passive", Rows: 50, Columns: 1}
			}
			proposed, err := contract.NewContract(job, facts, nil, contract.SessionOperations(len(facts), nil))
			must(t, err)
			insurer := contract.Party{Name: "insurer", ID: l.keys[1].ID()}
			for method, request := range map[string]any{
				methodDescribe: describeRequest{Job: string(text)},
				methodConsent:  consentRequest{Contract: string(proposed.Document.Text())},
			} {
				refusals++
				err := l.nodes[0].call(minute(t), insurer, method, request, new(description))
				want := "insurer: " + c.want + " (its owner reads more with hanse jobs --ref "
				var refused *faults.Error
				if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, &refused) ||
					refused.Code != fault.CodeOffer && refused.Code != fault.CodeLabel || !faults.Permanent(err) {
					t.Errorf("%s answers %v, want %s", method, err, want)
				}
				if said := log.String(); !strings.Contains(said, c.log) ||
					!strings.Contains(said, fmt.Sprintf("it is refusal %d of bank", refusals)) {
					t.Errorf("%s: the log has no line with %s and %d:\n%s", method, c.log, refusals, said)
				}
			}
		})
	}
	if len(l.nodes[1].allJobs()) > 0 {
		t.Error("a refused job was kept")
	}
}

// TestOwnProposalsNeedNoOffer also where the policy offers nothing.
func TestOwnProposalsNeedNoOffer(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"bank\"]\n")
	l.startAll()
	if _, _, err := l.propose(l.job("train", "", activeBank+"features = 32")); err != nil {
		t.Error(err)
	}
	job := l.servedJob("pofmkl", 1, "", smallPOFMKL)
	_, err := l.nodes[0].Prepare(minute(t), job, nil)
	const want = ": it does not offer that label column to other members ("
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a server's job on the clients' labels: %v, want %s", err, want)
	}
}

// TestConsentIsRecorded with the rule and the file, or the person, and is still there after a restart.
func TestConsentIsRecorded(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"telco\"]\n[[accept]]\nproposers = [\"bank\"]\n")
	l.startAll()
	_, h, err := l.propose(l.job("train", "", activeBank+"features = 32"))
	must(t, err)
	s, _ := l.nodes[1].job(h)
	was := *s.Record().Consent
	if was.By != job.ByPolicy || was.Rule != "accept rule 2" || was.Policy != l.policy.Digest().String() ||
		was.Person != "" ||
		len(was.Salt) != 32 {
		t.Errorf("consent %+v", was)
	}
	l.stops[1]()
	folder := l.jobFile(1, h, "")
	if c, bound, err := readConsent(folder); err != nil || c == nil || !reflect.DeepEqual(*c, was) || !bound {
		t.Errorf("the folder has consent %+v, its transcript is bound to it: %v, %v", c, bound, err)
	}
	own, telcos := readTable(t, filepath.Join(folder, TranscriptFile)), readTable(t, l.jobFile(2, h, TranscriptFile))
	if strings.Contains(own, "accept rule") || strings.Contains(own, was.Policy) {
		t.Error("a transcript says who consented")
	}
	for _, text := range []string{telcos, own} { // begun under the telco's consent, and put back
		must(t, os.WriteFile(filepath.Join(folder, TranscriptFile), []byte(text), 0o600))
		if _, bound, err := readConsent(folder); err != nil || bound != (text == own) {
			t.Errorf("its transcript is bound to it: %v, %v", bound, err)
		}
	}
	l.start(1)
	s, _ = l.nodes[1].job(h)
	if now := *s.Record().Consent; !reflect.DeepEqual(now, was) {
		t.Errorf("after a restart consent is %+v, was %+v", now, was)
	}
	if e, err := l.nodes[1].Explain(h); err != nil || e.Judgement.Rule != "accept rule 2" || !e.AsOf.Equal(was.At) ||
		e.Policy != was.Policy {
		t.Errorf("explained as %+v, %v", e, err)
	}
	unsalted := &job.Consent{By: was.By, At: was.At, Rule: was.Rule, Policy: was.Policy}
	if a, b := was.Digest(h), unsalted.Digest(h); a == b {
		t.Error("the digest of a consent has no salt in it")
	}
}

// TestConsentIsToWhatWasShown has a proposer who puts another job of the same name in the place of the one that a
// person looks at.
func TestConsentIsToWhatWasShown(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = nil
	l.startAll()
	var shown [2]keys.Hash
	for i := range shown {
		c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 32"), nil)
		must(t, err)
		shown[i] = c.Hash()
		if _, err := l.nodes[1].serveConsent(l.keys[0].ID(),
			consentRequest{Contract: string(c.Document.Text())}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			must(t, l.nodes[1].Cancel(c.Hash(), "withdrawn"))
		}
	}
	decide := func(contract string) (int, string) {
		// whatever the command says: the system knows whose it is
		body := strings.NewReader(fmt.Sprintf(`{"contract": %q, "yes": true, "person": "anna", "Person": "anna"}`, contract))
		w := httptest.NewRecorder()
		command := context.WithValue(t.Context(), callerKey{}, caller{user: owner.Self()})
		l.nodes[1].routes().ServeHTTP(w, httptest.NewRequestWithContext(command, http.MethodPost, "/decide", body))
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	for contract, want := range map[string]string{
		shown[0].String():     `job "trial" is refused, not waiting for consent`,
		"":                    "the decision cannot be read: malformed hash",
		"trial":               "the decision cannot be read: malformed hash",
		shown[1].String()[:8]: "the decision cannot be read: malformed hash",
	} {
		if code, said := decide(contract); code != http.StatusConflict || !strings.HasPrefix(said, want) {
			t.Errorf("consent to %q: %d, %s, want %s", contract, code, said, want)
		}
	}
	s, _ := l.nodes[1].job(shown[1])
	if s.State() != job.Proposed {
		t.Fatalf("the job is %s", s.State())
	}
	if code, said := decide(shown[1].String()); code != http.StatusOK {
		t.Errorf("consent to what was shown: %d, %s", code, said)
	}
	if c := s.Record().Consent; c == nil || c.By != job.ByOwner || c.Person != owner.Self().Name() {
		t.Errorf("consent %+v", c)
	}
}

// TestTheLedgerIsTheJobsThemselves: what was consented to counts as of now until it ends, and then as of its end,
// unless it ended before its first session. A record that was damaged counts as one of now.
func TestTheLedgerIsTheJobsThemselves(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	n := &accounts{config: &Config{Now: func() time.Time { return now }}}
	then := now.AddDate(0, 0, -3)
	later := then.AddDate(0, 0, 2)
	c := &job.Consent{By: job.ByOwner, At: then}
	for name, c := range map[string]struct {
		record job.Record
		at     time.Time
	}{
		"proposed":                   {job.Record{State: job.Proposed}, time.Time{}},
		"agreed":                     {job.Record{State: job.Agreed, Consent: c}, now}, // it may open at any time
		"running":                    {job.Record{State: job.Running, Consent: c, Session: 1}, now},
		"done":                       {job.Record{State: job.Done, Consent: c, Session: 2, Ended: later}, later},
		"done by an earlier program": {job.Record{State: job.Done, Consent: c, Session: 2}, then},
		"cancelled while it ran":     {job.Record{State: job.Cancelled, Consent: c, Session: 1}, then},
		"cancelled before it ran":    {job.Record{State: job.Cancelled, Consent: c}, time.Time{}},
		"refused":                    {job.Record{State: job.Refused}, time.Time{}},
		"damaged":                    {job.Record{State: job.Proposed, Damaged: true}, now},
		"damaged, and ended by then": {job.Record{State: job.Done, Damaged: true}, now},
	} {
		s := memoryJob(c.record)
		if at, ok := n.opensAt(s); ok == c.at.IsZero() || !at.Equal(c.at) {
			t.Errorf("%s: %v, %v, want %v", name, at, ok, c.at)
		}
	}
}

// TestANodeDoesNotStartWithAPolicyThatIsWrong, and warns when a new charter makes it so.
func TestANodeDoesNotStartWithAPolicyThatIsWrong(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	config := Config{Key: l.keys[1], Charter: inForce(t, l.charter), Transport: l.transport(1), Dir: t.TempDir()}
	config.Policy = rulesOf(t, "[[accept]]\nproposers = [\"smith\"]")
	_, err := New(config)
	if want := `policy policy.toml: accept rule 1: proposers has "smith"; known are bank, insurer, telco and retailer: write one of these`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	var log syncBuffer
	l.logs = map[int]*slog.Logger{1: slog.New(slog.NewTextHandler(&log, nil))}
	l.policy = wideRules(t, "[[accept]]\nproposers = [\"retailer\"]")
	l.start(1)
	smaller := *l.charter
	smaller.Members = smaller.Members[:3]
	l.nodes[1].SetCharter(inForce(t, &smaller))
	if want := `accept rule 1: proposers has \"retailer\"; known are bank, insurer and telco: write one of these`; !strings.Contains(log.String(), want) {
		t.Errorf("the log is\n%s, want %s", log.String(), want)
	}
}

// TestPoliciesKnowTheWordsOfJobs: what contracts of every algorithm open, the roles in them, and all algorithms.
func TestPoliciesKnowTheWordsOfJobs(t *testing.T) {
	known := func(key, word string) {
		t.Helper()
		rule := fmt.Sprintf("[[accept]]\n%s = [%q]", key, word)
		if key == "openings" {
			rule = fmt.Sprintf("[[accept]]\nopenings = [{kind = %q}]", word)
		}
		if err := rulesOf(t, rule).Check(nil); err != nil {
			t.Error(err)
		}
	}
	l := newTestNetwork(t, 4, 80)
	l.startAll()
	_, err := l.nodes[0].newTask(&contract.Job{Algorithm: "none"})
	_, list, _ := strings.Cut(fmt.Sprint(err), "this version runs ")
	algorithms := regexp.MustCompile(`"([a-z]+)"`).FindAllStringSubmatch(list, -1)
	if len(algorithms) < 4 {
		t.Fatalf("algorithms %q in %v", algorithms, err)
	}
	for _, m := range algorithms {
		known("algorithms", m[1])
	}
	online := newTestNetwork(t, 4, 0)
	online.streams(1, 60)
	online.startAll()
	choosing := newTestNetwork(t, 4, 0)
	choosing.streams(1, 60)
	choosing.networks(4)
	choosing.startAll()
	kinds := make(map[string]bool)
	for _, c := range []struct {
		l    *testNetwork
		text []byte
	}{
		{l, l.job("train", "privacy = \"masked\"", activeBank+"features = 32")},
		{l, l.job("train", "privacy = \"published\"", activeBank+"features = 32")},
		{l, l.job("train", "privacy = \"sealed\"", activeBank+"features = 8\nloss = \"logistic\"")},
		{l, l.job("train", "privacy = \"masked\"", activeBank+"features = 32\nschedule = \"doubly-stochastic\"")},
		{online, online.servedJob("pofmkl", 1, "privacy = \"masked\"", smallPOFMKL)},
		{choosing, choosing.servedJob("ofmsft", 1, "privacy = \"masked\"", smallOFMSFT)},
	} {
		contract, err := c.l.nodes[0].Prepare(minute(t), c.text, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, o := range contract.Openings {
			kinds[o.Kind] = true
			known("openings", o.Kind)
		}
		for _, f := range contract.Parties {
			known("roles", l.nodes[0].algorithms.roleIn(contract, f.Name))
		}
	}
	if len(kinds) < 10 {
		t.Errorf("only %d kinds of openings were seen: %v", len(kinds), kinds)
	}
}

// syncBuffer is a buffer that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// readTable reads a table's file.
func readTable(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// readConsent reads who consented to the job in a folder, and whether its transcript was begun under that.
func readConsent(folder string) (*job.Consent, bool, error) {
	text, err := os.ReadFile(filepath.Join(folder, TranscriptFile))
	if err != nil {
		return nil, false, err
	}
	h, err := transcript.DecodeHeader((*[transcript.BlockSize]byte)(text))
	if err != nil {
		return nil, false, err
	}
	r, err := job.ReadRecord(folder)
	return r.Consent, r.Consent.Digest(h.Contract) == h.Consent, err
}
