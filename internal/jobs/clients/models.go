package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/protocol/contract"
)

// networksOf reads the networks that this node holds for a job: its table is a folder of them, and they come
// in the order of their names.
func (j *Jobs) networksOf(job *contract.Job) (names []string, networks []*nn.Network, err error) {
	spec, ok := j.Tables.Specs[job.Table]
	if !ok {
		return nil, nil, fmt.Errorf("this node has no table %q; it has %s: start it with --data %s=FOLDER, a folder of "+
			"networks", job.Table, j.Tables.Names(), job.Table)
	}
	entries, err := os.ReadDir(spec.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("table %q, which for a server is a folder of networks: %w", job.Table, err)
	}
	for _, e := range entries { // sorted by name
		name, ok := strings.CutSuffix(e.Name(), nn.FileSuffix)
		if !ok {
			continue
		}
		network, err := nn.ReadFile(filepath.Join(spec.Path, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		names, networks = append(names, name), append(networks, network)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s has no networks, want files *%s", spec.Path, nn.FileSuffix)
	}
	return names, networks, nil
}

// listed returns the networks that a job lists, in its order.
func (j *Jobs) listed(job *contract.Job, models []ofmsft.Model) ([]*nn.Network, error) {
	names, all, err := j.networksOf(job)
	if err != nil {
		return nil, err
	}
	var networks []*nn.Network
	for _, m := range models {
		k := slices.Index(names, m.Name)
		if k < 0 {
			return nil, fmt.Errorf("table %q has no network %q, which the job lists", job.Table, m.Name)
		}
		networks = append(networks, all[k])
	}
	return networks, nil
}

// describeModels completes a job with what its server's networks are: their names, sizes, costs and hashes.
// Where the proposer lists some by name, with costs of their own if need be, these alone take part.
func describeModels(j *Jobs, job *contract.Job) error {
	names, networks, err := j.networksOf(job)
	if err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	params, err := ofmsft.Params{}.WithNetworks(names, networks)
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
	for _, table := range listed {
		k := slices.IndexFunc(all, func(m ofmsft.Model) bool { return m.Name == table["name"] })
		if k < 0 {
			return fmt.Errorf("job %q: models: table %q has no network %q; it has %s", job.Name, job.Table, table["name"],
				strings.Join(names, ", "))
		}
		table["size"], table["hash"] = all[k].Size, all[k].Hash.String()
	}
	job.Parameters = with(with(job.Parameters, "models", listed), "inputs", params.Inputs)
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
