package gfml

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Algorithm is GFML, as nodes and auditors know it.
func Algorithm() *federated.Algorithm {
	return &federated.Algorithm{
		Name: contract.GFML, Private: "the numbers in theta are", Uploaded: true, Picks: true,
		Read: func(job *contract.Job, least int) (federated.Job, error) {
			plan, err := planOf(job)
			if err == nil && least > 0 {
				err = plan.CheckPrivacy(federated.ModeOf(job), least)
			}
			return &Job{plan, job, least}, err
		},
		Lens: newLens,
		// Warnings holds the learning rate against what features of any rows have in common.
		Warnings: func(job *contract.Job) (list []string) {
			plan, err := planOf(job)
			if err != nil {
				return nil // it is no contract
			}
			for _, w := range plan.PublicWarnings() {
				list = append(list, fmt.Sprintf("%v, whatever the rows are", w))
			}
			return list
		},
		// Summed is how many clients a server chooses.
		Summed: func(job *contract.Job, server string) (clients float64, beside string) {
			plan, err := planOf(job)
			if err != nil {
				return 0, "" // it is no contract
			}
			return float64(min(plan.params.Participants, len(job.ClientsOf(job.Index(server))))), ""
		},
	}
}

// Job is a job of GFML. It implements federated.Job.
type Job struct {
	plan  *Plan
	job   *contract.Job
	least int // the fewest clients in a total that opens
}

// planOf derives the plan of a job. Who serves whom follows from the job.
func planOf(job *contract.Job) (*Plan, error) {
	clients := make(map[string][]string)
	for _, name := range job.Servers {
		clients[name] = job.ClientNames(job.Index(name))
	}
	own := map[string]any{"servers": job.Servers, "clients": clients}
	params, err := ParamsOf(parameters.With(job.Parameters, own), job.Parties)
	if err != nil {
		return nil, err
	}
	return NewPlan(params, job.Parties)
}

// Stream implements federated.Job.
func (j *Job) Stream() (label string, inputs []string) {
	return j.plan.params.Label, j.plan.params.Columns
}

// Brings implements federated.Job: servers have no tables.
func (j *Job) Brings(federated.Folder) (columns int, err error) { return 0, nil }

// Disclose implements federated.Job.
func (j *Job) Disclose([]contract.Facts) (federated.Disclosure, error) {
	return j.plan.Disclose(federated.ModeOf(j.job))
}

// places returns the number of a party's server, and its own there; -1 of a server.
func (j *Job) places(self int) (server, client int) {
	at := j.job.ServerOf(self)
	return slices.Index(j.job.Servers, j.job.Parties[at]), slices.Index(j.job.ClientsOf(at), self)
}

// Serve implements federated.Job.
func (j *Job) Serve(ctx context.Context, s *federated.Session) error {
	server, _ := j.places(s.Self)
	part := &ServerPart{
		Plan: j.plan, Server: server, Privacy: federated.ModeOf(j.job), Least: j.least, Network: s.Server,
		Neighbours: s.Server, Vault: s.Vault, Report: s.Report, Warn: s.Warn,
	}
	d, err := j.Disclose(nil)
	if err == nil && len(d.Mixed) > 0 {
		part.Mixing, err = s.Server.Mixing(ctx, d.Mixed)
	}
	if err != nil {
		return err
	}
	return Serve(ctx, part)
}

// RunClient implements federated.Job.
func (j *Job) RunClient(ctx context.Context, s *federated.Session) error {
	rows, err := s.Rows(j.Stream())
	if err != nil {
		return err
	}
	ahead, err := rows.Ahead(ctx, j.plan.RowsAhead())
	if err != nil {
		return err
	}
	server, client := j.places(s.Self)
	return RunClient(ctx, &ClientPart{
		Plan: j.plan, Server: server, Client: client, Privacy: federated.ModeOf(j.job), Least: j.least,
		Network: s.Client, Rows: rows, Vault: s.Vault, Ahead: ahead, Report: s.Report, Warn: s.Warn,
	})
}

// Model implements federated.Job.
func (j *Job) Model(_ *contract.Contract, self int, data []byte) (federated.Model, error) {
	server, client := j.places(self)
	if j.job.Serves(self) {
		return j.plan.DecodeServerModel(server, data)
	}
	return j.plan.DecodeModel(server, client, data)
}
