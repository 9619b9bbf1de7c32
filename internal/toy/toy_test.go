package toy

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/toy/testdata/mean"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

const rounds = 8

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// office is a federation whose members are in one process, each with its node and a table called train.
type office struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	names   []string
	configs []node.Config
	nodes   []*node.Node
	done    sync.WaitGroup // parties that have not done the job under way
}

// newOffice founds a federation whose nodes know the algorithms of a list, and consent to every job of some tasks.
func newOffice(t *testing.T, list registry.List, tasks []string, names ...string) *office {
	f := testnet.Found(t, names...)
	charter, err := f.Charter(t, func(c *keys.Charter) {
		for i := range c.Members {
			c.Members[i].Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 4001+i)}
		}
	}).InForce()
	must(t, err)
	policy := &consent.Policy{Format: consent.Format, Tables: []consent.Table{{Name: "train", Labels: []string{"y"}}},
		Accept: []consent.Rule{consent.Wide(consent.Rule{Tasks: tasks})}}
	o := &office{t: t, dir: t.TempDir(), names: names}
	for i, name := range names {
		o.configs = append(o.configs, node.Config{
			Key: f.Keys[i], Charter: charter, Transport: f.Transport(f.IDs[i]), Dir: filepath.Join(o.dir, name), Policy: policy,
			Tables:     map[string]jobs.TableSpec{"train": {Path: filepath.Join(o.dir, name+".csv")}},
			Algorithms: list, Workers: 1,
			Told: func(e jobs.Event) {
				if e.Kind == jobs.EventDone {
					o.done.Done()
				}
			},
		})
	}
	return o
}

// start starts all nodes, until the test ends.
func (o *office) start() {
	var cancel func()
	var running sync.WaitGroup
	o.ctx, cancel = context.WithTimeout(o.t.Context(), time.Minute)
	o.t.Cleanup(func() { cancel(); running.Wait() })
	for _, c := range o.configs {
		n, err := node.New(c)
		must(o.t, err)
		o.nodes = append(o.nodes, n)
		running.Go(func() { n.Run(o.ctx) })
	}
}

// meanJob is a job by the mean.
func meanJob(privacy string) string {
	return fmt.Sprintf("format = \"hanse-job-v1\"\nname = \"average\"\nalgorithm = \"mean\"\ntask = \"train\"\n"+
		"parties = [\"office\", \"north\", \"south\", \"west\"]\nservers = [\"office\"]\nprivacy = %q\nrecord = \"full\"\n"+
		"[parameters]\nlabel = \"y\"\nrounds = %d\n", privacy, rounds)
}

// TestAnAlgorithmIsAddedToTheList is all that an algorithm needs: an entry. The truth is the mean of the labels in the
// files.
func TestAnAlgorithmIsAddedToTheList(t *testing.T) {
	list := registry.Program()
	list.Clients = append(list.Clients, mean.Algorithm())
	o := newOffice(t, list, []string{contract.TaskTrain}, "office", "north", "south", "west")
	dir, draw, sum := o.dir, rand.New(rand.NewPCG(1, 2)), make([]float64, rounds) // of labels, before each round
	for i, name := range o.names {
		rows := "u,y\n"
		for r := range rounds + 2 {
			y := math.Round(1e4*draw.Float64()) / 1e4
			for after := r + 1; i > 0 && after < rounds; after++ {
				sum[after] += y
			}
			rows += fmt.Sprintf("%d,%g\n", r, y)
		}
		must(t, os.WriteFile(filepath.Join(dir, name+".csv"), []byte(rows), 0o600))
	}
	o.start()
	// The server learns the labels' sums, or each label.
	for privacy, labels := range map[string]int64{keys.PrivacyMasked: rounds, keys.PrivacyPublished: 3 * rounds} {
		c, report := o.run(meanJob(privacy))
		if report.Online.Rounds != rounds || report.Online.Clients != 3 {
			t.Errorf("report %+v", report.Online)
		}
		o.counted(c, map[string]int64{"mean": rounds, "labels": rounds})

		// The models, and what the clients predicted on the way.
		request := auditing.Request{Told: io.Discard}
		for i, name := range o.names {
			folder := filepath.Join(dir, name, "jobs", c.Hash().String())
			request.Given = append(request.Given, filepath.Join(folder, node.TranscriptFile))
			data, err := vault.ReadFile(filepath.Join(folder, federated.ModelSlot), c.Hash())
			must(t, err)
			m, err := clients.DecodeModel(list, c, name, data)
			must(t, err)
			if i == 0 {
				continue
			}
			request.Data = append(request.Data, name+"="+filepath.Join(dir, name+".csv"))
			of := func(round int) float64 { return sum[round] / float64(3*max(round, 1)) }
			p, err := m.Predict(1, []float64{7})
			if err != nil || math.Abs(p.Value-of(rounds-1)) > 1e-12 || m.Round() != rounds || m.Columns()[0] != "u" {
				t.Errorf("%s: %v after %d rounds, %v; want %v", name, p.Value, m.Round(), err, of(rounds-1))
			}
			text, err := os.ReadFile(filepath.Join(folder, "predictions.csv"))
			must(t, err)
			lines := strings.Fields(string(text))
			if len(lines) != 1+rounds {
				t.Fatalf("%s predicted %q", name, lines)
			}
			for r, line := range lines[1:] {
				row, got := 0, 0.
				if _, err := fmt.Sscanf(line, "%d,%g", &row, &got); err != nil || row != r+1 || math.Abs(got-of(r)) > 1e-12 {
					t.Errorf("%s: %s, %v; want %v", name, line, err, of(r))
				}
			}
		}

		o.shown(1, "labels", c)
		in, err := auditing.Read(request)
		must(t, err)
		other, err := audit.Run(o.ctx, in) // by who does not know the algorithm
		must(t, err)
		in.Algorithms = list
		r, err := audit.Run(o.ctx, in)
		must(t, err)
		want := map[bool][2]finding.Verdict{false: {finding.Disclosed, finding.Clean}, true: {finding.Leak, finding.Leak}}
		a, each := r.Attacks[0], privacy == keys.PrivacyPublished // label is read, to a hundredth
		if got := [2]finding.Verdict{r.Verdict, a.Verdict}; got != want[each] || a.Labels == nil || (*a.Labels == 1) != each {
			t.Errorf("%s: %s: %s; %s", privacy, got, r.Summary, a.Detail)
		}
		for _, check := range r.Checks {
			if check.Verdict == finding.Failed || check.Verdict == finding.Skipped && check.Name != "tables" {
				t.Errorf("%s: %s %s: %s", check.Party, check.Name, check.Verdict, check.Detail)
			}
		}
		for i, l := range r.Ledger {
			want := map[string]int64{"mean": rounds, "labels": labels}[l.Kind]
			if l.Count != l.Declared || l.Count != want || l.Unread || !other.Ledger[i].Unread {
				t.Errorf("%s learned %d %s, declared are %d", l.Party, l.Count, l.Kind, l.Declared)
			}
		}
	}
}
