package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestADamagedRecordForgetsNoOpenings: after a session the record is damaged, the owner consents again as it is told
// to, and the job is cancelled before its next session. What had opened counts.
func TestADamagedRecordForgetsNoOpenings(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = nil
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 32"), 1)
	if _, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	s, _ := l.nodes[1].job(c.Hash())
	must(t, l.nodes[1].apply(s, job.Opened{Number: 1, Now: time.Now()}))
	l.stops[1]()
	must(t, os.Truncate(filepath.Join(l.dirs[1], "node", "jobs", c.Hash().String(), job.RecordFile), 20))
	l.start(1)
	s, _ = l.nodes[1].job(c.Hash())
	if _, ok := l.nodes[1].opensAt(s); !ok {
		t.Error("damaged, it does not count")
	}
	if _, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	must(t, l.nodes[1].Cancel(c.Hash(), "no"))
	if _, ok := l.nodes[1].opensAt(s); !ok {
		t.Error("consented to again and cancelled, a job that had a session does not count")
	}
}

// TestDifferIsStopped: differ trains on the common rows, and again without one of them: what differs between the two
// tells of that row. Where a rule bounds nothing it is accepted; under a short rule a person is asked, who reads why.
func TestDifferIsStopped(t *testing.T) {
	l := newTestNetwork(t, 4, 120)
	l.policy = rulesOf(t, "[[accept]]\nproposers = [\"bank\"]\n")
	l.startAll()
	text := l.job("train", "privacy = \"sealed\"", activeBank+"features = 8\niterations = 8\nlambda = 0.1\nsigma = 1.0\n"+
		"loss = \"square\"")
	if _, _, err := l.propose(text); err != nil {
		t.Fatal(err)
	}
	drop := func(rows ...string) { // at all parties, as another alignment would
		for i := range l.names {
			var kept []string
			for line := range strings.Lines(readTable(t, l.tablePath(i, "train"))) {
				id, _, _ := strings.Cut(line, ",")
				if !strings.Contains(strings.Join(rows, " "), id) {
					kept = append(kept, line)
				}
			}
			l.writeTable(i, "train", strings.Join(kept, ""))
		}
	}
	judged := func(p *consent.Policy) (consent.Judgement, string) {
		c := l.proposed(text, 1)
		s, _ := l.nodes[1].job(c.Hash())
		asked, err := l.nodes[1].caseOf(s)
		must(t, err)
		return p.Judge(asked), strings.Join(strings.Fields(l.infoAt(1, c.Hash()).Summary), " ")
	}
	drop("r00007")
	got, text1 := judged(l.policy)
	if want := "least_difference: the job has 1 rows that an earlier training had not"; got.Verdict != consent.Ask ||
		!strings.Contains(got.Why(), want) {
		t.Errorf("judged %+v, want %s", got, want)
	}
	if want := "An earlier training had the same rows but for 1: what differs between the two tells of 1 row."; !strings.
		Contains(text1, want) {
		t.Errorf("the person reads\n%.400s, want\n%s", text1, want)
	}
	if got, _ := judged(wideRules(t, "[[accept]]\nproposers = [\"bank\"]\n")); got.Verdict != consent.Accept {
		t.Errorf("the control is judged %+v, want accepted", got)
	}
	drop("r00007", "r00011", "r00012", "r00013", "r00014", "r00015", "r00016", "r00017", "r00018", "r00019", "r00020")
	if got, _ := judged(l.policy); got.Verdict != consent.Accept {
		t.Errorf("with eleven others it is judged %+v, want accepted", got)
	}
}

// TestTheLedgerOutlivesItsJobs: what was told counts when the job's folder is deleted by hand, and when the ledger is:
// then for every row, since nobody knows which they were.
func TestTheLedgerOutlivesItsJobs(t *testing.T) {
	l := newTestNetwork(t, 4, 120)
	l.startAll()
	_, h, err := l.propose(l.job("train", "privacy = \"masked\"", activeBank+"features = 8\niterations = 8\n"+
		"loss = \"logistic\""))
	must(t, err)
	bits := func() *ledger.Line {
		t.Helper()
		told, err := l.nodes[1].Ledger()
		if err != nil || len(told.Lines) == 0 || told.Lines[0].Name != "bank" {
			t.Fatalf("the ledger says %+v, %v", told, err)
		}
		return &told.Lines[0]
	}
	if got := bits(); got.Bits != 64 || got.Rows != 120 || got.Unknown || got.Jobs != 1 {
		t.Errorf("a masked training tells %+v, want the 64 bits of 4 angles of 120 rows", got)
	}
	again := func(change func()) {
		t.Helper()
		l.stops[1]()
		change()
		l.start(1)
	}
	folder := JobFolder(l.folder(1), h)
	again(func() {
		must(t, os.Rename(folder, folder+".away"))
	})
	if got := bits(); got.Bits != 64 || got.Rows != 120 {
		t.Errorf("without the job's folder: %+v", got)
	}
	again(func() {
		must(t, os.Rename(folder+".away", folder))
		entries := filepath.Join(l.folder(1), ledger.Folder, "entries")
		must(t, os.WriteFile(entries, []byte(strings.Repeat("x", 200)), 0o600))
	})
	if got := bits(); got.Bits != 64 || !got.Unknown {
		t.Errorf("with a damaged ledger: %+v", got)
	}
	s, _ := l.nodes[1].job(l.proposed(l.job("train", "privacy = \"masked\"", activeBank+"features = 8\n"+
		"loss = \"logistic\""), 1).Hash())
	if told, err := l.nodes[1].toldBefore(s); err != nil || told.Before != 64 || told.With != 128 {
		t.Errorf("the next job is told of %+v, %v", told, err)
	}

	// What ends before its first session told nothing.
	c := l.proposed(l.job("train", "privacy = \"sealed\"", activeBank+"features = 8\nouter = 24\nloss = \"logistic\""), 1)
	if !l.nodes[1].ledger.Has(c.Hash()) {
		t.Error("a job that was consented to is not booked")
	}
	end := contract.Ending{Outcome: contract.OutcomeCancelled}
	must(t, l.nodes[1].conclude(mustJob(t, l.nodes[1], c), end, ""))
	if l.nodes[1].ledger.Has(c.Hash()) {
		t.Error("a job that had no session counts")
	}
}

// mustJob finds a node's job.
func mustJob(t *testing.T, n *Node, c *contract.Contract) *jobState {
	t.Helper()
	s, ok := n.job(c.Hash())
	if !ok {
		t.Fatalf("there is no job %s", c.Hash().Short())
	}
	return s
}
