package clients

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// gfmlTask is this node's part of a GFML training.
type gfmlTask struct {
	member *Jobs
	job    *contract.Job
	plan   *gfml.Plan
}

// newGFML reads a job's parameters.
func newGFML(j *Jobs, job *contract.Job) (part, error) {
	plan, err := gfmlPlan(job)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	t := &gfmlTask{member: j, job: job, plan: plan}
	if err := t.plan.CheckPrivacy(modeOf(job), t.least()); err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return t, nil
}

// gfmlPlan derives the plan of a job. Who serves whom follows from the job.
func gfmlPlan(job *contract.Job) (*gfml.Plan, error) {
	clients := make(map[string][]string)
	for _, name := range job.Servers {
		for _, i := range job.ClientsOf(job.Index(name)) {
			clients[name] = append(clients[name], job.Parties[i])
		}
	}
	params, err := gfml.ParamsOf(with(with(job.Parameters, "servers", job.Servers), "clients", clients), job.Parties)
	if err != nil {
		return nil, err
	}
	return gfml.NewPlan(params, job.Parties)
}

// least is the fewest clients in a total that opens.
func (t *gfmlTask) least() int {
	if t.job.Privacy == keys.PrivacyPublished {
		return 1
	}
	return max(t.job.MinContributors, t.member.Charter().Rules.MinContributors)
}

// Facts implements jobs.Task.
func (t *gfmlTask) Facts() (contract.Facts, error) {
	return t.member.facts(t.job, t.plan.Params().Label, t.plan.Params().Columns)
}

// Disclose implements jobs.Task.
func (t *gfmlTask) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	d, err := t.plan.Disclose(modeOf(t.job))
	return disclosed(t.job, all, d, err)
}

// serve implements part.
func (t *gfmlTask) serve(ctx context.Context, r *session, n *serverNetwork) (*jobs.Report, error) {
	n.servers = t.job.Servers
	part := &gfml.ServerPart{
		Plan: t.plan, Server: slices.Index(t.job.Servers, t.member.Name()), Privacy: modeOf(t.job), Least: t.least(),
		Network: n, Neighbours: n, Vault: r.Vault, Report: r.progress, Warn: r.Warn,
	}
	d, err := t.plan.Disclose(modeOf(t.job))
	if err != nil {
		return nil, err
	}
	if len(d.Mixed) > 0 {
		m, err := n.newMixing(ctx, t.job, d.Mixed)
		if err != nil {
			return nil, err
		}
		defer m.box.Close()
		part.Mixing = m
	}
	if err := gfml.Serve(ctx, part); err != nil {
		return nil, err
	}
	return r.report(), nil
}

// runClient implements part.
func (t *gfmlTask) runClient(ctx context.Context, r *session, n *clientNetwork) (*jobs.Report, error) {
	rows, err := t.member.openRows(r, t.plan.Params().Label, t.plan.Params().Columns)
	if err != nil {
		return nil, err
	}
	ahead, err := rows.stream.Ahead(ctx, t.plan.RowsAhead())
	if err == nil {
		c := r.Contract()
		err = gfml.RunClient(ctx, &gfml.ClientPart{
			Plan: t.plan, Server: slices.Index(t.job.Servers, c.Parties[n.server].Name),
			Client:  slices.Index(c.Job.ClientsOf(n.server), c.Job.Index(t.member.Name())),
			Privacy: modeOf(t.job), Least: t.least(), Network: n, Rows: rows, Vault: r.Vault, Ahead: ahead,
			Report: r.progress, Warn: r.Warn,
		})
	} else {
		err = faults.OrElse(fault.CodeTable, err)
	}
	return r.attended(joined(err, rows.close()))
}

// gfmlModel reads the model of a party.
func gfmlModel(c *contract.Contract, self int, data []byte) (federated.Model, error) {
	plan, err := gfmlPlan(c.Job)
	if err != nil {
		return nil, err
	}
	at := c.Job.ServerOf(self)
	server := slices.Index(c.Job.Servers, c.Job.Parties[at])
	if c.Job.Serves(self) {
		return plan.DecodeServerModel(server, data)
	}
	return plan.DecodeModel(server, slices.Index(c.Job.ClientsOf(at), self), data)
}

// gfmlWarnings holds the learning rate against what features of any rows have in common.
func gfmlWarnings(job *contract.Job) []string {
	plan, err := gfmlPlan(job)
	if err != nil {
		return nil // it is no contract
	}
	var list []string
	for _, w := range plan.PublicWarnings() {
		list = append(list, fmt.Sprintf("%v, whatever the rows are", w))
	}
	return list
}

// gfmlSummed is how many clients a server chooses.
func gfmlSummed(job *contract.Job, server string) (clients float64, beside string) {
	plan, err := gfmlPlan(job)
	if err != nil {
		return 0, "" // it is no contract
	}
	return float64(min(plan.Params().Participants, len(job.ClientsOf(job.Index(server))))), ""
}
