package clients

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// pofmklTask is this node's part of a POF-MKL training.
type pofmklTask struct {
	member *Jobs
	job    *contract.Job
	params pofmkl.Params
}

// newPOFMKL reads a job's parameters.
func newPOFMKL(j *Jobs, job *contract.Job) (part, error) {
	if len(job.Servers) != 1 {
		return nil, fmt.Errorf("job %q: servers has %d names, want the one party that holds the model", job.Name,
			len(job.Servers))
	}
	params, err := pofmklParams(job)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return &pofmklTask{member: j, job: job, params: params}, nil
}

// pofmklParams reads the parameters of a job with one server.
func pofmklParams(job *contract.Job) (pofmkl.Params, error) {
	return pofmkl.ParamsOf(with(job.Parameters, "server", job.Servers[0]), job.Parties)
}

// with returns parameters with a value of the node's own, whatever a job's text says of it.
func with(parameters map[string]any, name string, value any) map[string]any {
	all := maps.Clone(parameters)
	if all == nil {
		all = make(map[string]any)
	}
	all[name] = value
	return all
}

// Facts implements jobs.Task.
func (t *pofmklTask) Facts() (contract.Facts, error) {
	return t.member.facts(t.job, t.params.Label, nil)
}

// Disclose implements jobs.Task.
func (t *pofmklTask) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	var clients []string
	for _, name := range t.job.Parties {
		if !slices.Contains(t.job.Servers, name) {
			clients = append(clients, name)
		}
	}
	d, err := pofmkl.Disclose(t.params, modeOf(t.job), clients)
	return disclosed(t.job, all, d, err)
}

// numbered names the inputs of a job over clients by their number, since their names are the clients' own.
func numbered(c *contract.Contract) []string {
	var names []string
	for _, f := range c.Parties {
		if f.Role == roleClient {
			for i := range f.Columns {
				names = append(names, fmt.Sprintf("x%d", i+1))
			}
			break
		}
	}
	return names
}

// serve implements part.
func (t *pofmklTask) serve(ctx context.Context, r *session, n *serverNetwork) (*jobs.Report, error) {
	d, err := pofmkl.NewDictionary(t.params, numbered(r.Contract()))
	if err != nil {
		return nil, err
	}
	part := &pofmkl.ServerPart{Dictionary: d, Network: n, Vault: r.Vault, Report: r.progress}
	if err := pofmkl.Serve(ctx, part); err != nil {
		return nil, err
	}
	return r.report(), nil
}

// runClient implements part.
func (t *pofmklTask) runClient(ctx context.Context, r *session, n *clientNetwork) (*jobs.Report, error) {
	d, err := pofmkl.NewDictionary(t.params, numbered(r.Contract()))
	if err != nil {
		return nil, err
	}
	var weights []byte // what this client kept of the earlier job that the parameters name, if they do
	if t.params.WeightsFrom != "" {
		var h keys.Hash
		if err := h.UnmarshalText([]byte(t.params.WeightsFrom)); err != nil {
			return nil, fmt.Errorf("weights_from: %w", err)
		}
		v, ok := t.member.Folder(h)
		if !ok {
			return nil, fmt.Errorf("weights_from: this node has no job with contract %s", h.Short())
		}
		if weights, err = v.Load(ClientFile); err != nil {
			return nil, err
		}
	}
	rows, err := t.member.openRows(r, t.params.Label, nil)
	if err != nil {
		return nil, err
	}
	part := &pofmkl.ClientPart{
		Name: t.member.Name(), Dictionary: d, Clients: n.addends, Network: n, Rows: rows, Vault: r.Vault,
		Columns: rows.stream.Columns(), Weights: weights, Report: r.progress,
	}
	return r.attended(joined(pofmkl.RunClient(ctx, part), rows.close()))
}

// pofmklModel reads the model of a party.
func pofmklModel(c *contract.Contract, self int, data []byte) (federated.Model, error) {
	params, err := pofmklParams(c.Job)
	if err != nil {
		return nil, err
	}
	d, err := pofmkl.NewDictionary(params, numbered(c))
	if err != nil {
		return nil, err
	}
	return pofmkl.DecodeModel(d, c.Job.Serves(self), data)
}

// pofmklWarnings holds the step against the job's numbers.
func pofmklWarnings(job *contract.Job) []string {
	if len(job.Servers) != 1 {
		return nil // it is no contract
	}
	params, err := pofmklParams(job)
	if err != nil {
		return nil // it is no contract
	}
	if w := params.StepWarning(len(job.Parties) - len(job.Servers)); w != "" {
		return []string{w}
	}
	return nil
}

// pofmklSummed is how many clients move a kernel.
func pofmklSummed(job *contract.Job, server string) (clients float64, beside string) {
	params, err := pofmklParams(job)
	if err != nil {
		return 0, "" // it is no contract
	}
	if !params.CommonBin {
		beside = " A part of a total may be one client's, without its name."
	}
	return params.Contributors(len(job.ClientsOf(job.Index(server)))), beside
}
