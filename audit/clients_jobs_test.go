package audit

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	fedmemory "github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// aServer is the name of the party that adds up.
const aServer = "server"

// clientsJob is a job over clients' streams.
type clientsJob struct {
	algorithm  string
	protection string             // keys.PrivacyPublished, keys.PrivacyMasked or contract.AggregateHE
	parameters map[string]any     // as jobs have them; server, clients and models are filled in
	streams    []*evidence.Stream // of the clients, who are called client-01 and so on
	networks   []*nn.Network      // of the server, in a job of OFMS-FT
	naked      int                // the client, from 1, that sends its vectors without masks; 0: none does
	leaves     map[int]uint64     // by client, from 1: the sum in which it goes as it is about to send its vector
}

// learners is a test network of a server and the clients of a job.
type learners struct {
	*cohorts
	job   *clientsJob
	serve func(ctx context.Context, n *tellingServer) error
	learn func(ctx context.Context, i int, n *hearingClient) error
}

// newLearners agrees on a job; payloads are kept.
func newLearners(t testing.TB, j *clientsJob) *learners {
	t.Helper()
	l := &learners{job: j, cohorts: &cohorts{
		testNetwork: newTestNetwork(t, len(j.streams)+1),
		spec: cohort.Spec{Backend: cohort.Masked, Topology: contract.Star, MinContributors: 3,
			Patience: 20 * time.Second, Picks: j.algorithm != contract.POFMKL},
		leaves: make(map[int]leaving), naked: j.naked,
	}}
	l.play = playing{l}
	for i := range l.names {
		l.names[i] = fmt.Sprintf("client-%02d", i)
		if i == 0 {
			l.names[i] = aServer
		}
		l.members[i].Name = l.names[i]
	}
	l.charter = l.charterOf(l.members)
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "attacked", Algorithm: j.algorithm, Task: contract.TaskTrain, Table: "stream",
		Topology: contract.Star.String(), Privacy: keys.PrivacyMasked, Parties: l.names, Servers: l.names[:1],
		Parameters: maps.Clone(j.parameters), Record: contract.RecordFull, Charter: l.charter.Digest().String(),
	}
	switch j.protection {
	case keys.PrivacyPublished:
		job.Privacy, l.spec.Backend, l.spec.MinContributors = j.protection, cohort.Plain, 2
	case contract.AggregateHE:
		job.Aggregation, l.spec.Backend = j.protection, cohort.HE
	}
	d, err := map[string]func(*contract.Job) (federated.Disclosure, error){
		contract.POFMKL: l.pofmkl, contract.GFML: l.gfml, contract.OFMSFT: l.ofmsft,
	}[j.algorithm](job)
	mustDo(t, err)
	l.conclude(job, d, len(j.streams[0].Inputs[0]))
	kind := d.Sums[0].Sum.Kind
	for i, sum := range j.leaves {
		l.leaves[i] = leaving{sum, kind}
	}
	l.forgets = forgetful{kind: kind, front: (len(l.names) + 7) / 8}
	l.keep()
	return l
}

// simulated runs a job and returns what an audit with all transcripts and streams reads, and each party's error.
func simulated(t testing.TB, j clientsJob) (*evidence.Input, []error) {
	t.Helper()
	l := newLearners(t, &j)
	errs := l.federate()
	return &evidence.Input{Contract: l.contract, Charter: l.charter, Sources: l.sources(),
		Streams: append([]*evidence.Stream{nil}, j.streams...)}, errs
}

// rows returns a client's stream.
func (l *learners) rows(i int) federated.Rows {
	s := l.job.streams[i-1]
	return fedmemory.NewRows(s.Inputs, s.Labels)
}

// with returns parameters with a value of the federation's own.
func with(parameters map[string]any, name string, value any) map[string]any {
	all := maps.Clone(parameters)
	all[name] = value
	return all
}

// pofmkl makes the parts of POF-MKL.
func (l *learners) pofmkl(job *contract.Job) (federated.Disclosure, error) {
	params, err := pofmkl.ParamsOf(with(job.Parameters, "server", aServer), l.names)
	if err != nil {
		return federated.Disclosure{}, err
	}
	var columns []string
	for i := range l.job.streams[0].Inputs[0] {
		columns = append(columns, fmt.Sprintf("x%d", i+1))
	}
	d, err := pofmkl.NewDictionary(params, columns)
	if err != nil {
		return federated.Disclosure{}, err
	}
	l.serve = func(ctx context.Context, n *tellingServer) error {
		return pofmkl.Serve(ctx, &pofmkl.ServerPart{Dictionary: d, Network: n, Vault: fedmemory.Vault{}})
	}
	l.learn = func(ctx context.Context, i int, n *hearingClient) error {
		return pofmkl.RunClient(ctx, &pofmkl.ClientPart{
			Name: l.names[i], Dictionary: d, Clients: len(l.job.streams), Network: n, Rows: l.rows(i),
			Vault: fedmemory.Vault{},
		})
	}
	return pofmkl.Disclose(params, l.job.protection, l.names[1:])
}

// gfml makes the parts of GFML, with one server.
func (l *learners) gfml(job *contract.Job) (federated.Disclosure, error) {
	params, err := gfml.ParamsOf(with(with(job.Parameters, "servers", l.names[:1]), "clients",
		map[string][]string{aServer: l.names[1:]}), l.names)
	if err != nil {
		return federated.Disclosure{}, err
	}
	plan, err := gfml.NewPlan(params, l.names)
	if err != nil {
		return federated.Disclosure{}, err
	}
	privacy, least := l.job.protection, l.spec.MinContributors
	if privacy == keys.PrivacyPublished {
		least = 1
	}
	l.serve = func(ctx context.Context, n *tellingServer) error {
		return gfml.Serve(ctx, &gfml.ServerPart{Plan: plan, Privacy: privacy, Least: least, Network: n,
			Vault: fedmemory.Vault{}})
	}
	l.learn = func(ctx context.Context, i int, n *hearingClient) error {
		return gfml.RunClient(ctx, &gfml.ClientPart{
			Plan: plan, Client: i - 1, Privacy: privacy, Least: least, Network: n, Rows: l.rows(i),
			Vault: fedmemory.Vault{},
		})
	}
	return plan.Disclose(privacy)
}

// ofmsft makes the parts of OFMS-FT.
func (l *learners) ofmsft(job *contract.Job) (federated.Disclosure, error) {
	var names []string
	for k := range l.job.networks {
		names = append(names, fmt.Sprintf("m%02d", k+1))
	}
	listed, err := ofmsft.Params{}.WithNetworks(names, l.job.networks)
	if err != nil {
		return federated.Disclosure{}, err
	}
	var models []map[string]any
	for _, m := range listed.Models {
		models = append(models, map[string]any{"name": m.Name, "size": m.Size, "hash": m.Hash.String()})
	}
	job.Parameters["models"], job.Parameters["inputs"] = models, listed.Inputs
	params, err := ofmsft.ParamsOf(with(job.Parameters, "server", aServer), l.names)
	if err != nil {
		return federated.Disclosure{}, err
	}
	l.serve = func(ctx context.Context, n *tellingServer) error {
		return ofmsft.Serve(ctx, &ofmsft.ServerPart{
			Params: params, Networks: l.job.networks, Names: l.names[1:], Least: l.spec.MinContributors, Network: n,
			Vault: fedmemory.Vault{},
		})
	}
	l.learn = func(ctx context.Context, i int, n *hearingClient) error {
		return ofmsft.RunClient(ctx, &ofmsft.ClientPart{
			Name: l.names[i], Params: params, Clients: len(l.job.streams), Network: n, Rows: l.rows(i),
			Vault: fedmemory.Vault{},
		})
	}
	return ofmsft.Disclose(params, l.job.protection, l.names[1:])
}

// playing is what the parties of a job do.
type playing struct{ *learners }

// serve implements player.
func (p playing) serve(ctx context.Context, s *cohort.Server) error {
	if err := p.learners.serve(ctx, &tellingServer{choosingServer{server: s, contract: p.contract}}); err != nil {
		return err
	}
	for _, i := range s.Present() {
		if err := s.Notify(ctx, i, evidence.KindFinished, contract.ClassControl, nil); err != nil {
			return err
		}
	}
	_, err := s.Finish(ctx)
	return err
}

// visit implements player.
func (p playing) visit(ctx context.Context, client *cohort.Client, i int) error {
	n := &hearingClient{choosingClient{client: client}}
	if i == p.naked {
		n.forgets = &p.forgets
	}
	if err := p.learn(ctx, i, n); err != nil {
		return err
	}
	return client.Finish(ctx)
}

// forgetful is the network and the transcript of a client that sends its vectors without their masks, and says so in
// its transcript.
type forgetful struct {
	protocol.Mesh
	protocol.Recorder
	kind  string
	front int      // bytes before a vector's words
	words []uint64 // of the vector that is sent next
}

// Send implements protocol.Mesh.
func (f *forgetful) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if h := parts[0]; string(h[68:68+int(h[2])]) == f.kind && len(parts) == 2 {
		parts = [][]byte{h, f.bare(parts[1])}
	}
	return f.Mesh.Send(ctx, to, parts...)
}

// Record implements protocol.Recorder.
func (f *forgetful) Record(e protocol.Entry, payload []byte) error {
	if e.Event == protocol.EventSent && e.Kind == f.kind {
		payload = f.bare(payload)
	}
	return f.Recorder.Record(e, payload)
}

// bare returns a vector on its way without its masks.
func (f *forgetful) bare(payload []byte) []byte {
	out := slices.Clone(payload[:f.front])
	for _, w := range f.words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}
