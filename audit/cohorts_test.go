package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/conform/clients"
	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// cohorts is a test network of one server, p0, and clients.
type cohorts struct {
	*testNetwork
	spec   cohort.Spec
	vector cohort.Vector
	sums   int
	leaves map[int]leaving
	play   player // what the parties do: sums, if nothing else

	naked   int // the client that forgets its masks; 0: none does
	forgets forgetful
}

// player is what the parties of a test network do in a session.
type player interface {
	serve(ctx context.Context, s *cohort.Server) error
	visit(ctx context.Context, client *cohort.Client, i int) error
}

// leaving is where a client leaves: when it is about to send a kind of message of a sum, or of a later one.
type leaving struct {
	sum  uint64
	kind string
}

// newCohorts is a federation of n clients that run so many sums.
func newCohorts(t testing.TB, n, sums int, backend cohort.Backend, topology contract.Topology) *cohorts {
	t.Helper()
	c := &cohorts{
		testNetwork: newTestNetwork(t, n+1), vector: cohort.Vector{Kind: "updates", Words: 20, Bits: 64}, sums: sums,
		spec: cohort.Spec{Backend: backend, Topology: topology, MinContributors: 3, Patience: 20 * time.Second},
	}
	c.play = c
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "test", Algorithm: "gfml", Task: contract.TaskTrain, Table: "stream",
		Parties: c.names, Servers: c.names[:1],
		Topology: topology.String(), Privacy: "masked",
	}
	switch backend {
	case cohort.Plain:
		job.Privacy = "published"
	case cohort.HE:
		job.Aggregation = contract.AggregateHE
	}
	c.agree(job)
	return c
}

// agree makes the contract that all sign, with what sums over clients send.
func (c *cohorts) agree(job *contract.Job) {
	c.t.Helper()
	sums := int64(c.sums)
	openings := []contract.Opening{{To: "p0", Kind: "updates", Count: sums * int64(c.vector.Words),
		Meaning: "the total of the clients' updates"}}
	if c.spec.Backend == cohort.Plain && c.spec.Topology == contract.Star {
		openings[0].Count *= int64(len(c.names) - 1)
	}
	facts := []contract.Facts{{Name: "p0", ID: c.members[0].ID, Role: "server"}}
	for _, m := range c.members[1:] {
		facts = append(facts, contract.Facts{Name: m.Name, ID: m.ID, Role: "client", Columns: 3})
		openings = append(openings, contract.Opening{To: m.Name, Kind: "model", Count: sums * 3,
			Meaning: "the model that all have made"})
	}
	operations := []contract.Operation{{Kind: "model", Collective: contract.CollectiveDownload, Class: "opening",
		Count: sums, Bytes: sums * (4 + 8*3)}}
	for _, kind := range []string{"finished", "paused"} {
		operations = append(operations,
			contract.Operation{Kind: kind, Collective: contract.CollectiveDownload, Class: "control", Count: 1})
	}
	flows, err := c.spec.Flows(len(c.names), len(c.names)-1, c.vector, sums)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range flows {
		o := contract.Operation{Kind: f.Kind, Collective: contract.CollectiveDownload, Class: f.Class.String(),
			Count: f.Count, Bytes: f.Bytes}
		if f.Up {
			o.Collective = contract.CollectiveUpload
		}
		if f.Kind == c.vector.Kind {
			o.Shape = []int64{sums, int64(c.vector.Words)}
		}
		operations = append(operations, o)
	}
	for i := range operations {
		operations[i].Root, operations[i].Encoding = "p0", "bytes"
	}
	if c.contract, err = contract.NewContract(job, facts, openings,
		contract.SessionOperations(len(facts), operations)); err != nil {
		c.t.Fatal(err)
	}
	for _, k := range c.keys {
		c.contract.Sign(k)
	}
}

// conclude makes the contract of an algorithm's disclosure, as nodes make it; clients' streams have so many columns.
func (c *cohorts) conclude(job *contract.Job, d federated.Disclosure, columns int) {
	c.t.Helper()
	facts := []contract.Facts{{Name: c.names[0], ID: c.members[0].ID, Role: "server"}}
	if job.Algorithm == contract.OFMSFT {
		facts[0].Columns = columns
	}
	for _, m := range c.members[1:] {
		facts = append(facts, contract.Facts{Name: m.Name, ID: m.ID, Role: "client", Columns: columns})
	}
	var err error
	if c.contract, err = contract.NewContract(job, facts, d.Openings,
		contract.SessionOperations(len(facts), c.operations(d))); err != nil {
		c.t.Fatal(err)
	}
	for _, k := range c.keys {
		c.contract.Sign(k)
	}
}

// leavingMesh is that of a client that leaves.
type leavingMesh struct {
	protocol.Mesh
	at leaving
}

// Send implements protocol.Mesh.
func (m leavingMesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	h := parts[0]
	if binary.BigEndian.Uint64(h[16:]) >= m.at.sum && string(h[68:68+int(h[2])]) == m.at.kind {
		m.Close()
	}
	return m.Mesh.Send(ctx, to, parts...)
}

// federate runs a session of all and returns each party's error.
func (c *cohorts) federate() []error {
	c.session++
	errs := make([]error, len(c.names))
	var wg sync.WaitGroup
	for i := range c.names {
		wg.Go(func() { errs[i] = c.runServed(i) })
	}
	wg.Wait()
	return errs
}

// runServed is one party's session, as a node runs it.
func (c *cohorts) runServed(i int) error {
	log, err := transcript.Open(c.path(i), c.config(i))
	if err != nil {
		return err
	}
	r, err := transcript.NewRecorder(log, c.session, len(c.names))
	if err != nil {
		return err
	}
	err = c.runLinks(i, r)
	return errors.Join(err, r.Close(err == nil))
}

// runLinks is one party's session between its links and its end.
func (c *cohorts) runLinks(i int, r protocol.Recorder) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	linked := clients.Linked(c.contract)
	var peers []keys.ID
	for j, m := range c.members {
		if j != i && linked(i, j) {
			peers = append(peers, m.ID)
		}
	}
	session := protocol.SessionID(keys.HashOf("audit test room", binary.BigEndian.AppendUint32(nil, c.session)))
	mesh, err := c.net.Transport(c.members[i].ID).Open(ctx, session, peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	if at, ok := c.leaves[i]; ok {
		mesh = leavingMesh{mesh, at}
	}
	if i > 0 && i == c.naked {
		c.forgets.Mesh, c.forgets.Recorder = mesh, r
		mesh, r = &c.forgets, &c.forgets
	}
	budget, err := contract.NewBudget(c.contract, i)
	if err != nil {
		return err
	}
	l, err := protocol.NewLinks(mesh, protocol.SessionConfig{
		Contract: c.contract.Hash(), Number: c.session, Parties: c.members, Key: c.keys[i], Budget: budget, Recorder: r,
	}, nil)
	if err != nil {
		return err
	}
	if i > 0 {
		client, err := cohort.NewClient(ctx, l, c.spec)
		if err != nil {
			return err
		}
		return c.play.visit(ctx, client, i)
	}
	box := inbox.New(mesh, peers)
	defer box.Close()
	s, err := cohort.NewServer(ctx, l, box, c.contract.Job.ClientsOf(0), c.spec)
	if err != nil {
		return err
	}
	return c.play.serve(ctx, s)
}

// serve is the server's part: it tells of a model before each sum, and ends the session.
func (c *cohorts) serve(ctx context.Context, s *cohort.Server) error {
	var err error
	add := func(kind string, class contract.Class, payload []byte) {
		for _, i := range s.Present() {
			err = errors.Join(err, s.Notify(ctx, i, kind, class, payload))
		}
	}
	for range c.sums {
		add("model", contract.ClassOpening, make([]byte, 4+8*3))
		if _, err := s.Sum(ctx, c.vector, s.Present()); err != nil {
			return err
		}
	}
	add("finished", contract.ClassControl, nil)
	if err != nil {
		return err
	}
	_, err = s.Finish(ctx)
	return err
}

func (c *cohorts) visit(ctx context.Context, client *cohort.Client, i int) error {
	for {
		h, err := client.ReceiveNotice(ctx, "model", 100)
		if err != nil {
			return err
		}
		if h.Kind == "finished" {
			return client.Finish(ctx)
		}
		words := make([]uint64, c.vector.Words)
		for j := range words {
			words[j] = uint64(i * j)
		}
		if err := client.Sum(ctx, c.vector, words); err != nil && !errors.Is(err, cohort.ErrLeftOut) {
			return err
		}
	}
}
