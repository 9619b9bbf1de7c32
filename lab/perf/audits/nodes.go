package audits

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	nodejob "github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// server is the name of the party that adds up.
const server = "server"

// tableName is what all parties call their data.
const tableName = "stream"

// mostPayloads is how many bytes of payloads a node keeps.
const mostPayloads = 1 << 34

// job is a job over clients' streams.
type job struct {
	algorithm  string
	protection string          // keys.PrivacyPublished, keys.PrivacyMasked or contract.AggregateHE
	parameters map[string]any  // what a proposer says
	columns    []string        // of the streams; nil: x1, x2 and so on
	streams    []*audit.Stream // of the clients, who are called client-01 and so on
	networks   []*nn.Network   // of the server, in a job of OFMS-FT
	leaves     map[int]uint64  // by client, from 1: the sum in which it goes as it is about to send its vector
}

// federation is the nodes of a job's parties, in this process, with links in memory.
type federation struct {
	*job
	dir     string
	names   []string
	keys    []*keys.PrivateKey
	ids     []keys.ID
	charter *keys.SignedCharter
	links   *testnet.Network
	nodes   []*node.Node
	done    []chan struct{} // closed when a party's job has ended well
}

// run runs the job below a folder and returns what an audit with all transcripts and streams reads.
func (j *job) run(ctx context.Context, dir string) (*audit.Input, error) {
	f := &federation{job: j, dir: dir}
	if err := f.found(); err != nil {
		return nil, err
	}
	text, err := f.text()
	if err != nil {
		return nil, err
	}
	f.links = testnet.New(f.ids)
	defer f.links.Close()
	if len(j.leaves) > 0 {
		f.links.OnFrame(f.pass)
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range f.names {
		n, err := f.open(i)
		if err != nil {
			return nil, err
		}
		f.nodes = append(f.nodes, n)
		running.Go(func() { n.Run(ctx) })
	}
	c, err := f.nodes[0].Prepare(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	if _, err := f.nodes[0].Launch(ctx, c.Hash(), nil); err != nil {
		return nil, err
	}
	for i, done := range f.done {
		if j.leaves[i] > 0 {
			continue
		}
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	cancel()
	running.Wait()
	return f.input(c.Hash())
}

// found makes the parties' keys and folders, and a charter that all have signed.
func (f *federation) found() error {
	c := keys.Charter{Name: "audited", Version: 1, Created: time.Now()}
	c.Rules.MinPrivacy, c.Rules.Discovery = keys.PrivacyPublished, []string{"addresses"}
	for i := range len(f.streams) + 1 {
		name := server
		if i > 0 {
			name = fmt.Sprintf("client-%02d", i)
		}
		k, err := keys.GenerateKey()
		if err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(f.dir, name), 0o700); err != nil {
			return err
		}
		f.names, f.keys, f.ids = append(f.names, name), append(f.keys, k), append(f.ids, k.ID())
		c.Members = append(c.Members, keys.Member{Name: name, ID: k.ID(),
			Addresses: []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 4001+i)}})
		f.done = append(f.done, make(chan struct{}))
	}
	var err error
	if f.charter, err = keys.NewCharter(c); err != nil {
		return err
	}
	for _, k := range f.keys {
		if err := f.charter.Sign(k); err != nil {
			return err
		}
	}
	return nil
}

// text renders the job as its proposer writes it.
func (f *federation) text() ([]byte, error) {
	j := contract.Job{
		Format: "hanse-job-v1", Name: "audited", Algorithm: f.algorithm, Task: contract.TaskTrain, Table: tableName,
		Topology: contract.Star.String(), Privacy: keys.PrivacyMasked, Parties: f.names, Servers: f.names[:1],
		Record: contract.RecordFull, Parameters: f.parameters,
	}
	switch f.protection {
	case keys.PrivacyPublished:
		j.Privacy = f.protection
	case contract.AggregateHE:
		j.Aggregation = f.protection
	}
	var text strings.Builder
	err := toml.NewEncoder(&text).Encode(j)
	return []byte(text.String()), err
}

// open makes a party's node.
func (f *federation) open(i int) (*node.Node, error) {
	charter, err := f.charter.InForce()
	if err != nil {
		return nil, err
	}
	path, err := f.table(i)
	if err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { close(f.done[i]) })
	return node.New(node.Config{
		Key: f.keys[i], Charter: charter, Transport: f.links.Transport(f.ids[i]), Workers: 1, RecordLimit: mostPayloads,
		Tables: map[string]jobs.TableSpec{tableName: {Path: path}}, Dir: filepath.Join(f.dir, f.names[i], "node"),
		Policy: &consent.Policy{
			Format: consent.Format, Accept: []consent.Rule{consent.Wide(consent.Rule{Tasks: []string{contract.TaskTrain}})},
			Tables: []consent.Table{{Name: tableName, Labels: []string{f.label()}}},
		},
		Told: func(e jobs.Event) {
			if e.Kind == jobs.EventDone {
				once()
			}
		},
	})
}

// label is the column that clients foretell.
func (f *federation) label() string { return fmt.Sprint(f.parameters["label"]) }

// table writes a party's data: a client's stream, and the server's networks if it has any.
func (f *federation) table(i int) (string, error) {
	path := filepath.Join(f.dir, f.names[i], tableName)
	if i == 0 {
		if err := os.Mkdir(path, 0o700); err != nil {
			return "", err
		}
		for k, n := range f.networks {
			file := filepath.Join(path, fmt.Sprintf("m%02d%s", k+1, nn.FileSuffix))
			if err := os.WriteFile(file, n.Bytes(), 0o600); err != nil {
				return "", err
			}
		}
		return path, nil
	}
	s, names := f.streams[i-1], f.columns
	if names == nil {
		for k := range s.Inputs[0] {
			names = append(names, fmt.Sprintf("x%d", k+1))
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s,%s\n", strings.Join(names, ","), f.label())
	for r, row := range s.Inputs {
		var cells []string
		for _, v := range append(row[:len(row):len(row)], s.Labels[r]) {
			cells = append(cells, strconv.FormatFloat(v, 'g', -1, 64))
		}
		fmt.Fprintln(&text, strings.Join(cells, ","))
	}
	path += ".csv"
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}

// operationAt is where a frame's header has the number of its operation; see protocol/frame.go.
const operationAt = 16

// vectorKinds are how the algorithms call the vectors that are summed.
var vectorKinds = []string{pofmkl.KindUpdates, ofmsft.KindUpdates, gfml.KindUploads}

// pass cuts clients off as they leave.
func (f *federation) pass(frame testnet.Frame) []testnet.Frame {
	for i, sum := range f.leaves {
		if frame.From == f.ids[i] && slices.Contains(vectorKinds, frame.Kind()) &&
			binary.BigEndian.Uint64(frame.Data[operationAt:]) >= sum {
			f.links.Kill(frame.From)
			return nil
		}
	}
	return []testnet.Frame{frame}
}

// input reads what the nodes have left of a job.
func (f *federation) input(h keys.Hash) (*audit.Input, error) {
	in := &audit.Input{Charter: f.charter, Streams: append([]*audit.Stream{nil}, f.streams...)}
	for i, name := range f.names {
		folder := filepath.Join(f.dir, name, "node", "jobs", h.String())
		if i == 0 {
			c, err := auditing.ReadContract(filepath.Join(folder, nodejob.ContractCopy))
			if err != nil {
				return nil, err
			}
			in.Contract = c
		}
		s, err := auditing.SourceOf(filepath.Join(folder, node.TranscriptFile))
		if err != nil {
			return nil, err
		}
		in.Sources = append(in.Sources, s)
	}
	return in, nil
}
