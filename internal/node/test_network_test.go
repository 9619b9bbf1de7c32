package node

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// testNetwork is a whole federation of nodes in one process.
type testNetwork struct {
	t           testing.TB
	net         *testnet.Network
	names       []string
	keys        []*keys.PrivateKey
	charter     *keys.SignedCharter
	dirs        []string
	policy      *consent.Policy
	nodes       []*Node
	stops       []func()
	lives       []context.Context // of each node's present life
	hearing     sync.Mutex
	told        []func(jobs.Event)                                   // by party; may be nil; hearing guards it
	faults      []func(path string) (bool, error)                    // of the disks, by party; may be nil
	idle        int                                                  // who starts without tables; 0: nobody
	recordLimit int64                                                // see Config; 0: the usual one
	now         func() time.Time                                     // of all nodes; may be nil
	wrap        func(i int, t *testnet.Transport) protocol.Transport // a node's network as an attacker has it; may be nil
	log         *slog.Logger                                         // of all nodes; may be nil
	logs        map[int]*slog.Logger                                 // by party, in place of log
	memory      map[int]int64                                        // of the machines, by party; 0: this one's
	quotas      map[int]int64                                        // of the disks, by party
	speeds      *forecast.Speeds                                     // of all machines; nil: nobody measured them
	sources     map[int]string                                       // where the table "train" comes from, by party
}

// openPolicy consents to everything, and offers the label of both tables.
func openPolicy() *consent.Policy {
	labels := []string{"y", "z"}
	return &consent.Policy{
		Format: consent.Format, Accept: []consent.Rule{consent.Wide(consent.Rule{Tasks: contract.Tasks()})},
		Tables: []consent.Table{{Name: "train", Labels: labels}, {Name: "test", Labels: labels}},
	}
}

// partyNames are the parties of all test networks, from the first on.
var partyNames = []string{
	"bank", "insurer", "telco", "retailer", "baker", "miller", "smith", "cooper", "tanner", "weaver", "potter", "brewer",
	"mason", "turner", "fuller", "glover",
}

// newTestNetwork makes members with tables of correlated columns; the first one has the label. The
// nodes are not started.
func newTestNetwork(t testing.TB, q, rows int) *testNetwork {
	t.Helper()
	l := &testNetwork{t: t, policy: openPolicy()}
	f := testnet.Found(t, partyNames[:q]...)
	l.names, l.keys = f.Names, f.Keys
	l.charter = f.Charter(t, func(c *keys.Charter) {
		c.Created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		c.Rules = keys.Rules{MinPrivacy: keys.PrivacyPublished, MinRows: 1} // tables here are small
		for i := range c.Members {
			c.Members[i].Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 4001+i)}
			l.dirs = append(l.dirs, t.TempDir())
		}
	})
	l.connect(f)
	l.writeTables(rows)
	return l
}

// connect makes the network between the members, of whom none has started.
func (l *testNetwork) connect(f *testnet.Federation) {
	q := len(f.Names)
	l.net = f.Network
	l.told, l.faults = make([]func(jobs.Event), q), make([]func(string) (bool, error), q)
	l.nodes, l.stops, l.lives = make([]*Node, q), make([]func(), q), make([]context.Context, q)
}

// writeTables writes "train" and "test" at every party: y is the sign of the product of the first
// two parties' columns.
func (l *testNetwork) writeTables(rows int) {
	for _, name := range []string{"train", "test"} {
		rng := rand.New(rand.NewPCG(7, uint64(len(name))))
		files := make([]bytes.Buffer, len(l.names))
		for i := range files {
			files[i].WriteString("id,a")
			if i == 0 {
				files[i].WriteString(",y")
			}
			files[i].WriteString("\n")
		}
		for r := range rows {
			product := 1.0
			for i := range files {
				a := rng.NormFloat64()
				if i < 2 {
					product *= a
				}
				fmt.Fprintf(&files[i], "r%05d,%.4f", r, a)
				if i > 0 {
					files[i].WriteString("\n")
				}
			}
			label := 0
			if product > 0 {
				label = 1
			}
			fmt.Fprintf(&files[0], ",%d\n", label)
		}
		for i := range files {
			l.writeTable(i, name, files[i].String())
		}
	}
}

func (l *testNetwork) tablePath(i int, name string) string {
	return filepath.Join(l.dirs[i], name+".csv")
}

func (l *testNetwork) writeTable(i int, name, text string) {
	if err := os.WriteFile(l.tablePath(i, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// start runs node i until stop(i) or the test's end.
func (l *testNetwork) start(i int) {
	l.t.Helper()
	tables := map[string]jobs.TableSpec{"train": {Path: l.tablePath(i, "train")}, "test": {Path: l.tablePath(i, "test")}}
	if from := l.sources[i]; from != "" {
		tables["train"] = jobs.TableSpec{Path: from}
	}
	if i > 0 && i == l.idle {
		tables = nil
	}
	var transport protocol.Transport = l.transport(i)
	if l.wrap != nil {
		transport = l.wrap(i, l.transport(i))
	}
	n, err := New(Config{
		Key: l.keys[i], Charter: inForce(l.t, l.charter), Transport: transport, Policy: l.policy, Tables: tables,
		Dir: filepath.Join(l.dirs[i], "node"), Workers: 1, ReturnEvery: 50 * time.Millisecond,
		TendEvery: 20 * time.Millisecond, AwayTime: 300 * time.Millisecond, Told: func(e jobs.Event) { l.heard(i, e) },
		DiskFault: l.faults[i], Quota: l.quotas[i], Memory: l.memory[i], Now: l.now, Log: cmp.Or(l.logs[i], l.log),
		RecordLimit: l.recordLimit, Speeds: func() (*forecast.Speeds, error) { return l.speeds, nil },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { n.Run(ctx) })
	l.nodes[i], l.lives[i] = n, ctx
	l.stops[i] = sync.OnceFunc(func() { cancel(); done.Wait() })
	l.t.Cleanup(l.stops[i])
}

// inForce is the proof that a charter is in force.
func inForce(t testing.TB, c *keys.SignedCharter) keys.InForce {
	t.Helper()
	f, err := c.InForce()
	must(t, err)
	return f
}

// heard shows every event under -v and passes it on.
func (l *testNetwork) heard(i int, e jobs.Event) {
	if e.Kind != jobs.EventSummary {
		l.t.Logf("%s: %s %s %s %d", l.names[i], e.Kind, e.Text, e.Step, e.Done)
	}
	l.hearing.Lock()
	told := l.told[i]
	l.hearing.Unlock()
	if told != nil {
		told(e)
	}
}

// watch sets who hears the events of a party's node, which may be running.
func (l *testNetwork) watch(i int, told func(jobs.Event)) {
	l.hearing.Lock()
	defer l.hearing.Unlock()
	l.told[i] = told
}

// transport returns a fresh transport of party i: a process that starts has no past.
func (l *testNetwork) transport(i int) *testnet.Transport { return l.net.Restart(l.keys[i].ID()) }

// launched launches a job at member i's node and returns where its end will be told.
func (l *testNetwork) launched(ctx context.Context, i int, h keys.Hash) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := l.nodes[i].Launch(ctx, h, nil)
		ended <- err
	}()
	return ended
}

func (l *testNetwork) startAll() {
	for i := range l.names {
		l.start(i)
	}
}

// job renders a job text with extra lines for the head and the parameters.
func (l *testNetwork) job(task, head, parameters string) []byte {
	var parties []string
	for _, n := range l.names {
		parties = append(parties, fmt.Sprintf("%q", n))
	}
	if !strings.Contains(head, "privacy") && !strings.Contains(head, "servers") {
		head = "privacy = \"masked\"\n" + head
	}
	return fmt.Appendf(nil, "format = \"hanse-job-v1\"\nname = \"trial\"\nalgorithm = \"fdskl\"\ntask = %q\nparties = "+
		"[%s]\n%s\n[parameters]\n%s\n",
		task, strings.Join(parties, ", "), head, parameters)
}

// proposed prepares a job at the first node, and asks others for their consent to it.
func (l *testNetwork) proposed(text []byte, others ...int) *contract.Contract {
	l.t.Helper()
	c, err := l.nodes[0].Prepare(l.t.Context(), text, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, i := range others {
		if _, err := l.nodes[i].serveConsent(l.keys[0].ID(),
			consentRequest{Contract: string(c.Document.Text())}); err != nil {
			l.t.Fatal(err)
		}
	}
	return c
}

// propose prepares and launches a job at the first node and returns its report and contract.
func (l *testNetwork) propose(text []byte) (*jobs.Report, keys.Hash, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, text, nil)
	if err != nil {
		return nil, keys.Hash{}, err
	}
	r, err := l.nodes[0].Launch(ctx, c.Hash(), nil)
	return r, c.Hash(), err
}

// scoresOf is where a party wrote the scores of a prediction.
func (l *testNetwork) scoresOf(name string, contract keys.Hash) string {
	return filepath.Join(l.dirs[slices.Index(l.names, name)], "node", "jobs", contract.String(), "scores.csv")
}

// underReference returns what a party's owner reads of a fault whose reference another was told.
func (l *testNetwork) underReference(party int, told error) string {
	l.t.Helper()
	ref := regexp.MustCompile("--ref ([0-9a-f]{6})").FindStringSubmatch(told.Error())
	if ref == nil {
		l.t.Errorf("there is no reference in %v", told)
		return ""
	}
	kept, err := l.nodes[party].config.References.Find(ref[1])
	if err != nil || len(kept) != 1 {
		l.t.Errorf("%s finds %v, %v under %s", l.names[party], kept, err, ref[1])
		return ""
	}
	return kept[0].Text
}

// rewritten changes the record of a job on a party's disk, and returns the job as the node would read it when it
// starts.
func (l *testNetwork) rewritten(party int, h keys.Hash, change func(*job.Record)) *jobState {
	l.t.Helper()
	folder := l.nodes[party].jobFolder(h)
	r, err := job.ReadRecord(folder)
	if err != nil {
		l.t.Fatal(err)
	}
	change(&r)
	text, err := toml.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, job.RecordFile), vault.Envelope(h, job.RecordFile, text), 0o600)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := l.nodes[party].loadJob(h)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// memoryJob is a job that is on no disk, with a record.
func memoryJob(r job.Record) *jobState {
	c := &contract.Contract{Job: &contract.Job{Name: "credit"}}
	return newJobState(job.New(nil, "", job.Config{}, c, r), nil)
}

// must ends a test at an error.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
