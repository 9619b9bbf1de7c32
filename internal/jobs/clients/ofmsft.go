package clients

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/cache"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ofmsftTask is this node's part of an OFMS-FT training.
type ofmsftTask struct {
	member *Jobs
	job    *contract.Job
	params ofmsft.Params
}

// newOFMSFT reads a job's parameters.
func newOFMSFT(j *Jobs, job *contract.Job) (part, error) {
	if len(job.Servers) != 1 {
		return nil, fmt.Errorf("job %q: servers has %d names, want the one party that holds the models", job.Name,
			len(job.Servers))
	}
	params, err := ofmsftParams(job)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return &ofmsftTask{member: j, job: job, params: params}, nil
}

// ofmsftParams reads the parameters of a job with one server.
func ofmsftParams(job *contract.Job) (ofmsft.Params, error) {
	return ofmsft.ParamsOf(with(job.Parameters, "server", job.Servers[0]), job.Parties)
}

// clients names the job's clients, in the order in which its server numbers them.
func (t *ofmsftTask) clients() []string {
	return slices.DeleteFunc(slices.Clone(t.job.Parties), func(name string) bool { return name == t.params.Server })
}

// Facts implements jobs.Task. The server's columns are the inputs of its networks.
func (t *ofmsftTask) Facts() (contract.Facts, error) {
	f, err := t.member.facts(t.job, t.params.Label, nil)
	if err == nil && f.Role == roleServer {
		f.Columns = t.params.Inputs
		_, err = t.member.listed(t.job, t.params.Models)
	}
	return f, err
}

// Disclose implements jobs.Task.
func (t *ofmsftTask) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	for _, f := range all {
		if f.Role == roleClient && f.Columns != t.params.Inputs {
			return nil, nil, fmt.Errorf("job %q: %s has %d input columns, the models have %d inputs", t.job.Name, f.Name,
				f.Columns, t.params.Inputs)
		}
	}
	d, err := ofmsft.Disclose(t.params, modeOf(t.job), t.clients())
	return disclosed(t.job, all, d, err)
}

// serve implements part.
func (t *ofmsftTask) serve(ctx context.Context, r *session, n *serverNetwork) (*jobs.Report, error) {
	networks, err := t.member.listed(t.job, t.params.Models)
	if err != nil {
		return nil, err
	}
	part := &ofmsft.ServerPart{
		Params: t.params, Networks: networks, Names: t.clients(), Least: n.least, Network: n,
		Vault: r.Vault, Report: r.progress,
	}
	if err := ofmsft.Serve(ctx, part); err != nil {
		return nil, err
	}
	return r.report(), nil
}

// runClient implements part.
func (t *ofmsftTask) runClient(ctx context.Context, r *session, n *clientNetwork) (*jobs.Report, error) {
	rows, err := t.member.openRows(r, t.params.Label, nil)
	if err != nil {
		return nil, err
	}
	cache, err := t.member.openNetworks()
	if err != nil {
		return nil, joined(err, rows.close())
	}
	part := &ofmsft.ClientPart{
		Name: t.member.Name(), Params: t.params, Clients: n.addends, Network: n, Rows: rows, Vault: r.Vault, Cache: cache,
		Columns: rows.stream.Columns(), Report: r.progress,
	}
	return r.attended(joined(ofmsft.RunClient(ctx, part), rows.close()))
}

// openNetworks returns where this node keeps networks that travelled.
func (j *Jobs) openNetworks() (*cache.Cache, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.networks == nil {
		j.networks, err = cache.Open(filepath.Join(j.Dir, networksDir), networksKept)
	}
	return j.networks, err
}

// ofmsftModel reads the model of a party.
func ofmsftModel(c *contract.Contract, self int, data []byte) (federated.Model, error) {
	params, err := ofmsftParams(c.Job)
	if err != nil {
		return nil, err
	}
	return ofmsft.DecodeMixture(params, c.Job.Serves(self), data)
}

// ofmsftSummed is how many clients there are: how many of them store a network turns out in each round.
func ofmsftSummed(job *contract.Job, server string) (clients float64, beside string) {
	return float64(len(job.ClientsOf(job.Index(server)))),
		" What in a total one row alone has moved shows that row, without your name."
}
