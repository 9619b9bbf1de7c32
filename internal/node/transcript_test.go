package node

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/auditing/shardfiles"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// audit audits a job with the transcripts of all nodes and all their columns.
func (l *testNetwork) audit(h keys.Hash) *audit.Report {
	l.t.Helper()
	l.awaitDone(l.t.Context(), h)
	text, err := os.ReadFile(l.jobFile(0, h, job.ContractCopy))
	if err != nil {
		l.t.Fatal(err)
	}
	in := &audit.Input{Charter: l.charter, Workers: 2}
	if in.Contract, err = contract.ParseContract(text); err != nil {
		l.t.Fatal(err)
	}
	if in.Contract.Job.Shards > 0 {
		in.Shards = &evidence.Shards{Records: make([][]evidence.ShardRecord, len(l.names))}
	}
	open := func(path string) (audit.Source, error) {
		s := audit.Source{Path: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
		folder := filepath.Join(filepath.Dir(path), PayloadFolder)
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return s, nil // as package auditing has it
		}
		store, err := transcript.OpenStore(folder, 0)
		if err == nil {
			s.Payload = store.Get
		}
		return s, err
	}
	for i := range l.names {
		path := l.jobFile(i, h, TranscriptFile)
		source, err := open(path)
		if err != nil {
			l.t.Fatal(err)
		}
		in.Sources = append(in.Sources, source)
		if in.Shards != nil {
			f, err := in.Contract.InForce()
			if err == nil {
				err = shardfiles.Read(in.Shards, i, filepath.Dir(path), f, open)
			}
			if err != nil {
				l.t.Fatal(err)
			}
		}
		if in.Contract.Job.OverClients() {
			continue // its clients' rows are streams
		}
		columns := l.columns(i, in)
		if columns != nil {
			agreed, err := job.ReadRecord(filepath.Dir(path))
			columns.Confirmed = err == nil && agreed.Data == columns.Table
		}
		in.Columns = append(in.Columns, columns)
	}
	r, err := audit.Run(l.t.Context(), in)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// jobFile returns a file in a job's folder at party i.
func (l *testNetwork) jobFile(i int, h keys.Hash, name string) string {
	return filepath.Join(l.dirs[i], "node", "jobs", h.String(), name)
}

// columns reads a party's table of the job as its node does; of a prediction it tells the audit the
// party's part of the model, too.
func (l *testNetwork) columns(i int, in *audit.Input) *audit.Columns {
	l.t.Helper()
	if i > 0 && i == l.idle {
		return nil
	}
	if in.Contract.Job.Task == contract.TaskTrain {
		return l.trained(i, in.Contract)
	}
	var err error
	if in.Model, err = l.nodes[i].columns.Model(in.Contract.Job.Model); err != nil {
		l.t.Fatal(err)
	}
	table, err := dataset.Read(l.tablePath(i, in.Contract.Job.Table), dataset.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	rows, err := vertical.PrepareScoring(table, in.Model.Model())
	if err != nil {
		l.t.Fatal(err)
	}
	c := evidence.NewColumns(rows)
	c.Table = table.Sum
	return c
}

// trained reads a party's training table.
func (l *testNetwork) trained(i int, contract *contract.Contract) *audit.Columns {
	l.t.Helper()
	goal, err := registry.Program().Goal(contract.Job)
	if err != nil {
		l.t.Fatal(err)
	}
	var o dataset.Options
	active := slices.Contains(goal.Active, l.names[i])
	if active {
		o.Label = goal.Label
	}
	table, err := dataset.Read(l.tablePath(i, "train"), o)
	if err != nil {
		l.t.Fatal(err)
	}
	p, err := vertical.PrepareTraining(table, goal, active)
	if err != nil {
		l.t.Fatal(err)
	}
	c := evidence.NewColumns(p.Rows)
	c.Table = table.Sum
	if p.Labels != nil {
		c.Labels = p.Labels.Values
	}
	return c
}

// mustVerify wants no check that failed, and rows rebuilt as the contract declares: none of a clean job.
func mustVerify(t *testing.T, r *audit.Report, verdict audit.Verdict) {
	t.Helper()
	for _, c := range r.Checks {
		if leaks := verdict == audit.Leak && c.Name == "parameters"; c.Verdict != audit.Passed && !leaks {
			t.Errorf("check %s of %s: %s: %s", c.Name, c.Party, c.Verdict, c.Detail)
		}
	}
	if r.Verdict != verdict {
		t.Errorf("verdict is %s, want %s: %s %q", r.Verdict, verdict, r.Summary, r.NotLookedAt)
	}
	rebuilt := false
	for _, a := range r.Attacks {
		if a.Name == "difference" && a.View == "active party" {
			rebuilt = a.RecoveredShare != nil && *a.RecoveredShare == 1
		}
	}
	if rebuilt == (verdict == audit.Clean) {
		t.Errorf("the active party's view was rebuilt: %t; %+v", rebuilt, r.Attacks)
	}
}

// TestEveryJobLeavesATranscript trains in both modes and both schedules and audits what all nodes
// recorded.
func TestEveryJobLeavesATranscript(t *testing.T) {
	for _, c := range []struct {
		name, head, parameters string
		verdict                audit.Verdict
	}{
		{"masked, fixed", `record = "full"`, "loss = \"logistic\"\nfeatures = 64", audit.Disclosed},
		{"masked, doubly stochastic, star", "record = \"full\"\ntopology = \"star\"",
			"schedule = \"doubly-stochastic\"\niterations = 30\nbatch = 100\nblock_features = 2", audit.Disclosed},
		{"published, fixed", "record = \"full\"\nprivacy = \"published\"", "loss = \"square\"\nfeatures = 64", audit.Leak},
		{"published, doubly stochastic", "record = \"full\"\nprivacy = \"published\"",
			"schedule = \"doubly-stochastic\"\niterations = 30\nbatch = 100\nblock_features = 2", audit.Leak},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 4, 400)
			l.startAll()
			report, h, err := l.propose(l.job("train", c.head, activeBank+c.parameters))
			must(t, err)
			mustVerify(t, l.audit(h), c.verdict)
			for _, e := range report.Egress {
				if e.Frames > e.MaxFrames || e.Bytes > e.MaxBytes || e.Kind == "done" && e.Frames != 3 {
					t.Errorf("egress %+v", e)
				}
			}
		})
	}
}

// TestAKilledPartysTranscriptVerifies: over the sessions before and after the kill.
func TestAKilledPartysTranscriptVerifies(t *testing.T) {
	for _, c := range []struct {
		name       string
		frame      int
		parameters string
	}{
		{"fixed", 14, "loss = \"logistic\"\nfeatures = 1024\niterations = 15"},
		{"doubly stochastic", 120, "schedule = \"doubly-stochastic\"\niterations = 110\nbatch = 100\nblock_features = " +
			"4\nsigma = 1.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 4, 400)
			l.startAll()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			contract, err := l.nodes[0].Prepare(ctx, l.job("train", `record = "full"`, activeBank+c.parameters), nil)
			must(t, err)
			l.launchAndKill(ctx, contract.Hash(), 2, c.frame)
			l.start(2)
			l.awaitDone(ctx, contract.Hash())
			r := l.audit(contract.Hash())
			mustVerify(t, r, audit.Disclosed)
			for _, f := range r.Transcripts {
				if f.Sessions < 2 {
					t.Errorf("%s's transcript has %d sessions", f.Party, f.Sessions)
				}
			}
		})
	}
}

// TestDigestsAreEnoughToVerify: without payloads no attack can be tried, and the report says so.
func TestDigestsAreEnoughToVerify(t *testing.T) {
	l := newTestNetwork(t, 4, 100)
	l.startAll()
	_, h, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 16"))
	must(t, err)
	if _, err := os.Stat(l.jobFile(0, h, PayloadFolder)); !os.IsNotExist(err) {
		t.Errorf("payloads were kept: %v", err)
	}
	r := l.audit(h)
	if r.Verdict != audit.Disclosed || !strings.Contains(strings.Join(r.NotLookedAt, " "), "payloads were not kept") {
		t.Errorf("verdict %s, not looked at %q", r.Verdict, r.NotLookedAt)
	}
}
