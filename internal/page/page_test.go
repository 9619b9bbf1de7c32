package page

import (
	"bytes"
	"errors"
	"html"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// desk is a page with a node's state behind it that a test sets.
type desk struct {
	page   *Page
	server *httptest.Server

	mu        sync.Mutex
	status    node.Status
	contracts map[keys.Hash]*contract.Contract
	reports   map[string]*jobs.Report
	told      []ledger.Line
	unread    error // why the ledger cannot be had
	decisions []node.Decision
	failure   error
	now       time.Time
}

// newDesk serves a page on loopback.
func newDesk(t *testing.T, status node.Status) *desk {
	t.Helper()
	d := &desk{status: status, contracts: make(map[keys.Hash]*contract.Contract), reports: make(map[string]*jobs.Report),
		now: time.Now()}
	locked := func(what func()) {
		d.mu.Lock()
		defer d.mu.Unlock()
		what()
	}
	decide := func(what node.Decision) (_ node.Decided, err error) {
		locked(func() {
			if err = d.failure; err == nil && !what.Yes { // as the node does
				err = node.CheckReason(what.Reason)
			}
			if err != nil {
				return
			}
			d.decisions = append(d.decisions, what)
			for i := range d.status.Jobs { // as the node does
				if j := &d.status.Jobs[i]; j.Contract == what.Contract.String() {
					j.State = map[bool]job.State{true: job.Agreed, false: job.Refused}[what.Yes]
				}
			}
		})
		return node.Decided{}, err
	}
	var err error
	d.page, err = New(Config{
		Status: func() (s node.Status) {
			locked(func() { s = d.status; s.Jobs = slices.Clone(s.Jobs) })
			return s
		},
		Contract: func(h keys.Hash) *contract.Contract { return d.contracts[h] },
		Report:   func(h keys.Hash) (*jobs.Report, error) { return d.reports[h.String()], nil },
		Ledger: func() (l *node.Ledger, err error) {
			locked(func() { l, err = &node.Ledger{Lines: slices.Clone(d.told)}, d.unread })
			return l, err
		},
		Decide: decide,
		Now:    func() (now time.Time) { locked(func() { now = d.now }); return now },
	})
	must(t, err)
	d.server = httptest.NewServer(d.page.Handler())
	t.Cleanup(func() {
		d.page.End() // closes streams
		d.server.Close()
	})
	return d
}

// host is where the page is.
func (d *desk) host() string { return strings.TrimPrefix(d.server.URL, "http://") }

// change changes the node's state, and says that something has happened.
func (d *desk) change(what func(*node.Status)) {
	d.mu.Lock()
	what(&d.status)
	d.mu.Unlock()
	d.page.Told()
}

// decided returns the decisions so far.
func (d *desk) decided() []node.Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.decisions)
}

// visit is a browser without a screen that has opened a link: its client, and where the session's pages begin.
func (d *desk) visit(t *testing.T, person string) (*http.Client, string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := &http.Client{Jar: jar}
	return client, press(t, client, d.page.Link(d.host(), person))
}

// press opens a link as a person does: it loads what the link shows, and presses the button there. It returns where the
// session's pages begin.
func press(t *testing.T, client *http.Client, link string) string {
	t.Helper()
	if code, text := get(t, client, link); code != http.StatusOK || !strings.Contains(text, `<form method="post">`) {
		t.Fatalf("the link answers %d: %s", code, text)
	}
	response, err := client.PostForm(link, nil)
	must(t, err)
	text := body(t, response)
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Request.URL.Path, "/p/") {
		t.Fatalf("the link opens no session: %s", text)
	}
	return response.Request.URL.String()
}

// get returns a page's status and text.
func get(t *testing.T, client *http.Client, address string) (int, string) {
	t.Helper()
	response, err := client.Get(address)
	must(t, err)
	return response.StatusCode, body(t, response)
}

// body reads an answer.
func body(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return string(text)
}

// proposed is the contract of a real training that waits at telco.
func proposed(t *testing.T, golden, name string) *contract.Contract {
	t.Helper()
	text, err := os.ReadFile("../golden/testdata/" + golden + "/contract.toml")
	must(t, err)
	signatures := []byte("[signatures]\n")
	text = text[:bytes.Index(text, signatures)+len(signatures)] // a proposal that nobody has signed
	text = bytes.Replace(text, []byte(`name = \"golden\"`), []byte(`name = \"`+name+`\"`), 1)
	text = bytes.Replace(text, []byte("2026-01-09T03:04:05Z"), []byte("2031-01-09T03:00:00Z"), 1)
	text = bytes.Replace(text, []byte(`\n[parameters]`), []byte(`\n[purpose]\ntext = \"who is likely to leave, to be `+
		`asked before they do\"\nlegal_basis = \"legitimate interest, assessed on 2026-10-02\"\nretention = \"90 days\"\n`+
		`\n[parameters]`), 1)
	c, err := contract.ParseContract(text)
	must(t, err)
	return c
}

// jobOf is a job as a node has it, at telco.
func (d *desk) jobOf(c *contract.Contract, state job.State) node.JobStatus {
	h, j := c.Hash().String(), c.Job
	d.contracts[c.Hash()] = c
	says := summary.Of(c, "telco", summary.Known{})
	return node.JobStatus{JobInfo: node.JobInfo{
		Contract: h, Name: j.Name, Algorithm: j.Algorithm, Task: j.Task, Proposer: j.Proposer, Parties: j.Parties,
		Self: "telco", Privacy: j.Privacy, Topology: j.Topology, Expires: j.Expires, State: state, Sessions: 1,
		Summary: says.String(), Lead: says.Lead.Text, Exposure: says.Lead.Exposure,
	}}
}

// contractOf is the contract of the node's job of this number.
func (d *desk) contractOf(t *testing.T, job int) keys.Hash {
	t.Helper()
	var h keys.Hash
	must(t, h.UnmarshalText([]byte(d.status.Jobs[job].Contract)))
	return h
}

// example is a node in the middle of its work: a proposal waits, one job runs, others have ended.
func example(t *testing.T) *desk {
	t.Helper()
	began := time.Now().Add(-51 * time.Hour)
	d := newDesk(t, node.Status{
		Time: time.Now(), Member: "telco", Version: "v0.9.0", Started: began, Dir: "/srv/hanse/telco-node",
		Charter: node.CharterStatus{Name: "credit-north", Version: 3},
		Members: []node.MemberStatus{
			{Name: "bank", Kept: true, Connected: true, Since: began.Add(time.Hour), RTT: 11400 * time.Microsecond},
			{Name: "insurer", Kept: true, Connected: true, Since: time.Now().Add(-95 * time.Minute), RTT: 38 * time.Millisecond},
			{Name: "retailer", Kept: true, Since: time.Now().Add(-7 * time.Minute), Trouble: "connection refused"},
		},
		Alerts: []node.Alert{{Code: node.CodeAway, Level: node.AlertWarning, About: "retailer",
			Text: "retailer is away: connection refused", Mend: "hanse doctor --member retailer says what to change"}},
	})
	waits := d.jobOf(proposed(t, "fdskl-masked-tree", "credit-risk"), job.Proposed)
	waits.LacksConsent, waits.Consented = true, []string{"bank"}
	waits.OwnTable = []string{"its columns: calls, roaming, region (as 3)"}
	runs := d.jobOf(proposed(t, "fdskl-masked-auto", "churn-2026"), job.Running)
	runs.Sent = []node.EgressStatus{
		{Peer: "bank", Class: "masked", Bytes: 46_300_000, Agreed: 75_022_336},
		{Peer: "bank", Class: "control", Bytes: 3_120, Agreed: 40_960},
		{Peer: "insurer", Class: "control", Bytes: 3_120, Agreed: 40_960},
		{Peer: "bank", Class: "opening", Bytes: 8, Agreed: 64},
	}
	runs.Progress, runs.Standing = &node.Progress{Step: "solving", Done: 119, Total: 192, Percent: 61}, "running 61 %"
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		runs.Curve = append(runs.Curve, node.Point{Done: int64(i), Metric: 0.69*math.Exp(-float64(i)/30) + 0.31 +
			0.004*rng.Float64()})
	}
	done := d.jobOf(proposed(t, "fdskl-masked-tree-predict", "credit-scores"), job.Done)
	d.reports[done.Contract] = &jobs.Report{Job: done.Name, Contract: done.Contract, Party: "telco", Seconds: 12.4,
		Rounds: 40, BytesOut: 1_250_000, BytesIn: 3_410_000, Sessions: 1, Rows: 4_000, Figures: someFigures(t)}
	published := d.jobOf(proposed(t, "fdskl-published", "churn-open"), job.Refused)
	published.Reason = "refused by insurer: not without masks"
	done.Audited = &node.Audited{Verdict: "disclosed", Findings: 1, At: began.Truncate(24 * time.Hour).Add(15 * time.Hour),
		Transcripts: []node.AuditedTranscript{{Party: "bank"}, {Party: "telco"}}}
	d.status.Jobs = []node.JobStatus{waits, runs, done, published}
	d.told = []ledger.Line{
		{Table: "loans", Name: "bank", Jobs: 6, Models: 2, Alignments: 1, Rows: 4_000, Bits: 20, Entropy: 31.4,
			Numbers: 8_412, Last: began},
		{Table: "loans", Name: "insurer", Jobs: 3, Rows: 4_000, Entropy: 31.4, Numbers: 4_120, Alignments: 1,
			Last: began.Add(-70 * 24 * time.Hour)},
		{Table: "phones", Name: "retailer", Jobs: 2, Models: 2, Rows: 9_800, Bits: 22, Entropy: 20, Numbers: 96,
			Unknown: true, Last: began},
	}
	return d
}

// someFigures are those of a classifier on rows of a generator.
func someFigures(t *testing.T) *figures.Report {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	s := figures.Scored{Classes: [2]string{"stays", "leaves"}, Rule: figures.Rule{Kind: figures.Zero}}
	for i := range 400 {
		y := float64(2*(i%3/2) - 1)
		s.Labels, s.Scores = append(s.Labels, y), append(s.Scores, y/2+rng.NormFloat64()*0.6)
	}
	p, err := figures.FitPlatt(s.Labels, s.Scores)
	must(t, err)
	s.Probabilities = p.Probabilities(s.Scores)
	b, err := figures.OfClasses(s)
	must(t, err)
	return &figures.Report{Of: figures.ScoredRows, Binary: b}
}

// post sends a form as a browser does that says where it comes from.
func post(t *testing.T, client *http.Client, address, from string, form url.Values) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if from != "" {
		request.Header.Set("Origin", from)
	}
	response, err := client.Do(request)
	must(t, err)
	return response.StatusCode, body(t, response)
}

// formToken finds the token of a page's forms.
func formToken(t *testing.T, text string) string {
	t.Helper()
	_, after, found := strings.Cut(text, `name="form" value="`)
	token, _, _ := strings.Cut(after, `"`)
	if !found {
		t.Fatal("the page has no form")
	}
	return token
}

// TestAudits: what an audit concluded stands in the list and with its job, with its time; of a transcript that is
// another by now the page says so, and does not colour the verdict as one that holds.
func TestAudits(t *testing.T) {
	d := example(t)
	client, base := d.visit(t, "anna")
	job := base + "job/" + d.contractOf(t, 2).String()
	at := d.status.Jobs[2].Audited.At.UTC().Format("2006-01-02 15:04 UTC")
	said := "audited " + at + ": disclosed, 1 finding, by the transcripts of bank, telco"
	for _, address := range []string{base, job} {
		if _, text := get(t, client, address); !strings.Contains(text, `class="verdict disclosed">`+said+"<") {
			t.Errorf("%s does not say %q", address, said)
		}
	}
	d.change(func(s *node.Status) {
		changed := *s.Jobs[2].Audited
		changed.Changed = true
		s.Jobs[2].Audited = &changed
	})
	d.page.watchers.forget()
	for _, address := range []string{base, job} {
		_, text := get(t, client, address)
		if !strings.Contains(text, `class="verdict changed">`+said+"; the transcript has changed since: audit it again<") ||
			strings.Contains(text, "verdict disclosed") {
			t.Errorf("%s believes a verdict on another transcript", address)
		}
	}
}

// TestTold: the overview shows what hanse ledger does, in its words: each line with its note and what the numbers mean,
// that there is none, and why there is nothing to show.
func TestTold(t *testing.T) {
	d := example(t)
	client, base := d.visit(t, "anna")
	rows := regexp.MustCompile(`(?s)<tr[^>]*>(.*?)</tr>`)
	cells := regexp.MustCompile(`<t[hd][^>]*>([^<]*)</t[hd]>`)
	table := func(text string) (found [][]string) {
		_, text, _ = strings.Cut(text, `<div id="told">`)
		text, _, _ = strings.Cut(text, `</table>`)
		for _, row := range rows.FindAllStringSubmatch(text, -1) {
			var of []string
			for _, cell := range cells.FindAllStringSubmatch(row[1], -1) {
				of = append(of, html.UnescapeString(cell[1]))
			}
			found = append(found, of)
		}
		return found
	}
	_, text := get(t, client, base)
	want := [][]string{ledger.Heading()}
	for i := range d.told {
		want = append(want, d.told[i].Cells(time.UTC), []string{d.told[i].Note()})
	}
	if got := table(text); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the page has %q, want %q", got, want)
	}
	if !strings.Contains(html.UnescapeString(text), ledger.Meaning) {
		t.Error("the page does not say what the numbers mean")
	}
	if _, text := get(t, client, base+"job/"+d.contractOf(t, 0).String()); strings.Contains(text, `id="told"`) {
		t.Error("a job's page has the ledger too")
	}

	d.told[0].Name = "<i>bank\u202e"
	if _, text := get(t, client, base); !strings.Contains(text, ">&lt;i&gt;bank\ufffd</td>") {
		t.Error("a member's name is not cleaned")
	}
	d.told = nil
	if _, text := get(t, client, base); !strings.Contains(html.UnescapeString(text), ">"+ledger.Nothing+"<") {
		t.Error("the page does not say that nothing was told")
	}
	d.unread = errors.New("the disk <is> gone")
	if _, text := get(t, client, base); !strings.Contains(text, "the disk &lt;is&gt; gone") ||
		strings.Contains(html.UnescapeString(text), ledger.Nothing) {
		t.Error("the page does not say that the ledger cannot be read, or that it is empty")
	}
}

// TestApprovals: a proposal that several persons must approve has no button that one of them could press for all, says
// who has approved, and can be refused.
func TestApprovals(t *testing.T) {
	d := example(t)
	d.change(func(s *node.Status) {
		j := &s.Jobs[0]
		j.Approvals, j.Approvers, j.Approved = 2, []string{"alice", "bob", "<i>carol"}, []string{"alice"}
	})
	client, base := d.visit(t, "anna")
	_, text := get(t, client, base+"job/"+d.contractOf(t, 0).String())
	for _, want := range []string{"2 of alice, bob and &lt;i&gt;carol must approve it; so far alice.", "--as", `id="refuse"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, `id="approve"`) {
		t.Error("one person is offered a decision for two")
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
