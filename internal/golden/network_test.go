package golden

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// names are the parties of all cases, from the first on.
var names = []string{
	"bank", "insurer", "telco", "retailer", "baker", "miller", "smith", "cooper", "tanner", "weaver", "potter", "brewer",
}

// agreedAt is when everything is signed.
var agreedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// network is a whole federation of nodes on fake time.
type network struct {
	*testnet.Federation
	t       *testing.T
	charter *keys.SignedCharter
	dirs    []string
	taps    []*testnet.Tap
	nodes   []*node.Node
	rows    []*audit.Stream // of clients; nil elsewhere
	stop    func()
}

// newNetwork makes q members with a charter that allows everything.
func newNetwork(t *testing.T, q int) *network {
	t.Helper()
	n := &network{t: t}
	var private []*keys.PrivateKey
	for _, name := range names[:q] {
		as(t.Context(), name, func(context.Context) {
			k, err := keys.GenerateKey()
			must(t, err)
			private = append(private, k)
		})
		n.dirs = append(n.dirs, t.TempDir())
	}
	n.Federation = testnet.FoundWith(t, names[:q], private)
	n.charter = n.Charter(t, func(c *keys.Charter) {
		c.Name, c.Created = "golden", agreedAt
		c.Rules = keys.Rules{MinPrivacy: "published", Discovery: []string{"addresses", "mdns"}}
		for i := range c.Members {
			c.Members[i].Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 4002+i)}
		}
	})
	return n
}

// transport is a member's end of the network, which answers calls as that member.
type transport struct {
	*testnet.Transport
	name string
}

// Handle implements protocol.Transport.
func (t *transport) Handle(h protocol.Handler) {
	t.Transport.Handle(func(ctx context.Context, from keys.ID, method string, request []byte) (answer []byte,
		refusal *fault.Fault) {
		as(ctx, t.name, func(ctx context.Context) { answer, refusal = h(ctx, from, method, request) })
		return answer, refusal
	})
}

// start runs all nodes until stop.
func (n *network) start() {
	n.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	n.stop = func() { cancel(); running.Wait(); n.Close() }
	charter, err := n.charter.InForce()
	must(n.t, err)
	for i, name := range n.Names {
		specs := make(map[string]jobs.TableSpec)
		for _, table := range []string{"train", "test"} {
			if path := n.table(i, table); exists(path) {
				specs[table] = jobs.TableSpec{Path: path}
			}
		}
		n.taps = append(n.taps, n.Tap(n.IDs[i]))
		as(ctx, name, func(ctx context.Context) {
			d, err := node.New(node.Config{
				Key: n.Keys[i], Charter: charter, Tables: specs, Policy: policy(), Dir: filepath.Join(n.dirs[i], "node"),
				Transport: &transport{n.Transport(n.IDs[i]), name}, Workers: 1,
				Now: func() time.Time { return agreedAt },
			})
			must(n.t, err)
			n.nodes = append(n.nodes, d)
			running.Go(func() { d.Run(ctx) })
		})
	}
}

// policy consents to everything, and offers the label of both tables.
func policy() *consent.Policy {
	return &consent.Policy{
		Format: consent.Format, Accept: []consent.Rule{consent.Wide(consent.Rule{Tasks: []string{"train", "predict"}})},
		Tables: []consent.Table{{Name: "train", Labels: []string{"y"}}, {Name: "test", Labels: []string{"y"}}},
	}
}

// run has the first node propose a job, and returns its contract's hash when it is done at every party. Times are in
// transcripts, which start from a hash of theirs: jobs begin at whole minutes of fake time.
func (n *network) run(job string) (h keys.Hash) {
	n.t.Helper()
	now := time.Now()
	time.Sleep(now.Truncate(time.Minute).Add(time.Minute + time.Millisecond).Sub(now))
	as(context.Background(), n.Names[0], func(ctx context.Context) {
		c, err := n.nodes[0].Prepare(ctx, []byte(job), nil)
		must(n.t, err)
		h = c.Hash()
		_, err = n.nodes[0].Launch(ctx, h, nil)
		must(n.t, err)
	})
	for range 20 {
		synctest.Wait()
		if n.done(h) {
			return h
		}
		time.Sleep(time.Second) // of fake time: the nodes look again
	}
	n.t.Fatalf("the job is not done everywhere")
	return h
}

// done reports whether a job is done at every party.
func (n *network) done(h keys.Hash) bool {
	for i := range n.Names {
		if n.info(i, h).State != "done" {
			return false
		}
	}
	return true
}

// info is what a party's node says of a job.
func (n *network) info(i int, h keys.Hash) *node.JobInfo {
	for _, job := range n.nodes[i].Jobs() {
		if job.Contract == h.String() {
			return &job
		}
	}
	return new(node.JobInfo)
}

// table is where a party has a table.
func (n *network) table(i int, name string) string { return filepath.Join(n.dirs[i], name+".csv") }

// folder is where a party keeps a job.
func (n *network) folder(i int, h keys.Hash) string {
	return filepath.Join(n.dirs[i], "node", "jobs", h.String())
}

// columns gives every party two columns of the tables "train" and "test", or five with what tables have as they come;
// the first one has the label, of two classes or of four.
func (n *network) columns(rows int, four, asTheyCome bool) {
	for k, table := range []string{"train", "test"} {
		rng := rand.New(rand.NewPCG(7, uint64(k)))
		files := make([]bytes.Buffer, len(n.Names))
		for i := range files {
			files[i].WriteString("id,a,b")
			if asTheyCome {
				files[i].WriteString(",since,region,land")
			}
		}
		files[0].WriteString(",y")
		for r := range rows {
			sum := 0.0
			for i := range files {
				a, b := rng.NormFloat64(), rng.IntN(2)
				sum += a * float64(2*b-1)
				if asTheyCome && r%7 == i { // a missing cell in places, a date, a level that is new in the test, a constant
					fmt.Fprintf(&files[i], "\nr%03d,NA,%d,?,,de", r, b)
				} else if asTheyCome {
					region := []string{"north", "south", "moon"}[max(r%2, 2*k*(r%5/4))]
					fmt.Fprintf(&files[i], "\nr%03d,%.4f,%d,2024-02-%02d,%s,de", r, a, b, 1+r%28, region)
				} else {
					fmt.Fprintf(&files[i], "\nr%03d,%.4f,%d", r, a, b)
				}
			}
			label := 0
			if sum > 0 {
				label = 1
			}
			if four {
				fmt.Fprintf(&files[0], ",%s", []string{"low", "fair", "good", "high"}[2*label+min(1, int(math.Abs(sum)))])
				continue
			}
			fmt.Fprintf(&files[0], ",%d", label)
		}
		for i := range files {
			files[i].WriteString("\n")
			must(n.t, os.WriteFile(n.table(i, table), files[i].Bytes(), 0o600))
		}
	}
}

// streams gives every party but the servers, the first ones, a stream of rows.
func (n *network) streams(servers, rows int) {
	n.rows = make([]*audit.Stream, len(n.Names))
	for i := servers; i < len(n.Names); i++ {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		var b bytes.Buffer
		b.WriteString("u,v,y\n")
		s := &audit.Stream{Confirmed: true}
		n.rows[i] = s
		for range rows {
			u, v := float64(rng.IntN(1000))/1000, float64(rng.IntN(1000))/1000
			y := 0.25 + 0.5*u*v + float64(rng.IntN(100))/1000
			fmt.Fprintf(&b, "%v,%v,%v\n", u, v, y)
			s.Inputs, s.Labels = append(s.Inputs, []float64{u, v}), append(s.Labels, y)
		}
		must(n.t, os.WriteFile(n.table(i, "train"), b.Bytes(), 0o600))
	}
}

// models gives the first party a folder of small networks of two inputs.
func (n *network) models(count int) {
	rng := rand.New(rand.NewPCG(3, 4))
	must(n.t, os.Mkdir(n.table(0, "train"), 0o700))
	for k := range count {
		layers := []nn.Layer{
			{Kind: nn.Dense, Units: 3 + k%2, Activation: nn.ReLU}, {Kind: nn.Dense, Units: 1, Activation: nn.Linear},
		}
		m, err := nn.New([]int{2}, layers, rng)
		must(n.t, err)
		path := filepath.Join(n.table(0, "train"), fmt.Sprintf("m%d.safetensors", k+1))
		must(n.t, os.WriteFile(path, m.Bytes(), 0o600))
	}
}

// job renders a job's text. Payloads are kept.
func (n *network) job(algorithm, task string, head, parameters []string) string {
	lines := []string{
		`format = "hanse-job-v1"`, `name = "golden"`, fmt.Sprintf("algorithm = %q", algorithm),
		fmt.Sprintf("task = %q", task), fmt.Sprintf("parties = [%s]", quoted(n.Names)),
	}
	lines = append(append(lines, head...), "[parameters]")
	return strings.Join(append(lines, parameters...), "\n") + "\n"
}

// quoted renders names for a list in TOML.
func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }

// exists reports whether there is a file or folder.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
