package pofmkl

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Algorithm is POF-MKL, as nodes and auditors know it.
func Algorithm() *federated.Algorithm {
	return &federated.Algorithm{
		Name: contract.POFMKL, Private: "the kernels' weights are", Alone: true,
		Read: func(job *contract.Job, _ int) (federated.Job, error) {
			j, err := newJob(job)
			return j, err
		},
		Lens:  newLens,
		Given: func(job *contract.Job) bool { return job.Parameters["weights_from"] != nil },
		// Warnings holds the step against the job's numbers.
		Warnings: func(job *contract.Job) []string {
			j, err := newJob(job)
			if err != nil {
				return nil // it is no contract
			}
			if w := j.params.StepWarning(len(job.Parties) - len(job.Servers)); w != "" {
				return []string{w}
			}
			return nil
		},
		// Summed is how many clients move a kernel.
		Summed: func(job *contract.Job, server string) (clients float64, beside string) {
			j, err := newJob(job)
			if err != nil {
				return 0, "" // it is no contract
			}
			if !j.params.CommonBin {
				beside = " A part of a total may be one client's, without its name."
			}
			return j.params.Contributors(len(job.ClientsOf(job.Index(server)))), beside
		},
	}
}

// Job is a job of POF-MKL. It implements federated.Job.
type Job struct {
	params Params
	job    *contract.Job
}

// newJob reads the parameters of a job with one server.
func newJob(job *contract.Job) (*Job, error) {
	if len(job.Servers) != 1 {
		return nil, fmt.Errorf("servers has %d names, want the one party that holds the model", len(job.Servers))
	}
	own := map[string]any{"server": job.Servers[0]}
	params, err := ParamsOf(parameters.With(job.Parameters, own), job.Parties)
	return &Job{params, job}, err
}

// Stream implements federated.Job.
func (j *Job) Stream() (label string, inputs []string) { return j.params.Label, nil }

// Brings implements federated.Job: the server has no table.
func (j *Job) Brings(federated.Folder) (columns int, err error) { return 0, nil }

// Disclose implements federated.Job.
func (j *Job) Disclose([]contract.Facts) (federated.Disclosure, error) {
	return Disclose(j.params, federated.ModeOf(j.job), j.job.ClientNames(j.job.Index(j.params.Server)))
}

// dictionary makes the kernels. The inputs are named by their numbers, since their names are the clients' own.
func (j *Job) dictionary(c *contract.Contract) (*Dictionary, error) {
	var names []string
	client := slices.IndexFunc(c.Parties, func(f contract.Facts) bool { return f.Role == federated.RoleClient })
	for i := 0; client >= 0 && i < c.Parties[client].Columns; i++ {
		names = append(names, fmt.Sprintf("x%d", i+1))
	}
	return NewDictionary(j.params, names)
}

// Serve implements federated.Job.
func (j *Job) Serve(ctx context.Context, s *federated.Session) error {
	d, err := j.dictionary(s.Contract)
	if err != nil {
		return err
	}
	return Serve(ctx, &ServerPart{Dictionary: d, Network: s.Server, Vault: s.Vault, Report: s.Report})
}

// RunClient implements federated.Job.
func (j *Job) RunClient(ctx context.Context, s *federated.Session) error {
	d, err := j.dictionary(s.Contract)
	if err != nil {
		return err
	}
	var weights []byte // what this client kept of the earlier job that the parameters name, if they do
	if j.params.WeightsFrom != "" {
		var h keys.Hash
		if err = h.UnmarshalText([]byte(j.params.WeightsFrom)); err == nil {
			weights, err = s.Earlier(h)
		}
		if err != nil {
			return fmt.Errorf("weights_from: %w", err)
		}
	}
	rows, err := s.Rows(j.Stream())
	if err != nil {
		return err
	}
	return RunClient(ctx, &ClientPart{
		Name: j.job.Parties[s.Self], Dictionary: d, Clients: len(j.job.Parties) - 1, Network: s.Client, Rows: rows,
		Vault: s.Vault, Columns: rows.Columns(), Weights: weights, Report: s.Report,
	})
}

// Model implements federated.Job.
func (j *Job) Model(c *contract.Contract, self int, data []byte) (federated.Model, error) {
	d, err := j.dictionary(c)
	if err != nil {
		return nil, err
	}
	return DecodeModel(d, j.job.Serves(self), data)
}
