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

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/simnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// league is a whole federation of nodes in one process.
type league struct {
	t       testing.TB
	net     *simnet.Network
	names   []string
	keys    []*keys.PrivateKey
	charter *keys.SignedCharter
	dirs    []string
	policy  *consent.Policy
	nodes   []*Node
	stops   []func()
	lives   []context.Context                                   // of each node's present life
	told    []func(Event)                                       // by party; may be nil
	faults  []func(path string) (bool, error)                   // of the disks, by party; may be nil
	idle    int                                                 // who starts without tables; 0: nobody
	now     func() time.Time                                    // of all nodes; may be nil
	wrap    func(i int, t *simnet.Transport) protocol.Transport // a node's network as an attacker has it; may be nil
	log     *slog.Logger                                        // of all nodes; may be nil
	logs    map[int]*slog.Logger                                // by party, in place of log
}

// openPolicy consents to everything, and offers the label of both tables.
func openPolicy() *consent.Policy {
	labels := []string{"y", "z"}
	return &consent.Policy{
		Format: consent.Format, Accept: []consent.Rule{{Tasks: []string{"train", "predict"}}},
		Tables: []consent.Table{{Name: "train", Labels: labels}, {Name: "test", Labels: labels}},
	}
}

// newLeague makes members with tables of correlated columns; the first one has the label. The
// nodes are not started.
func newLeague(t testing.TB, q, rows int) *league {
	t.Helper()
	l := &league{t: t, policy: openPolicy(), told: make([]func(Event), q), faults: make([]func(string) (bool, error), q)}
	charter := keys.Charter{Name: "test", Version: 1, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	charter.Rules.MinPrivacy = "published"
	var ids []keys.ID
	for i := range q {
		k, err := keys.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		name := []string{"bank", "insurer", "telco", "retailer", "baker", "miller", "smith", "cooper", "tanner", "weaver", "potter", "brewer",
			"mason", "turner", "fuller", "glover"}[i]
		l.names = append(l.names, name)
		l.keys = append(l.keys, k)
		ids = append(ids, k.ID())
		charter.Members = append(charter.Members, keys.Member{Name: name, ID: k.ID(), Addresses: []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 4001+i)}})
		l.dirs = append(l.dirs, t.TempDir())
	}
	var err error
	if l.charter, err = keys.NewCharter(charter); err != nil {
		t.Fatal(err)
	}
	for _, k := range l.keys {
		if err := l.charter.Sign(k); err != nil {
			t.Fatal(err)
		}
	}
	l.net = simnet.New(ids)
	t.Cleanup(l.net.Close)
	l.nodes, l.stops, l.lives = make([]*Node, q), make([]func(), q), make([]context.Context, q)
	l.writeTables(rows)
	return l
}

// writeTables writes "train" and "test" at every party: y is the sign of the product of the first
// two parties' columns.
func (l *league) writeTables(rows int) {
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

func (l *league) tablePath(i int, name string) string {
	return filepath.Join(l.dirs[i], name+".csv")
}

func (l *league) writeTable(i int, name, text string) {
	if err := os.WriteFile(l.tablePath(i, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// start runs node i until stop(i) or the test's end.
func (l *league) start(i int) {
	l.t.Helper()
	tables := map[string]TableSpec{"train": {Path: l.tablePath(i, "train")}, "test": {Path: l.tablePath(i, "test")}}
	if i > 0 && i == l.idle {
		tables = nil
	}
	var transport protocol.Transport = l.transport(i)
	if l.wrap != nil {
		transport = l.wrap(i, l.transport(i))
	}
	n, err := New(Config{
		Key: l.keys[i], Charter: l.charter, Transport: transport, Policy: l.policy, Tables: tables,
		Dir: filepath.Join(l.dirs[i], "node"), Workers: 1, ReturnEvery: 50 * time.Millisecond,
		TendEvery: 20 * time.Millisecond, AwayTime: 300 * time.Millisecond, Told: func(e Event) { l.heard(i, e) },
		DiskFault: l.faults[i], Now: l.now, Log: cmp.Or(l.logs[i], l.log),
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

// heard shows every event under -v and passes it on.
func (l *league) heard(i int, e Event) {
	if e.Kind != EventSummary {
		l.t.Logf("%s: %s %s %s %d", l.names[i], e.Kind, e.Text, e.Step, e.Done)
	}
	if l.told[i] != nil {
		l.told[i](e)
	}
}

// transport returns a fresh transport of party i: a process that starts has no past.
func (l *league) transport(i int) *simnet.Transport { return l.net.Restart(l.keys[i].ID()) }

func (l *league) startAll() {
	for i := range l.names {
		l.start(i)
	}
}

// job renders a job text with extra lines for the head and the parameters.
func (l *league) job(task, head, parameters string) []byte {
	var parties []string
	for _, n := range l.names {
		parties = append(parties, fmt.Sprintf("%q", n))
	}
	if !strings.Contains(head, "privacy") && !strings.Contains(head, "servers") {
		head = "privacy = \"masked\"\n" + head
	}
	return fmt.Appendf(nil, "format = \"hanse-job-v1\"\nname = \"trial\"\nalgorithm = \"fdskl\"\ntask = %q\nparties = [%s]\n%s\n[parameters]\n%s\n",
		task, strings.Join(parties, ", "), head, parameters)
}

// proposed prepares a job at the first node, and asks others for their consent to it.
func (l *league) proposed(text []byte, others ...int) *protocol.Contract {
	l.t.Helper()
	c, err := l.nodes[0].Prepare(l.t.Context(), text, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, i := range others {
		if _, err := l.nodes[i].serveConsent(l.keys[0].ID(), consentRequest{Contract: string(c.Document.Text())}); err != nil {
			l.t.Fatal(err)
		}
	}
	return c
}

// propose prepares and launches a job at the first node and returns its report and contract.
func (l *league) propose(text []byte) (*Report, keys.Hash, error) {
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
func (l *league) scoresOf(name string, contract keys.Hash) string {
	return filepath.Join(l.dirs[slices.Index(l.names, name)], "node", "jobs", contract.String(), "scores.csv")
}

// underReference returns what a party's owner reads of a fault whose reference another was told.
func (l *league) underReference(party int, told error) string {
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
