package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// serverFile is where the algorithms over clients keep a server's state, in a job's vault.
const serverFile = "server"

// cohortFile is where a client keeps what it remembers of a job's sums, in the job's vault.
const cohortFile = "cohort"

// The roles of a party in a job over clients.
const (
	roleServer = "server"
	roleClient = "client"
)

// servedFacts says what a party brings to a job over clients: a server nothing, a client the names of
// its stream's columns.
func (n *Node) servedFacts(job *protocol.Job, label string, columns []string) (protocol.Facts, error) {
	f := protocol.Facts{Name: n.name(), ID: n.config.Key.ID(), Role: roleServer}
	if slices.Contains(job.Servers, n.name()) {
		return f, nil
	}
	s, err := n.openStream(job, label, columns)
	if err != nil {
		return f, err
	}
	defer n.closeStream(s)
	f.Role, f.Columns, f.Header = roleClient, len(s.Columns()), columnDigest(s.Columns())
	return f, nil
}

// columnDigest is the digest of columns' names in their order.
func columnDigest(names []string) keys.Hash {
	var parts [][]byte
	for _, name := range names {
		parts = append(parts, []byte(name))
	}
	return keys.HashOf("hanse columns v1", parts...)
}

// openStream opens a job's stream at this client. Standard input is opened once in a node's life.
func (n *Node) openStream(job *protocol.Job, label string, columns []string) (*stream.Stream, error) {
	spec, ok := n.tables.specs[job.Table]
	if !ok {
		return nil, faultf(codeTable, "this node has no table %q; it has %s: start it with --data %s=FILE, or %s=- for "+
			"standard input", job.Table, n.tables.names(), job.Table, job.Table)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if spec.Path == stream.Stdin && n.input != nil {
		return n.input, nil
	}
	s, err := stream.Open(spec.Path, label, columns)
	err = orElse(codeTable, err)
	if err == nil && spec.Path == stream.Stdin {
		n.input = s
	}
	return s, err
}

// closeStream closes a stream that is not the node's standard input.
func (n *Node) closeStream(s *stream.Stream) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s == n.input {
		return nil
	}
	return s.Close()
}

// servedOperations lists what the parties of a job over clients do together: the sums of every server, and
// what more the algorithm sends.
func servedOperations(job *protocol.Job, all []protocol.Facts, sums []federated.Summed, more []protocol.Operation) ([]protocol.Operation, error) {
	list := slices.Clone(more)
	c := &protocol.Contract{Job: job, Parties: all}
	for _, s := range sums {
		name := s.Server
		spec, err := specOf(c, job.Index(name), 0)
		if err != nil {
			return nil, err
		}
		v, _, err := sumWords(s.Sum, s.Clients)
		if err != nil {
			return nil, err
		}
		flows, err := spec.Flows(len(job.Parties), s.Clients, v, s.Times)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			list = append(list, operationOf(f, s.Server, s.Sum, s.Times))
		}
	}
	for _, name := range job.Servers {
		list = append(list, attendance(name, !slices.ContainsFunc(sums, func(s federated.Summed) bool { return s.Server == name }))...)
	}
	return protocol.SessionOperations(len(all), list), nil
}

// mixedOperations lists what passes between a server and those whose vectors it sums: what the sums of clients have,
// and what is told before each.
func mixedOperations(job *protocol.Job, m *federated.Mixed, parties int) ([]protocol.Operation, error) {
	members := membersOf(job, m)
	spec, err := mixingSpec(job, job.Index(m.Server), members)
	if err != nil {
		return nil, err
	}
	v, _, err := sumWords(m.Sum, len(members))
	if err != nil {
		return nil, err
	}
	flows, err := spec.Flows(parties, len(members), v, m.Times)
	if err != nil {
		return nil, err
	}
	list := []protocol.Operation{{
		Kind: m.Told, Collective: protocol.CollectiveDownload, Root: m.Server, Class: protocol.ClassControl.String(),
		Encoding: protocol.Bytes.String(), Count: 2*m.Times + 1, Bytes: m.Times*int64(len(encodeThere(0, members))+roundSize) + roundSize,
	}}
	for _, f := range flows {
		list = append(list, operationOf(f, m.Server, m.Sum, m.Times))
	}
	for i := range list {
		for _, party := range members {
			list[i].Among = append(list[i].Among, job.Parties[party])
		}
	}
	return list, nil
}

// attendance lists what passes between a server and its clients beside the algorithm's messages: how a session
// ends and, where there are no sums to list it, every client's session key.
func attendance(server string, alone bool) []protocol.Operation {
	list := []protocol.Operation{
		{Kind: kindFinished, Collective: protocol.CollectiveDownload}, {Kind: kindPaused, Collective: protocol.CollectiveDownload},
	}
	if alone {
		list = append(list, protocol.Operation{Kind: cohort.KindKey, Collective: protocol.CollectiveUpload, Bytes: protocol.SessionKeySize})
	}
	for i := range list {
		list[i].Root, list[i].Class, list[i].Encoding, list[i].Count = server, protocol.ClassControl.String(), protocol.Bytes.String(), 1
	}
	return list
}

// operationOf makes a contract's line of a flow of so many sums at a server.
func operationOf(f cohort.Flow, server string, sum federated.Sum, times int64) protocol.Operation {
	o := protocol.Operation{
		Kind: f.Kind, Collective: protocol.CollectiveDownload, Root: server, Class: f.Class.String(), Encoding: protocol.Bytes.String(),
		Count: f.Count, Bytes: f.Bytes,
	}
	if f.Up {
		o.Collective = protocol.CollectiveUpload
	}
	if f.Kind == sum.Kind {
		o.Shape = []int64{times, int64(sum.N)}
	}
	return o
}

// The algorithms over clients' streams, as jobs name them.
const (
	algorithmPOFMKL = "pofmkl"
	algorithmGFML   = "gfml"
	algorithmOFMSFT = "ofmsft"
)

// errServed says that a job over clients was run like one over features.
var errServed = errors.New("a job over clients runs between a server and its clients")

// newServed returns this node's part of a job over clients.
func (n *Node) newServed(job *protocol.Job) (task, error) {
	switch {
	case !slices.Contains([]string{algorithmPOFMKL, algorithmGFML, algorithmOFMSFT}, job.Algorithm):
		return nil, fmt.Errorf("job %q: algorithm is %q, this version runs \"fdskl\", \"pofmkl\", \"gfml\" and \"ofmsft\"", job.Name, job.Algorithm)
	case job.Task != protocol.TaskTrain:
		return nil, fmt.Errorf("job %q: task is %q, want %q: %s predicts while it learns", job.Name, job.Task, protocol.TaskTrain, job.Algorithm)
	case len(job.Servers) == 0:
		return nil, fmt.Errorf("job %q: servers is empty, want the parties that aggregate", job.Name)
	case job.Privacy == "sealed":
		return nil, fmt.Errorf("job %q: privacy \"sealed\" is not for jobs over clients, want \"masked\" or \"published\"", job.Name)
	case !slices.Contains(job.Servers, cmp.Or(job.Proposer, job.Servers[0])):
		return nil, fmt.Errorf("job %q: %s proposes it and is no server: a server does", job.Name, job.Proposer)
	}
	switch job.Algorithm {
	case algorithmGFML:
		return n.newGFML(job)
	case algorithmOFMSFT:
		return n.newOFMSFT(job)
	}
	return n.newPOFMKL(job)
}

// modeOf is how the algorithms over clients name a job's protection.
func modeOf(job *protocol.Job) string {
	if job.Privacy == "masked" && job.Aggregation == protocol.AggregateHE {
		return "he"
	}
	return job.Privacy
}

// disclosedServed converts a disclosure to what a contract holds.
func disclosedServed(job *protocol.Job, all []protocol.Facts, d federated.Disclosure) ([]protocol.Opening, []protocol.Operation, error) {
	var openings []protocol.Opening
	for _, o := range d.Openings {
		openings = append(openings, protocol.Opening(o))
	}
	var more []protocol.Operation
	for _, t := range d.Told {
		more = append(more, protocol.Operation{
			Kind: t.Kind, Collective: protocol.CollectiveDownload, Root: t.Server, Class: protocol.ClassOpening.String(), Encoding: protocol.Bytes.String(),
			Count: t.Times, Bytes: t.Bytes + t.Times*roundSize,
		})
	}
	for _, a := range d.Answers {
		more = append(more, protocol.Operation{
			Kind: a.Kind, Collective: protocol.CollectiveUpload, Root: a.Server, Class: protocol.ClassOpening.String(), Encoding: protocol.Bytes.String(),
			Count: a.Times, Bytes: a.Bytes,
		})
	}
	for _, e := range d.Between {
		more = append(more, protocol.Operation{
			Kind: e.Kind, Collective: protocol.CollectiveServers, Class: protocol.ClassOpening.String(), Encoding: protocol.Bytes.String(),
			Count: e.Times, Bytes: e.Bytes + e.Times*roundSize,
		})
	}
	for i := range d.Mixed {
		list, err := mixedOperations(job, &d.Mixed[i], len(all))
		if err != nil {
			return nil, nil, err
		}
		more = append(more, list...)
	}
	operations, err := servedOperations(job, all, d.Sums, more)
	return openings, operations, err
}

// joined is errors.Join that keeps a single error as it is.
func joined(first, second error) error {
	if second == nil {
		return first
	}
	return errors.Join(first, second)
}
