// Package simfed runs a job over clients, one server and its clients, in one process: the algorithms' parts, the secure
// sums, budgets and signed transcripts are those of nodes, with all payloads kept; only the network is simulated. It is
// for tests and measurements of what transcripts show.
package simfed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/internal/recorder"
	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// Server is the name of the party that adds up.
const Server = "server"

// The ways to protect what clients send.
const (
	Published = "published"
	Masked    = "masked"
	HE        = "he" // masked, by homomorphic encryption
)

// Job says what is run.
type Job struct {
	Algorithm  string         // "pofmkl", "gfml" or "ofmsft"
	Protection string         // Published, Masked or HE
	Parameters map[string]any // as jobs have them; server, clients and models are filled in
	Streams    []Stream       // of the clients, who are called client-01 and so on
	Networks   []*nn.Network  // of the server, in a job of ofmsft
	Folder     string         // for transcripts and payloads
	// Patience is how long the server waits for a client; 0: 20 s.
	Patience time.Duration
	// Naked is the number of a client, from 1, that sends its vectors without masks; 0: none does. It breaks the job.
	Naked int
	// Leaves says of clients, by number from 1, in which sum they go away as they are about to send their vector.
	Leaves map[int]uint64
}

// Stream is a client's rows.
type Stream struct {
	X [][]float64
	Y []float64
}

// Run is what a job left.
type Run struct {
	Contract *contract.Contract
	Charter  *keys.SignedCharter
	Parties  []Party // the server, then the clients in their order
}

// Party is one party's transcript.
type Party struct {
	Name  string
	Path  string
	Store *transcript.Store
	Err   error // of its part
}

// Open opens the transcript.
func (p *Party) Open() (io.ReadCloser, error) { return os.Open(p.Path) }

// federation is a job under way.
type federation struct {
	*Job
	names   []string
	keys    []*keys.PrivateKey
	members []contract.Party
	spec    cohort.Spec
	net     *testnet.Network
	run     *Run
	parts   parts
}

// parts are an algorithm's own, and what they disclose.
type parts struct {
	disclosure federated.Disclosure
	columns    int
	serve      func(ctx context.Context, n *serverNetwork) error
	runClient  func(ctx context.Context, client int, n *clientNetwork) error
}

// Start runs a job to its end. Errors of single parties are in the run; an error says that the job could not begin.
func Start(ctx context.Context, j Job) (*Run, error) {
	f := &federation{Job: &j, names: []string{Server}}
	for i := range j.Streams {
		f.names = append(f.names, fmt.Sprintf("client-%02d", i+1))
	}
	var ids []keys.ID
	for _, name := range f.names {
		k, err := keys.GenerateKey()
		if err != nil {
			return nil, err
		}
		f.keys, ids = append(f.keys, k), append(ids, k.ID())
		f.members = append(f.members, contract.Party{Name: name, ID: k.ID()})
	}
	f.net = testnet.New(ids)
	defer f.net.Close()
	if err := f.agree(); err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	for i := range f.names {
		running.Go(func() { f.run.Parties[i].Err = f.runClient(ctx, i) })
	}
	running.Wait()
	return f.run, nil
}

// agree makes charter, contract and the algorithm's parts.
func (f *federation) agree() error {
	f.run = new(Run)
	least := 3
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "attacked", Algorithm: f.Algorithm, Task: contract.TaskTrain, Table: "stream",
		Topology: contract.Star.String(),
		Privacy:  Masked, Parties: f.names, Servers: f.names[:1], Parameters: f.Parameters, Record: contract.RecordFull,
	}
	f.spec = cohort.Spec{Backend: cohort.Masked, Topology: contract.Star, Patience: f.Patience,
		Picks: f.Algorithm != contract.POFMKL}
	if f.spec.Patience == 0 {
		f.spec.Patience = 20 * time.Second
	}
	switch f.Protection {
	case Published:
		job.Privacy, f.spec.Backend, least = Published, cohort.Plain, 2
	case HE:
		job.Aggregation, f.spec.Backend = contract.AggregateHE, cohort.HE
	}
	f.spec.MinContributors = least
	for i := 1; i < len(f.names); i++ {
		f.spec.Clients = append(f.spec.Clients, i)
	}
	if err := f.charter(); err != nil {
		return err
	}
	job.Charter = f.run.Charter.Digest().String()
	var err error
	if f.parts, err = f.partsOf(job); err != nil {
		return err
	}
	facts := []contract.Facts{{Name: Server, ID: f.members[0].ID, Role: "server", Columns: f.parts.columns}}
	for _, m := range f.members[1:] {
		facts = append(facts, contract.Facts{Name: m.Name, ID: m.ID, Role: "client", Columns: f.parts.columns})
	}
	operations, err := f.operations()
	if err != nil {
		return err
	}
	if f.run.Contract, err = contract.NewContract(job, facts, f.parts.disclosure.Openings,
		contract.SessionOperations(len(facts), operations)); err != nil {
		return err
	}
	for i, k := range f.keys {
		f.run.Contract.Sign(k)
		store, err := transcript.OpenStore(filepath.Join(f.Folder, f.names[i]+"-payloads"), 1<<34)
		if err != nil {
			return err
		}
		f.run.Parties = append(f.run.Parties,
			Party{Name: f.names[i], Path: filepath.Join(f.Folder, f.names[i]+".transcript"), Store: store})
	}
	return nil
}

// charter makes one that allows everything.
func (f *federation) charter() error {
	c := keys.Charter{Name: "simulated", Version: 1, Created: time.Unix(1_700_000_000, 0).UTC(),
		Rules: keys.Rules{MinPrivacy: keys.PrivacyPublished, MinContributors: 2, Transports: []string{"tcp"},
			Discovery: []string{"addresses"}}}
	for _, m := range f.members {
		c.Members = append(c.Members, keys.Member{Name: m.Name, ID: m.ID})
	}
	var err error
	if f.run.Charter, err = keys.NewCharter(c); err != nil {
		return err
	}
	for _, k := range f.keys {
		if err := f.run.Charter.Sign(k); err != nil {
			return err
		}
	}
	return nil
}

// operations lists what the parties send.
func (f *federation) operations() ([]contract.Operation, error) {
	var list []contract.Operation
	add := func(up bool, o contract.Operation) {
		o.Root, o.Encoding, o.Collective = Server, contract.Bytes.String(), contract.CollectiveDownload
		if up {
			o.Collective = contract.CollectiveUpload
		}
		list = append(list, o)
	}
	d := &f.parts.disclosure
	for _, t := range d.Told {
		add(false, contract.Operation{Kind: t.Kind, Class: contract.ClassOpening.String(), Count: t.Times,
			Bytes: t.Bytes + roundSize*t.Times})
	}
	for _, a := range d.Answers {
		add(true, contract.Operation{Kind: a.Kind, Class: contract.ClassOpening.String(), Count: a.Times, Bytes: a.Bytes})
	}
	add(false, contract.Operation{Kind: kindFinished, Class: contract.ClassControl.String(), Count: 1})
	for _, s := range d.Sums {
		flows, err := f.spec.Flows(len(f.names), s.Clients, cohort.Vector{Kind: s.Sum.Kind, Words: s.Sum.N, Bits: 64},
			s.Times)
		if err != nil {
			return nil, err
		}
		for _, l := range flows {
			o := contract.Operation{Kind: l.Kind, Class: l.Class.String(), Count: l.Count, Bytes: l.Bytes}
			if l.Kind == s.Sum.Kind {
				o.Shape = []int64{s.Times, int64(s.Sum.N)}
			}
			add(l.Up, o)
		}
	}
	return list, nil
}

// partsOf makes the algorithm's parts.
func (f *federation) partsOf(job *contract.Job) (parts, error) {
	clients := f.names[1:]
	if len(clients) == 0 || len(f.Streams[0].X) == 0 {
		return parts{}, errors.New("a job over clients without clients, or without rows")
	}
	p := parts{columns: len(f.Streams[0].X[0])}
	privacy := job.Privacy
	switch f.Algorithm {
	case contract.POFMKL:
		return p.pofmkl(f, job, privacy)
	case contract.GFML:
		return p.gfml(f, job, privacy)
	case contract.OFMSFT:
		return p.ofmsft(f, job, privacy)
	}
	return p, fmt.Errorf("there is no algorithm %q over clients", f.Algorithm)
}

// with returns parameters with values of the federation's own.
func with(parameters map[string]any, more map[string]any) map[string]any {
	all := make(map[string]any)
	for _, m := range []map[string]any{parameters, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// pofmkl makes the parts of POF-MKL.
func (p parts) pofmkl(f *federation, job *contract.Job, privacy string) (parts, error) {
	params, err := pofmkl.ParamsOf(with(job.Parameters, map[string]any{"server": Server}), f.names)
	if err != nil {
		return p, err
	}
	var columns []string
	for i := range p.columns {
		columns = append(columns, fmt.Sprintf("x%d", i+1))
	}
	d, err := pofmkl.NewDictionary(params, columns)
	if err != nil {
		return p, err
	}
	p.disclosure = pofmkl.Disclose(params, privacy, f.names[1:])
	p.serve = func(ctx context.Context, n *serverNetwork) error {
		return pofmkl.Serve(ctx, &pofmkl.ServerPart{Dictionary: d, Network: n, Vault: vault{}})
	}
	p.runClient = func(ctx context.Context, i int, n *clientNetwork) error {
		return pofmkl.RunClient(ctx, &pofmkl.ClientPart{
			Name: f.names[i], Dictionary: d, Clients: len(f.Streams), Network: n, Rows: f.rows(i), Vault: vault{},
		})
	}
	return p, nil
}

// gfml makes the parts of GFML, with one server.
func (p parts) gfml(f *federation, job *contract.Job, privacy string) (parts, error) {
	params, err := gfml.ParamsOf(with(job.Parameters, map[string]any{
		"servers": f.names[:1], "clients": map[string][]string{Server: f.names[1:]},
	}), f.names)
	if err != nil {
		return p, err
	}
	plan, err := gfml.NewPlan(params, f.names)
	if err != nil {
		return p, err
	}
	p.disclosure = plan.Disclose(privacy)
	least := f.spec.MinContributors
	if privacy == Published {
		least = 1
	}
	p.serve = func(ctx context.Context, n *serverNetwork) error {
		return gfml.Serve(ctx, &gfml.ServerPart{Plan: plan, Privacy: privacy, Least: least, Network: n, Vault: vault{}})
	}
	p.runClient = func(ctx context.Context, i int, n *clientNetwork) error {
		return gfml.RunClient(ctx, &gfml.ClientPart{
			Plan: plan, Client: i - 1, Privacy: privacy, Least: least, Network: n, Rows: f.rows(i), Vault: vault{},
		})
	}
	return p, nil
}

// ofmsft makes the parts of OFMS-FT.
func (p parts) ofmsft(f *federation, job *contract.Job, privacy string) (parts, error) {
	var names []string
	for k := range f.Networks {
		names = append(names, fmt.Sprintf("m%02d", k+1))
	}
	listed, err := ofmsft.Params{}.WithNetworks(names, f.Networks)
	if err != nil {
		return p, err
	}
	var models []map[string]any
	for _, m := range listed.Models {
		models = append(models, map[string]any{"name": m.Name, "size": m.Size, "hash": m.Hash.String()})
	}
	job.Parameters = with(job.Parameters, map[string]any{"models": models, "inputs": listed.Inputs})
	if listed.Classes > 0 {
		job.Parameters["classes"] = listed.Classes
	}
	params, err := ofmsft.ParamsOf(with(job.Parameters, map[string]any{"server": Server}), f.names)
	if err != nil {
		return p, err
	}
	p.disclosure = ofmsft.Disclose(params, privacy, f.names[1:])
	p.serve = func(ctx context.Context, n *serverNetwork) error {
		return ofmsft.Serve(ctx, &ofmsft.ServerPart{
			Params: params, Networks: f.Networks, Names: f.names[1:], Least: f.spec.MinContributors, Network: n, Vault: vault{},
		})
	}
	p.runClient = func(ctx context.Context, i int, n *clientNetwork) error {
		return ofmsft.RunClient(ctx, &ofmsft.ClientPart{
			Name: f.names[i], Params: params, Clients: len(f.Streams), Network: n, Rows: f.rows(i), Vault: vault{},
		})
	}
	return p, nil
}

// runClient is one party's session between its links and its end.
func (f *federation) runClient(ctx context.Context, i int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	party := &f.run.Parties[i]
	config := transcript.Config{Contract: f.run.Contract.Hash(), Self: i, Key: f.keys[i], Store: party.Store}
	for _, m := range f.members {
		config.IDs = append(config.IDs, m.ID)
	}
	log, err := transcript.Open(party.Path, config)
	if err != nil {
		return err
	}
	r, err := recorder.New(log, 1, len(f.names))
	if err != nil {
		return err
	}
	err = f.linked(ctx, i, r)
	return errors.Join(err, r.Close(err == nil))
}

// linked is a party's part of the session.
func (f *federation) linked(ctx context.Context, i int, r protocol.Recorder) error {
	peers := []keys.ID{f.members[0].ID}
	if i == 0 {
		peers = nil
		for _, m := range f.members[1:] {
			peers = append(peers, m.ID)
		}
	}
	mesh, err := f.net.Transport(f.members[i].ID).Open(ctx,
		protocol.SessionID(keys.HashOf("hanse simulated room v1")), peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	budget, err := contract.NewBudget(f.run.Contract, i)
	if err != nil {
		return err
	}
	odd := &deviant{Mesh: mesh, Recorder: r, kind: f.parts.disclosure.Sums[0].Sum.Kind, leaves: f.Leaves[i],
		front: (len(f.names) + 7) / 8}
	if odd.naked = i > 0 && f.Naked == i; odd.naked || odd.leaves > 0 {
		mesh, r = odd, odd
	}
	l, err := protocol.NewLinks(mesh, protocol.SessionConfig{
		Contract: f.run.Contract.Hash(), Number: 1, Parties: f.members, Key: f.keys[i], Budget: budget, Recorder: r,
	}, nil)
	if err != nil {
		return err
	}
	if i > 0 {
		client, err := cohort.NewClient(ctx, l, f.spec)
		if err != nil {
			return err
		}
		n := &clientNetwork{client: client, clients: len(f.Streams), odd: odd}
		if err := f.parts.runClient(ctx, i, n); err != nil {
			return err
		}
		return client.Finish(ctx)
	}
	box := inbox.New(mesh, peers)
	defer box.Close()
	s, err := cohort.NewServer(ctx, l, box, f.spec.Clients, f.spec)
	if err != nil {
		return err
	}
	n := &serverNetwork{server: s, clients: len(f.Streams)}
	if err := f.parts.serve(ctx, n); err != nil {
		return err
	}
	for _, client := range s.Present() {
		if err := s.Notify(ctx, client, kindFinished, contract.ClassControl, nil); err != nil {
			return err
		}
	}
	_, err = s.Finish(ctx)
	return err
}

// deviant is the network and the transcript of a client that leaves, or that sends its vectors without their masks
// and says so in its transcript.
type deviant struct {
	protocol.Mesh
	protocol.Recorder
	kind   string
	front  int    // bytes before a vector's words
	leaves uint64 // the sum; 0: none
	naked  bool
	words  []uint64 // of the vector that is sent next
}

// Send implements protocol.Mesh.
func (d *deviant) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	h := parts[0]
	if string(h[68:68+int(h[2])]) != d.kind {
		return d.Mesh.Send(ctx, to, parts...)
	}
	if sum := binary.BigEndian.Uint64(h[16:]); d.leaves > 0 && sum >= d.leaves {
		d.Mesh.Close()
	}
	if d.naked && len(parts) == 2 {
		parts = [][]byte{h, d.bare(parts[1])}
	}
	return d.Mesh.Send(ctx, to, parts...)
}

// Record implements protocol.Recorder.
func (d *deviant) Record(e protocol.Entry, payload []byte) error {
	if d.naked && e.Event == protocol.EventSent && e.Kind == d.kind {
		payload = d.bare(payload)
	}
	return d.Recorder.Record(e, payload)
}

// bare returns a vector on its way without its masks.
func (d *deviant) bare(payload []byte) []byte {
	out := append([]byte(nil), payload[:d.front]...)
	for _, w := range d.words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}
