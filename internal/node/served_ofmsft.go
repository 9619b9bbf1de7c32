package node

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/shelf"
	"github.com/hanse-project/hanse/protocol"
)

// networksKept is how many bytes of networks a client keeps on its disk, of all jobs.
const networksKept = 1 << 30

// networksDir is where in the node's folder.
const networksDir = "networks"

// ofmsftTask is this node's part of an OFMS-FT training.
type ofmsftTask struct {
	node   *Node
	job    *protocol.Job
	params ofmsft.Params
}

// newOFMSFT reads a job's parameters.
func (n *Node) newOFMSFT(job *protocol.Job) (*ofmsftTask, error) {
	if len(job.Servers) != 1 {
		return nil, fmt.Errorf("job %q: servers has %d names, want the one party that holds the models", job.Name, len(job.Servers))
	}
	params, err := ofmsftParams(job)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return &ofmsftTask{node: n, job: job, params: params}, nil
}

// ofmsftParams reads the parameters of a job with one server.
func ofmsftParams(job *protocol.Job) (ofmsft.Params, error) {
	return ofmsft.ParamsOf(with(job.Parameters, "server", job.Servers[0]), job.Parties)
}

// clients names the job's clients, in the order in which its server numbers them.
func (t *ofmsftTask) clients() []string {
	return slices.DeleteFunc(slices.Clone(t.job.Parties), func(name string) bool { return name == t.params.Server })
}

// facts implements task. The server's columns are the inputs of its networks.
func (t *ofmsftTask) facts() (protocol.Facts, error) {
	f, err := t.node.servedFacts(t.job, t.params.Label, nil)
	if err == nil && f.Role == roleServer {
		f.Columns = t.params.Inputs
		_, err = t.node.listed(t.job, t.params.Models)
	}
	return f, err
}

// disclose implements task.
func (t *ofmsftTask) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	for _, f := range all {
		if f.Role == roleClient && f.Columns != t.params.Inputs {
			return nil, nil, fmt.Errorf("job %q: %s has %d input columns, the models have %d inputs", t.job.Name, f.Name, f.Columns, t.params.Inputs)
		}
	}
	return disclosedServed(t.job, all, ofmsft.Disclose(t.params, modeOf(t.job), t.clients()))
}

// run implements task: jobs over clients run by serve and attend.
func (t *ofmsftTask) run(context.Context, *run) (*Report, error) { return nil, errServed }

// serve implements servedTask.
func (t *ofmsftTask) serve(ctx context.Context, r *run, n *serverNetwork) (*Report, error) {
	networks, err := t.node.listed(t.job, t.params.Models)
	if err != nil {
		return nil, err
	}
	part := &ofmsft.ServerPart{
		Params: t.params, Networks: networks, Names: t.clients(), Least: n.least, Network: n, Vault: r.state.vault, Report: r.federated,
	}
	if err := ofmsft.Serve(ctx, part); err != nil {
		return nil, err
	}
	return r.servedReport(), nil
}

// attend implements servedTask.
func (t *ofmsftTask) attend(ctx context.Context, r *run, n *clientNetwork) (*Report, error) {
	rows, err := t.node.openRows(r.state, t.job, t.params.Label, nil)
	if err != nil {
		return nil, err
	}
	cache, err := t.node.networks()
	if err != nil {
		return nil, joined(err, rows.close())
	}
	part := &ofmsft.ClientPart{
		Name: t.node.name(), Params: t.params, Clients: n.addends, Network: n, Rows: rows, Vault: r.state.vault, Cache: cache,
		Columns: rows.stream.Columns(), Report: r.federated,
	}
	return r.attended(joined(ofmsft.Attend(ctx, part), rows.close()))
}

// networks returns where this node keeps networks that travelled.
func (n *Node) networks() (*shelf.Shelf, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shelf == nil {
		s, err := shelf.Open(filepath.Join(n.config.Dir, networksDir), networksKept)
		if err != nil {
			return nil, err
		}
		n.shelf = s
	}
	return n.shelf, nil
}
