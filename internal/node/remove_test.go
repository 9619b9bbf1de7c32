package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// mustRemove removes a job at a party.
func (l *testNetwork) mustRemove(i int, h keys.Hash) *Removal {
	l.t.Helper()
	r, err := l.nodes[i].Remove(h)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// wantLeft wants nothing in a job's folder but what a removal leaves.
func (l *testNetwork) wantLeft(i int, h keys.Hash) {
	l.t.Helper()
	entries, err := os.ReadDir(l.nodes[i].jobFolder(h))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "index" && !slices.Contains(whatStays, e.Name()) {
			l.t.Errorf("%s still has %s", l.names[i], e.Name())
		}
	}
}

// contractHash reads a contract's hash from a report.
func contractHash(t testing.TB, r *jobs.Report) (h keys.Hash) {
	t.Helper()
	must(t, h.UnmarshalText([]byte(r.Contract)))
	return h
}

// TestRemoverScoresNothingAgain: an owner removes predictions, and at last the training, so that rows which were scored
// be scored again. The counts are not in what goes, at the remover neither: a model part that comes back from a copy
// finds them.
func TestRemoverScoresNothingAgain(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	r, first := l.mustScore(model, "test", "bank", "")
	scored := contractHash(t, r)
	for i := range l.names {
		l.mustRemove(i, scored)
		l.wantLeft(i, scored)
	}
	l.mustRefuse(model, "test", "insurer", "", 40, 1)
	again, second := l.mustScore(model, "test", "bank", "") // its own file has them
	if again.Known != 40 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("%d scores were known", again.Known)
	}
	l.wantTimes(model, 40, 1)

	// The insurer removes the training: with its part it has no say in predictions any more.
	copied, err := vault.ReadFile(l.jobFile(1, model, jobs.ModelFile), model)
	must(t, err)
	l.mustRemove(1, model)
	l.wantLeft(1, model)
	if _, _, err := l.scores(model, "test", "bank", ""); err == nil || !strings.Contains(err.Error(), "insurer") {
		t.Errorf("a prediction without the insurer's part ends with %v", err)
	}
	// Then it puts a copy of its part back, and strikes the removal from its record.
	l.restart(1, model, func(dir string) {
		v, err := vault.Open(dir, vault.Options{Owner: model})
		must(t, err)
		var record job.Record
		text, err := v.Load(job.RecordFile)
		if err == nil {
			err = keys.DecodeStrict(job.RecordFile, text, &record)
		}
		must(t, err)
		line := fmt.Sprintf("removed = %s\n", record.Removed.Format(time.RFC3339Nano))
		if !bytes.Contains(text, []byte(line)) {
			t.Fatalf("the record has no line %q:\n%s", line, text)
		}
		must(t, errors.Join(v.Save(job.RecordFile, bytes.Replace(text, []byte(line), nil, 1)),
			v.Save(jobs.ModelFile, copied), v.Close()))
	})
	l.wantTimesOf(model, 1, 40)
	l.mustRefuse(model, "test", "insurer", "", 40, 1)
	s, _ := l.nodes[1].columns.Folder(model)
	if !s.Has(columns.ScoredRowsFile) {
		t.Error("the insurer's count is gone")
	}
}

// TestRemovedJobsCountForThePolicy: an owner cannot make room under a bound over 30 days by removing jobs.
func TestRemovedJobsCountForThePolicy(t *testing.T) {
	const angles = 50 * 16
	l := newTestNetwork(t, 4, 50)
	l.policy = wideRules(t, fmt.Sprintf(boundedRules, angles))
	l.startAll()
	j := l.job("train", "", activeBank+"features = 32")
	_, h, err := l.propose(j)
	must(t, err)
	for i := range l.names {
		l.mustRemove(i, h)
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			l.restart(1, h, nil)
		}
		c, err := l.nodes[0].Prepare(minute(t), j, nil)
		must(t, err)
		asked := consentRequest{Contract: string(c.Document.Text())}
		if _, err := l.nodes[1].serveConsent(l.keys[0].ID(), asked); err != nil {
			t.Fatal(err)
		}
		e, err := l.nodes[1].Explain(c.Hash())
		want := fmt.Sprintf("%d angles", 2*angles)
		if err != nil || e.State != job.Proposed || !strings.Contains(e.Judgement.Why(), want) {
			t.Errorf("after a removal (restarted: %v) another job is judged %+v, %v", restarted, e, err)
		}
	}
}

// TestARemovedContractIsNotRunAgain: whoever has the contract that all signed cannot have a node that removed the job
// consent to it or open a session of it.
func TestARemovedContractIsNotRunAgain(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	_, h, err := l.propose(l.job("train", "", "active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\""))
	must(t, err)
	signed, err := os.ReadFile(l.jobFile(0, h, job.ContractCopy))
	must(t, err)
	l.awaitDone(minute(t), h)
	l.mustRemove(1, h)
	for _, restarted := range []bool{false, true} {
		if restarted {
			l.restart(1, h, nil)
		}
		bank := l.keys[0].ID()
		consented, err := l.nodes[1].serveConsent(bank, consentRequest{Contract: string(signed)})
		if err != nil || consented.Signature != nil || consented.Ending == nil {
			t.Errorf("restarted %v: asked for consent again the insurer says %+v, %v", restarted, consented, err)
		}
		started, err := l.nodes[1].serveStart(bank, startRequest{Contract: string(signed), Number: 99})
		if err != nil || started.Ending == nil {
			t.Errorf("restarted %v: told to start again the insurer says %+v, %v", restarted, started, err)
		}
		s, _ := l.nodes[1].job(h)
		if e, err := contract.ParseEnding(s.Contract(), started.Ending); err != nil || e.Outcome != contract.OutcomeDone {
			t.Errorf("restarted %v: the end is %+v, %v", restarted, e, err)
		}
	}
}

// TestWhatMayBeRemoved: no job that is under way, none that one under way needs, and none twice.
func TestWhatMayBeRemoved(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	refused := func(h keys.Hash, want string) {
		t.Helper()
		_, planned := l.nodes[0].PlanRemoval(h)
		_, err := l.nodes[0].Remove(h)
		for _, err := range []error{planned, err} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the removal ends with %v, want %s", err, want)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := l.prepare(ctx, model, "sealed", "bank", "")
	refused(h, "hanse cancel trial ends it")
	refused(model, `job "trial" is needed by job "trial", which is `)
	refused(keys.Hash{1}, "has no job")
	must(t, l.nodes[0].Cancel(h, "not needed"))
	r := l.mustRemove(0, model)
	listed := func(piles []Pile, what string) bool {
		return slices.ContainsFunc(piles, func(p Pile) bool { return strings.HasPrefix(p.What, what) && p.Bytes > 0 })
	}
	if !listed(r.Goes, "this member's part of the model") || !listed(r.Stays, "transcript: ") {
		t.Errorf("the removal says %+v", r)
	}
	refused(model, "was removed here on ")
	if _, err := l.nodes[0].find(model.String(), func(job.State) bool { return true }); err == nil ||
		!strings.Contains(err.Error(), "was removed here on ") {
		t.Errorf("a command about a removed job ends with %v", err)
	}
	for _, j := range l.nodes[0].Jobs() {
		if j.Contract == model.String() {
			t.Error("a removed job is listed")
		}
	}
	all := l.nodes[0].Removed()
	if len(all) != 1 || all[0].Contract != model.String() || all[0].Standing != "done, removed" {
		t.Errorf("the removed jobs are %+v", all)
	}
}

// TestARemovalThatWasCutShort is gone on from when the node starts.
func TestARemovalThatWasCutShort(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	_, h, err := l.propose(l.job("train", "record = \"full\"",
		"active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\""))
	must(t, err)
	s, _ := l.nodes[0].job(h)
	if _, err := s.Apply(job.Removed{Now: time.Now()}); err != nil { // and the power fails before it is carried out
		t.Fatal(err)
	}
	l.restart(0, h, nil)
	l.wantLeft(0, h)
	if _, err := os.Stat(filepath.Join(l.nodes[0].jobFolder(h), PayloadFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ReadModel(registry.Program(), l.nodes[0].jobFolder(h)); err == nil {
		t.Error("the model part is still there")
	}
}

// TestARemovedJobIsAudited by what stays: the chain and the signatures hold, and payloads are not looked at.
func TestARemovedJobIsAudited(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	r, _ := l.mustScore(model, "test", "bank", "")
	h := contractHash(t, r)
	l.awaitDone(minute(t), h)
	l.mustRemove(1, h)
	report := l.wantVerdict(h, audit.Partial)
	skipped := slices.ContainsFunc(report.Checks, func(c finding.Check) bool {
		return c.Name == "payloads" && c.Party == "insurer" && c.Verdict == audit.Skipped
	})
	if !skipped {
		t.Errorf("the insurer's payloads are not said to be skipped: %+v", report.Checks)
	}
}

// TestARemovalThatFailsIsNoRemoval: whoever removes a job is told what could not be deleted.
func TestARemovalThatFailsIsNoRemoval(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	var fails atomic.Bool
	l.faults[0] = func(path string) (bool, error) {
		if fails.Load() && filepath.Base(path) == "index" {
			return false, errors.New("input/output error")
		}
		return false, nil
	}
	l.startAll()
	_, h, err := l.propose(l.job("train", "", "active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\""))
	must(t, err)
	fails.Store(true)
	if _, err := l.nodes[0].Remove(h); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("a removal of which files are left ends with %v", err)
	}
	fails.Store(false)
	l.restart(0, h, nil)
	l.wantLeft(0, h)
}
