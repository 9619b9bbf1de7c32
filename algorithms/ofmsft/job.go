package ofmsft

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Algorithm is OFMS-FT, as nodes and auditors know it.
func Algorithm() *federated.Algorithm {
	return &federated.Algorithm{
		Name: contract.OFMSFT, Complete: complete, Private: "the networks' weights and shares are", Picks: true, Alone: true,
		Asked: KindRound, Answered: KindChoice,
		Messages: []string{KindRound, KindChoice, KindModel, KindTurn, KindStep},
		Beside: "each client's choice of models goes to the server by itself, and the lines on who learned what say what " +
			"follows",
		Read: func(job *contract.Job, _ int) (federated.Job, error) {
			j, err := newJob(job)
			return j, err
		},
		Lens:  newLens,
		Given: func(*contract.Job) bool { return true },
		// Summed is how many clients there are: how many of them store a network turns out in each round.
		Summed: func(job *contract.Job, server string) (clients float64, beside string) {
			return float64(len(job.ClientsOf(job.Index(server)))),
				" What in a total one row alone has moved shows that row, without your name."
		},
	}
}

// Job is a job of OFMS-FT. It implements federated.Job.
type Job struct {
	params Params
	job    *contract.Job
}

// newJob reads the parameters of a job with one server.
func newJob(job *contract.Job) (*Job, error) {
	if len(job.Servers) != 1 {
		return nil, fmt.Errorf("servers has %d names, want the one party that holds the models", len(job.Servers))
	}
	own := map[string]any{"server": job.Servers[0]}
	params, err := ParamsOf(parameters.With(job.Parameters, own), job.Parties)
	return &Job{params, job}, err
}

// Stream implements federated.Job.
func (j *Job) Stream() (label string, inputs []string) { return j.params.Label, nil }

// Brings implements federated.Job: the server's columns are the inputs of its networks.
func (j *Job) Brings(table federated.Folder) (columns int, err error) {
	_, err = j.listed(table)
	return j.params.Inputs, err
}

// Disclose implements federated.Job.
func (j *Job) Disclose(all []contract.Facts) (federated.Disclosure, error) {
	for _, f := range all {
		if f.Role == federated.RoleClient && f.Columns != j.params.Inputs {
			return federated.Disclosure{}, fmt.Errorf("job %q: %s has %d input columns, the models have %d inputs", j.job.Name,
				f.Name, f.Columns, j.params.Inputs)
		}
	}
	return Disclose(j.params, federated.ModeOf(j.job), j.job.ClientNames(j.job.Index(j.params.Server)))
}

// Serve implements federated.Job.
func (j *Job) Serve(ctx context.Context, s *federated.Session) error {
	networks, err := j.listed(s.Table)
	if err != nil {
		return err
	}
	return Serve(ctx, &ServerPart{
		Params: j.params, Networks: networks, Names: j.job.ClientNames(s.Self), Least: s.Least, Network: s.Server,
		Vault: s.Vault, Report: s.Report,
	})
}

// RunClient implements federated.Job.
func (j *Job) RunClient(ctx context.Context, s *federated.Session) error {
	cache, err := s.Cache()
	if err != nil {
		return err
	}
	rows, err := s.Rows(j.Stream())
	if err != nil {
		return err
	}
	return RunClient(ctx, &ClientPart{
		Name: j.job.Parties[s.Self], Params: j.params, Clients: len(j.job.Parties) - 1, Network: s.Client, Rows: rows,
		Vault: s.Vault, Cache: cache, Columns: rows.Columns(), Report: s.Report,
	})
}

// Model implements federated.Job.
func (j *Job) Model(_ *contract.Contract, self int, data []byte) (federated.Model, error) {
	return DecodeMixture(j.params, j.job.Serves(self), data)
}

// networksOf reads the networks that a server's node holds for a job: its table is a folder of them, and they come
// in the order of their names.
func networksOf(job *contract.Job, table federated.Folder) (names []string, networks []*nn.Network, err error) {
	folder, err := table(job, "networks")
	if err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("table %q, which for a server is a folder of networks: %w", job.Table, err)
	}
	for _, e := range entries { // sorted by name
		name, ok := strings.CutSuffix(e.Name(), nn.FileSuffix)
		if !ok {
			continue
		}
		network, err := nn.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		names, networks = append(names, name), append(networks, network)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s has no networks, want files *%s", folder, nn.FileSuffix)
	}
	return names, networks, nil
}

// listed returns the networks that a job lists, in its order.
func (j *Job) listed(table federated.Folder) ([]*nn.Network, error) {
	names, all, err := networksOf(j.job, table)
	if err != nil {
		return nil, err
	}
	var networks []*nn.Network
	for _, m := range j.params.Models {
		k := slices.Index(names, m.Name)
		if k < 0 {
			return nil, fmt.Errorf("table %q has no network %q, which the job lists", j.job.Table, m.Name)
		}
		networks = append(networks, all[k])
	}
	return networks, nil
}

// complete completes a job with what its server's networks are: their names, sizes, costs and hashes.
// Where the proposer lists some by name, with costs of their own if need be, these alone take part.
func complete(job *contract.Job, table federated.Folder) error {
	names, networks, err := networksOf(job, table)
	if err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	params, err := Params{}.WithNetworks(names, networks)
	if err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	all := params.Models
	listed, err := listedModels(job)
	if err != nil {
		return fmt.Errorf("job %q: models: %w", job.Name, err)
	}
	if listed == nil {
		for _, m := range all {
			listed = append(listed, map[string]any{"name": m.Name})
		}
	}
	for _, one := range listed {
		k := slices.IndexFunc(all, func(m Model) bool { return m.Name == one["name"] })
		if k < 0 {
			return fmt.Errorf("job %q: models: table %q has no network %q; it has %s", job.Name, job.Table, one["name"],
				strings.Join(names, ", "))
		}
		one["size"], one["hash"] = all[k].Size, all[k].Hash.String()
	}
	job.Parameters = parameters.With(job.Parameters, map[string]any{"models": listed, "inputs": params.Inputs})
	if params.Classes > 0 {
		job.Parameters["classes"] = params.Classes
	}
	return nil
}

// listedModels returns the tables of the models that a job's text lists, nil when it lists none.
func listedModels(job *contract.Job) ([]map[string]any, error) {
	switch v := job.Parameters["models"].(type) {
	case nil:
		return nil, nil
	case []map[string]any:
		return slices.Clone(v), nil
	case []any:
		var tables []map[string]any
		for k, one := range v {
			table, ok := one.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("model %d is %v, want a table with its name", k+1, one)
			}
			tables = append(tables, table)
		}
		return tables, nil
	default:
		return nil, fmt.Errorf("they are %v, want a list of tables", v)
	}
}
