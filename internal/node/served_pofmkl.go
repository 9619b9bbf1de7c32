package node

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// pofmklTask is this node's part of a POF-MKL training.
type pofmklTask struct {
	node   *Node
	job    *protocol.Job
	params pofmkl.Params
}

// newPOFMKL reads a job's parameters.
func (n *Node) newPOFMKL(job *protocol.Job) (*pofmklTask, error) {
	if len(job.Servers) != 1 {
		return nil, fmt.Errorf("job %q: servers has %d names, want the one party that holds the model", job.Name, len(job.Servers))
	}
	params, err := pofmklParams(job)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return &pofmklTask{node: n, job: job, params: params}, nil
}

// pofmklParams reads the parameters of a job with one server.
func pofmklParams(job *protocol.Job) (pofmkl.Params, error) {
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

// facts implements task.
func (t *pofmklTask) facts() (protocol.Facts, error) {
	return t.node.servedFacts(t.job, t.params.Label, nil)
}

// disclose implements task.
func (t *pofmklTask) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	var clients []string
	for _, name := range t.job.Parties {
		if !slices.Contains(t.job.Servers, name) {
			clients = append(clients, name)
		}
	}
	return disclosedServed(t.job, all, pofmkl.Disclose(t.params, modeOf(t.job), clients))
}

// run implements task: jobs over clients run by serve and attend.
func (t *pofmklTask) run(context.Context, *run) (*Report, error) { return nil, errServed }

// dictionary makes the job's kernels. The names of the inputs are the clients' own, so the server
// numbers them.
func (t *pofmklTask) dictionary(c *protocol.Contract) (*pofmkl.Dictionary, error) {
	return pofmkl.NewDictionary(t.params, numbered(c))
}

// numbered names the inputs of a job over clients, by their number.
func numbered(c *protocol.Contract) []string {
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

// serve implements servedTask.
func (t *pofmklTask) serve(ctx context.Context, r *run, n *serverNetwork) (*Report, error) {
	r.forewarn()
	d, err := t.dictionary(r.state.contract)
	if err != nil {
		return nil, err
	}
	part := &pofmkl.ServerPart{Dictionary: d, Network: n, Vault: r.state.vault, Report: r.federated}
	if err := pofmkl.Serve(ctx, part); err != nil {
		return nil, err
	}
	return r.servedReport(), nil
}

// attend implements servedTask.
func (t *pofmklTask) attend(ctx context.Context, r *run, n *clientNetwork) (*Report, error) {
	r.forewarn()
	d, err := t.dictionary(r.state.contract)
	if err != nil {
		return nil, err
	}
	weights, err := t.weights()
	if err != nil {
		return nil, err
	}
	rows, err := t.node.openRows(r.state, t.job, t.params.Label, nil)
	if err != nil {
		return nil, err
	}
	part := &pofmkl.ClientPart{
		Name: t.node.name(), Dictionary: d, Clients: n.addends, Network: n, Rows: rows, Vault: r.state.vault,
		Columns: rows.stream.Columns(), Weights: weights, Report: r.federated,
	}
	return r.attended(joined(pofmkl.Attend(ctx, part), rows.close()))
}

// weights returns what this client kept of the earlier job that the parameters name, if they do.
func (t *pofmklTask) weights() ([]byte, error) {
	if t.params.WeightsFrom == "" {
		return nil, nil
	}
	var h keys.Hash
	if err := h.UnmarshalText([]byte(t.params.WeightsFrom)); err != nil {
		return nil, fmt.Errorf("weights_from: %w", err)
	}
	s, ok := t.node.job(h)
	if !ok {
		return nil, fmt.Errorf("weights_from: this node has no job with contract %s", h.Short())
	}
	return s.vault.Load("client")
}

// federated passes on how far an algorithm over clients has come.
func (r *run) federated(p federated.Progress) {
	r.mu.Lock()
	r.online = p
	r.mu.Unlock()
	metric := math.NaN()
	if p.Loss > 0 {
		metric = p.Loss
	}
	r.step("round", p.Round, p.Rounds, metric)
}

// attended is a client's report when its part has ended. A link that breaks after the job's end is no error
// of the part: whoever waited for a row then has missed its server's last words.
func (r *run) attended(err error) (*Report, error) {
	if err != nil && (!r.state.isOver() || permanent(err)) {
		return nil, err
	}
	return r.servedReport(), nil
}

// servedReport is this party's report on a job over clients.
func (r *run) servedReport() *Report {
	report := r.report(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	report.Online = &Online{Rounds: r.online.Round, MeanSquaredError: known(r.online.Loss), Regret: known(r.online.Regret), Clients: r.online.Clients}
	return report
}
