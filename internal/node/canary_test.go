package node

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// canary stands in every cell that holds text, every id, every column's name and every path of the victim.
const canary = "canary"

// overheard is all that leaves the nodes of a test network.
type overheard struct {
	t  testing.TB
	mu sync.Mutex
	n  int // messages
}

// record looks at one message.
func (o *overheard) record(what string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
	if at := indexFold(data, canary); at >= 0 {
		o.t.Errorf("%s has the canary: %q", what, data[max(0, at-100):min(len(data), at+100)])
	}
}

// count is how many messages were overheard; a call that was given up may still be answered.
func (o *overheard) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n
}

// indexFold returns where data has a word of ASCII letters, large or small; -1: nowhere. Frames are long, and to make
// all of their letters small would take longer than the jobs.
func indexFold(data []byte, word string) int {
	for _, first := range []byte{word[0], word[0] - 'a' + 'A'} {
		for at := 0; at+len(word) <= len(data); at++ {
			next := bytes.IndexByte(data[at:], first)
			if next < 0 {
				break
			}
			if at += next; at+len(word) <= len(data) && bytes.EqualFold(data[at:at+len(word)], []byte(word)) {
				return at
			}
		}
	}
	return -1
}

// tapped is a transport whose every message is overheard before it leaves.
type tapped struct {
	*testnet.Transport
	heard *overheard
}

// Call implements protocol.Transport.
func (t *tapped) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	t.heard.record(method, append([]byte(method+" "), request...))
	return t.Transport.Call(ctx, to, method, request)
}

// Handle implements protocol.Transport.
func (t *tapped) Handle(h protocol.Handler) {
	t.Transport.Handle(func(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
		response, fault := h(ctx, from, method, request)
		t.heard.record("the answer to "+method, response)
		if fault != nil {
			t.heard.record("the fault of "+method, fault.Encode())
			t.heard.record("the fault of "+method, []byte(strings.Join(fault.Names, " ")))
		}
		return response, fault
	})
}

// Open implements protocol.Transport.
func (t *tapped) Open(ctx context.Context, session protocol.SessionID, peers []keys.ID) (protocol.Mesh, error) {
	m, err := t.Transport.Open(ctx, session, peers)
	return &tappedMesh{m, t.heard}, err
}

// Gather implements protocol.Transport.
func (t *tapped) Gather(ctx context.Context, session protocol.SessionID,
	peers []keys.ID) (protocol.Mesh, map[keys.ID]error, error) {
	m, absent, err := t.Transport.Gather(ctx, session, peers)
	return &tappedMesh{m, t.heard}, absent, err
}

// tappedMesh is a session whose frames are overheard.
type tappedMesh struct {
	protocol.Mesh
	heard *overheard
}

// Send implements protocol.Mesh.
func (m *tappedMesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	m.heard.record("a frame", bytes.Join(parts, nil))
	return m.Mesh.Send(ctx, to, parts...)
}

// caged makes a test network whose every node is overheard and whose second member has a canary in all that is its
// own: the folder of its tables, their ids, columns and cells.
func caged(t *testing.T, q, rows int) (*testNetwork, *overheard) {
	l := newTestNetwork(t, q, rows)
	o := &overheard{t: t}
	l.wrap = func(i int, transport *testnet.Transport) protocol.Transport { return &tapped{transport, o} }
	l.dirs[1] = filepath.Join(l.dirs[1], canary+"-folder")
	must(t, os.Mkdir(l.dirs[1], 0o700))
	for _, name := range []string{"train", "test"} {
		for i := range l.names { // ids are the same at all
			l.writeTable(i, name, l.cageTable(i, rows))
		}
	}
	return l, o
}

// cageTable is a table of a member: at the second one a column of numbers, and one of words.
func (l *testNetwork) cageTable(i, rows int) string {
	rng := rand.New(rand.NewPCG(5, uint64(i)))
	var b strings.Builder
	b.WriteString([]string{"id,a,y\n", "id," + canary + "-number," + canary + "-word\n", "id,a\n"}[min(i, 2)])
	for r := range rows {
		fmt.Fprintf(&b, canary+"%05d,%.4f", r, rng.NormFloat64())
		switch i {
		case 0:
			fmt.Fprintf(&b, ",%d", r%2)
		case 1:
			fmt.Fprintf(&b, ",%s-%d", canary, rng.IntN(3))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// spoilings are what may be wrong with the victim's table. Of none of it others learn more than a code.
var spoilings = []struct {
	name  string
	spoil func(text string) string
}{
	{"a word among the numbers", func(s string) string { return replaceCell(s, 7, 1, canary+" 17") }},
	{"an empty cell", func(s string) string { return replaceCell(s, 5, 1, "") }},
	{"not a number", func(s string) string { return replaceCell(s, 3, 1, "Inf") }},
	{"an id twice", func(s string) string { return replaceCell(s, 4, 0, canary+"00002") }},
	{"an id too many", func(s string) string { return s + canary + "99999,1.5," + canary + "-1\n" }},
	{"another id", func(s string) string { return replaceCell(s, 4, 0, canary+"77777") }},
	{"a column twice", func(s string) string { return strings.Replace(s, canary+"-word", canary+"-number", 1) }},
	{"a row cut short", func(s string) string { return s[:len(s)-12] }},
	{"no rows", func(s string) string { return s[:strings.Index(s, "\n")+1] }},
	{"nothing", func(string) string { return "" }},
	{"another name for the ids", func(s string) string { return strings.Replace(s, "id,", canary+"-id,", 1) }},
	{"a quote", func(s string) string { return replaceCell(s, 2, 2, `"`+canary) }},
	{"a constant column", func(s string) string {
		for r := range strings.Count(s, "\n") - 1 {
			s = replaceCell(s, r+1, 1, "1.25")
		}
		return s
	}},
	{"another word in every row", func(s string) string {
		for r := range strings.Count(s, "\n") - 1 {
			s = replaceCell(s, r+1, 2, fmt.Sprintf("%s-word-%d", canary, r))
		}
		return s
	}},
	{"bytes of nothing", func(s string) string { return s[:40] + "\x00\xff\xfe" + s[40:] }},
}

// replaceCell changes one cell of a table's text; row 0 is the header.
func replaceCell(text string, row, column int, cell string) string {
	lines := strings.Split(text, "\n")
	cells := strings.Split(lines[row], ",")
	cells[column] = cell
	lines[row] = strings.Join(cells, ",")
	return strings.Join(lines, "\n")
}

// cagedModes are the jobs over columns.
var cagedModes = map[string]string{
	"sealed":    "privacy = \"sealed\"",
	"masked":    "privacy = \"masked\"",
	"encrypted": "privacy = \"masked\"\naggregation = \"he\"",
	"published": "privacy = \"published\"",
}

// cagedTraining renders a training in a mode.
func (l *testNetwork) cagedTraining(head string) []byte {
	parameters := activeBank + "features = 16\nsigma = 1.0\nconstant = \"refuse\""
	if strings.Contains(head, "sealed") {
		parameters += "\niterations = 4\nlambda = 1e-2"
	}
	return l.job("train", head, parameters)
}

// TestNoCellLeavesBeforeConsent: whatever is wrong with a table, who describes or contracts learns a code.
func TestNoCellLeavesBeforeConsent(t *testing.T) {
	l, o := caged(t, 4, 30)
	l.startAll()
	l.nodes[1].tables.Specs["train"] = jobs.TableSpec{Path: l.tablePath(1, "train"),
		Options: dataset.Options{Missing: "refuse"}}
	for mode, head := range cagedModes {
		for _, s := range spoilings {
			l.writeTable(1, "train", s.spoil(l.cageTable(1, 30)))
			_, h, err := l.propose(l.cagedTraining(head))
			if err == nil && s.name != "another name for the ids" {
				t.Errorf("%s, %s: the table was taken", mode, s.name)
			}
			l.end(h)
		}
	}
	if o.count() == 0 {
		t.Error("nothing was overheard")
	}
}

// TestNoCellLeavesWhileAJobRuns: a table that changes after the consent, a disk that fills, a node that stops or dies,
// a person who cancels, a prediction on a bad table: the others learn a code.
func TestNoCellLeavesWhileAJobRuns(t *testing.T) {
	for i, mode := range slices.Sorted(maps.Keys(cagedModes)) {
		head := cagedModes[mode]
		if !drawn.Today(t, i, 2) {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			l, _ := caged(t, 4, 30)
			l.startAll()
			ctx := minute(t)

			_, model, err := l.propose(l.cagedTraining(head)) // a run without trouble
			must(t, err)
			predict := l.job("predict", head+"\ntable = \"test\"\nopen_to = \"bank\"\nmodel = \""+model.String()+"\"", "")
			if _, _, err := l.propose(predict); err != nil {
				t.Fatal(err)
			}
			for _, s := range spoilings {
				l.writeTable(1, "test", s.spoil(l.cageTable(1, 30)))
				_, h, _ := l.propose(predict)
				l.end(h)
			}
			c, err := l.nodes[0].Prepare(ctx, l.cagedTraining(head), nil) // changed after consent
			must(t, err)
			l.launchAndKill(ctx, c.Hash(), 2, 6)
			l.writeTable(1, "train", replaceCell(l.cageTable(1, 30), 3, 2, canary+"-changed"))
			l.start(2)
			l.awaitState(ctx, 1, c.Hash(), job.Paused)
			l.stops[1]() // stopped, and started on a folder that lacks its table
			must(t, os.Remove(l.tablePath(1, "train")))
			l.start(1)
			l.awaitState(ctx, 1, c.Hash(), job.Paused)
			must(t, l.nodes[1].Cancel(c.Hash(), "not before the audit"))
			l.awaitState(ctx, 0, c.Hash(), job.Cancelled)
		})
	}
}

// TestNoCellOfAStreamLeaves: of clients' streams, good or bad from the start or from some row on, others learn what the
// contract lists.
func TestNoCellOfAStreamLeaves(t *testing.T) {
	for i, c := range []struct {
		algorithm  string
		servers    int
		head       string
		parameters string
	}{
		{"pofmkl", 1, "privacy = \"masked\"", smallPOFMKL},
		{"gfml", 2, "privacy = \"published\"", gfmlOnTwo},
		{"ofmsft", 1, "privacy = \"masked\"", smallOFMSFT},
	} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(c.algorithm, func(t *testing.T) {
			l := newTestNetwork(t, 6, 0)
			o := &overheard{t: t}
			l.wrap = func(_ int, transport *testnet.Transport) protocol.Transport { return &tapped{transport, o} }
			for i := c.servers; i < len(l.names); i++ {
				l.dirs[i] = filepath.Join(l.dirs[i], canary+"-folder")
				must(t, os.Mkdir(l.dirs[i], 0o700))
			}
			l.streams(c.servers, 60)
			if c.algorithm == "ofmsft" {
				l.networks(3)
			}
			for i := c.servers; i < len(l.names) && c.algorithm != "gfml"; i++ { // whose jobs name the columns
				text := strings.Replace(readTable(t, l.tablePath(i, "train")), "u,v,y", canary+"-u,"+canary+"-v,y", 1)
				l.writeTable(i, "train", text)
			}
			l.startAll()
			good := readTable(t, l.tablePath(c.servers, "train"))
			for _, text := range []string{
				strings.Replace(good, ",y", ",z", 1), "", "u\n",
				replaceCell(good, 1, 1, canary),        // from the first row
				replaceCell(good, 20, 0, canary),       // from some row on
				replaceCell(good, 20, 0, canary)[:700], // and cut short
				good,
			} {
				l.writeTable(c.servers, "train", text)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				contract, err := l.nodes[0].Prepare(ctx, l.servedJob(c.algorithm, c.servers, c.head, c.parameters), nil)
				if err == nil {
					l.nodes[0].Launch(ctx, contract.Hash(), nil)
					l.end(contract.Hash())
				}
				cancel()
			}
		})
	}
}

// end cancels a job at the first node that has it.
func (l *testNetwork) end(h keys.Hash) {
	for _, n := range l.nodes {
		if s, ok := n.job(h); ok && s.Ending() == nil {
			n.Cancel(h, "over")
			return
		}
	}
}
