package golden

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit/evidence"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/render"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew; look at the difference before keeping it")

// Parameters of the cases.
var (
	active   = []string{`active = ["bank"]`, `label = "y"`, `seed = "s"`}
	fixed    = with(active, `loss = "logistic"`, "features = 12", "iterations = 3", "lambda = 1e-6")
	squares  = with(active, `loss = "square"`, "features = 12", "lambda = 1e-6")
	doubly   = with(active, `schedule = "doubly-stochastic"`, "iterations = 3", "batch = 4", "block_features = 2")
	logistic = with(active, `loss = "logistic"`, "features = 2", "iterations = 2", "outer = 24", "sigma = 1.5",
		"lambda = 1e-2")
	auto = with(active, `loss = "square"`, "features = 12", "iterations = 8")
	card = []string{`active = ["bank"]`, `label = "y"`, "bins = 3", "min_cell = 5", "iterations = 40",
		`points = "owners"`, `z_scores = "owners"`}
	bins = []string{`label = "y"`, `seed = "s"`, "rounds = 3", "features = 2", "bandwidths = [0.1, 1.0]",
		"step = 0.3", "weight_step = 0.3"}
	mixture = []string{`label = "y"`, "budget = 2", "rounds = 4", "step = 0.05", "label_high = 2"}
	graph   = []string{`columns = ["u", "v"]`, `label = "y"`, `seed = "s"`, "features = 4", "iterations = 3",
		`edges = [["bank", "insurer"], ["insurer", "telco"], ["bank", "telco"]]`,
		`clusters = [["bank", "insurer"], ["telco"]]`}
)

// with returns a list with more at its end.
func with(list []string, more ...string) []string { return append(slices.Clone(list), more...) }

// cases are the jobs that are run.
var cases = []struct {
	name, algorithm, privacy string
	parties, servers         int
	head, parameters         []string
	predict                  bool // with the model, afterwards
	four                     bool // classes, which the label holder's node infers
	asTheyCome               bool // tables with missing cells, dates, and levels that are new
	rows                     int  // 0: 40
}{
	{name: "fdskl-masked-tree", algorithm: "fdskl", privacy: "masked", parties: 4, parameters: fixed, predict: true},
	{name: "fdskl-as-they-come", algorithm: "fdskl", privacy: "masked", parties: 3, parameters: squares, predict: true,
		asTheyCome: true},
	{name: "sealed-square", algorithm: "fdskl", privacy: "sealed", parties: 3,
		parameters: with(squares, "iterations = 8"), predict: true},
	{name: "sealed-small", algorithm: "fdskl", privacy: "sealed", parties: 3,
		parameters: with(squares, "iterations = 8", "ring = 32"), predict: true},
	{name: "sealed-logistic", algorithm: "fdskl", privacy: "sealed", parties: 4, parameters: logistic, rows: 64},
	{name: "glm-points", algorithm: "glm", privacy: "sealed", parties: 4, parameters: card, predict: true},
	{name: "fdskl-masked-auto", algorithm: "fdskl", privacy: "masked", parties: 3, parameters: auto},
	{name: "sealed-auto", algorithm: "fdskl", privacy: "sealed", parties: 3, parameters: auto, predict: true},
	{name: "gfml-masked-diffusion", algorithm: "gfml", privacy: "masked", parties: 12, servers: 3,
		parameters: with(graph, "participants = 3")},
	{name: "gfml-plain-diffusion", algorithm: "gfml", privacy: "masked", parties: 12, servers: 3,
		parameters: with(graph, "participants = 3", `diffusion = "plain"`)},
	{name: "pofmkl-masked", algorithm: "pofmkl", privacy: "masked", parties: 4, servers: 1, parameters: bins},
	{name: "ofmsft-masked", algorithm: "ofmsft", privacy: "masked", parties: 9, servers: 1, parameters: mixture},
	{name: "fdskl-published", algorithm: "fdskl", privacy: "published", parties: 4, parameters: fixed},
	{name: "fdskl-masked-star", algorithm: "fdskl", privacy: "masked", parties: 4, parameters: doubly,
		head: []string{`topology = "star"`}},
	{name: "fdskl-masked-ring", algorithm: "fdskl", privacy: "masked", parties: 4, parameters: squares,
		head: []string{`topology = "ring"`}},
	{name: "pofmkl-masked-tree", algorithm: "pofmkl", privacy: "masked", parties: 5, servers: 1, parameters: bins,
		head: []string{`topology = "tree"`}},
	{name: "pofmkl-he", algorithm: "pofmkl", privacy: "masked", parties: 4, servers: 1, parameters: bins,
		head: []string{`aggregation = "he"`}},
	{name: "pofmkl-published", algorithm: "pofmkl", privacy: "published", parties: 4, servers: 1, parameters: bins},
	{name: "ofmsft-published", algorithm: "ofmsft", privacy: "published", parties: 6, servers: 1, parameters: mixture},
	{name: "gfml-published", algorithm: "gfml", privacy: "published", parties: 9, servers: 3,
		parameters: with(graph, "participants = 2")},
	{name: "fdskl-classes", algorithm: "fdskl", privacy: "masked", parties: 3, parameters: fixed, predict: true,
		four: true},
	{name: "sealed-classes", algorithm: "fdskl", privacy: "sealed", parties: 4, parameters: auto, predict: true,
		four: true},
	{name: "fdskl-he", algorithm: "fdskl", privacy: "masked", parties: 3, parameters: squares,
		head: []string{`aggregation = "he"`}},
}

// TestRunsAreThoseOfTheGoldenFiles runs every case with fixed randomness, on fake time. Digests of payloads are
// those of amd64: where the compiler fuses multiplications and additions, numbers in the clear may have
// other last bits.
func TestRunsAreThoseOfTheGoldenFiles(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the golden files are those of amd64")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fixRandom(t)
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, c.parties)
				if c.servers == 0 {
					n.columns(cmp.Or(c.rows, 40), c.four, c.asTheyCome)
				} else {
					n.streams(c.servers, 6)
				}
				if c.algorithm == "ofmsft" {
					n.models(2)
				}
				n.start()
				defer n.stop()
				head := append([]string{fmt.Sprintf("privacy = %q", c.privacy), `record = "full"`}, c.head...)
				if c.servers > 0 {
					head = append(head, fmt.Sprintf("servers = [%s]", quoted(n.Names[:c.servers])))
				}
				h := n.run(n.job(c.algorithm, "train", head, c.parameters))
				n.compare(c.name, h)
				if c.predict {
					head = append(head, fmt.Sprintf("model = %q", h), `table = "test"`, `open_to = "bank"`)
					n.compare(c.name+"-predict", n.run(n.job(c.algorithm, "predict", head, nil)))
				}
			})
		})
	}
}

// compare holds a job that is done against the files of a folder.
func (n *network) compare(folder string, h keys.Hash) {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.folder(0, h), "contract.toml"))
	must(n.t, err)
	c, err := contract.ParseContract(text)
	must(n.t, err)
	for name, got := range map[string][]byte{
		"contract.toml":  text,
		"transcript.txt": n.transcripts(c),
		"wire.txt":       n.wire(),
		"report.txt":     n.report(c),
		"model.txt":      n.results(c),
	} {
		path := filepath.Join("testdata", folder, name)
		if *update {
			must(n.t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(n.t, os.WriteFile(path, got, 0o644))
		}
		want, err := os.ReadFile(path)
		must(n.t, err)
		if !bytes.Equal(got, want) {
			n.t.Errorf("%s is not what it was: %s", path, difference(got, want))
		}
	}
}

// difference shows the first line that differs.
func difference(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// transcripts lists what all parties recorded, but for the times. Links record side by side, so that records are in the
// order of their links.
func (n *network) transcripts(c *contract.Contract) []byte {
	n.t.Helper()
	var out strings.Builder
	for i, name := range n.Names {
		file, err := os.Open(filepath.Join(n.folder(i, c.Hash()), "transcript"))
		must(n.t, err)
		defer file.Close()
		r, err := transcript.NewReader(file)
		must(n.t, err)
		var lines []string
		for {
			var e transcript.Record
			if err := r.Next(&e); err == io.EOF {
				break
			} else if err != nil {
				n.t.Fatal(err)
			}
			proof := "signature"
			if e.Type.Payload() {
				sum := e.Sum()
				proof = hex.EncodeToString(sum[:8])
			}
			lines = append(lines, fmt.Sprintf("%s session %d peer %d %s sequence %04d operation %03d chunk %d: "+
				"%s %s %s size %d bytes %d kept %v %s", name, e.Session, e.Peer, e.Type, e.Sequence, e.Operation, e.Chunk,
				e.Kind, e.Class, e.Encoding, e.Size, e.Bytes, e.Kept, proof))
		}
		slices.Sort(lines)
		fmt.Fprintln(&out, strings.Join(lines, "\n"))
	}
	return []byte(out.String())
}

// written is how much of a frame is written out: its header with the kind, and the first bytes of the payload.
const written = 96

// wire lists the frames that the parties received since it was asked last; of each kind on a link it writes out one.
func (n *network) wire() []byte {
	var lines []string
	for i, tap := range n.taps {
		seen := make(map[string]bool)
		for _, f := range tap.Frames() {
			sum := sha256.Sum256(f.Data)
			line := fmt.Sprintf("%s from %s frame %04d: %d bytes, digest %x",
				n.Names[i], n.nameOf(f.From), f.Index, len(f.Data), sum[:8])
			if link := f.Kind() + " from " + n.nameOf(f.From); !seen[link] {
				seen[link] = true
				line += ", begins with " + hex.EncodeToString(f.Data[:min(len(f.Data), written)])
			}
			lines = append(lines, line)
		}
		n.taps[i] = n.Tap(n.IDs[i])
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n") + "\n")
}

// nameOf returns the name of a key's owner.
func (n *network) nameOf(id keys.ID) string {
	return n.Names[slices.Index(n.IDs, id)]
}

// report is what an auditor writes who has all transcripts and tables. Only digests of transcripts and times depend on
// more than the job.
func (n *network) report(c *contract.Contract) []byte {
	n.t.Helper()
	in := &audit.Input{Contract: c, Charter: n.charter, Streams: n.rows, Workers: 1}
	for i, name := range n.Names {
		folder := n.folder(i, c.Hash())
		store, err := transcript.OpenStore(filepath.Join(folder, "payloads"), 0)
		must(n.t, err)
		in.Sources = append(in.Sources, audit.Source{Path: name, Payload: store.Get,
			Open: func() (io.ReadCloser, error) { return os.Open(filepath.Join(folder, "transcript")) }})
		if c.Job.Task == "train" && len(c.Job.Servers) == 0 {
			in.Columns = append(in.Columns, n.trained(i, c))
		}
	}
	r, err := audit.Run(n.t.Context(), in)
	must(n.t, err)
	r.Seconds = 0
	for i := range r.Transcripts {
		r.Transcripts[i].SHA256, r.Transcripts[i].First, r.Transcripts[i].Last = strings.Repeat("0", 64), "", ""
	}
	var b bytes.Buffer
	must(n.t, render.Text(&b, r))
	return b.Bytes()
}

// trained reads a party's training table.
func (n *network) trained(i int, c *contract.Contract) *audit.Columns {
	n.t.Helper()
	goal, err := registry.Program().Goal(c.Job)
	must(n.t, err)
	var o dataset.Options
	if i == 0 {
		o.Label = goal.Label
	}
	table, err := dataset.Read(n.table(i, "train"), o)
	must(n.t, err)
	p, err := vertical.PrepareTraining(table, goal, i == 0)
	must(n.t, err)
	columns := evidence.NewColumns(p.Rows)
	columns.Table, columns.Confirmed = table.Sum, true
	if p.Labels != nil {
		columns.Labels = p.Labels.Values
	}
	return columns
}

// results lists the parties' model parts, and what they predicted.
func (n *network) results(c *contract.Contract) []byte {
	n.t.Helper()
	var out strings.Builder
	for i, name := range n.Names {
		folder := n.folder(i, c.Hash())
		switch {
		case c.Job.Task != "train":
		case len(c.Job.Servers) > 0:
			m, err := node.ReadOwnModel(registry.Program(), filepath.Join(n.dirs[i], "node"), n.info(i, c.Hash()))
			must(n.t, err)
			files, err := m.Portable().Files()
			must(n.t, err)
			for _, f := range files {
				fmt.Fprintf(&out, "%s %s:\n%s\n", name, f.Name, readable(f.Name, f.Content))
			}
		default:
			m, err := node.ReadModel(registry.Program(), folder)
			must(n.t, err)
			text, err := m.Encode()
			must(n.t, err)
			diagnosis, err := cbor.Diagnose(text)
			must(n.t, err)
			fmt.Fprintf(&out, "%s: %s\n", name, rounded([]byte(diagnosis)))
		}
		for _, file := range []string{"predictions.csv", "scores.csv"} {
			if text, err := os.ReadFile(filepath.Join(folder, file)); err == nil {
				fmt.Fprintf(&out, "%s %s:\n%s", name, file, rounded(text))
			}
		}
	}
	return []byte(out.String())
}

// readable renders a file of a client's model. Tensors are numbers of 8 bytes behind a header, networks have a digest.
func readable(name string, content []byte) string {
	switch name {
	case "model.json":
		return string(rounded(content))
	case "model.safetensors":
		head := 8 + int(binary.LittleEndian.Uint64(content))
		var b strings.Builder
		b.Write(content[8:head])
		for content = content[head:]; len(content) > 0; content = content[8:] {
			fmt.Fprintf(&b, "\n%.12g", math.Float64frombits(binary.LittleEndian.Uint64(content)))
		}
		return b.String()
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// fraction is a number with a point or an exponent.
var fraction = regexp.MustCompile(`-?\b[0-9]+(\.[0-9]+(e[-+]?[0-9]+)?|e[-+]?[0-9]+)\b`)

// rounded writes all fractions with 12 digits: the last ones may depend on the machine.
func rounded(text []byte) []byte {
	return fraction.ReplaceAllFunc(text, func(number []byte) []byte {
		v, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			return number
		}
		return strconv.AppendFloat(nil, v, 'g', 12, 64)
	})
}
