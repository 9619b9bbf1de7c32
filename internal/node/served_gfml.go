package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/protocol"
)

// gfmlTask is this node's part of a GFML training.
type gfmlTask struct {
	node *Node
	job  *protocol.Job
	plan *gfml.Plan
}

// newGFML reads a job's parameters.
func (n *Node) newGFML(job *protocol.Job) (*gfmlTask, error) {
	plan, err := gfmlPlan(job)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	t := &gfmlTask{node: n, job: job, plan: plan}
	if err := t.plan.CheckPrivacy(modeOf(job), t.least()); err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return t, nil
}

// gfmlPlan derives the plan of a job. Who serves whom follows from the job.
func gfmlPlan(job *protocol.Job) (*gfml.Plan, error) {
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
	if t.job.Privacy == "published" {
		return 1
	}
	return max(t.job.MinContributors, t.node.currentCharter().Rules.MinContributors)
}

// facts implements task.
func (t *gfmlTask) facts() (protocol.Facts, error) {
	return t.node.servedFacts(t.job, t.plan.Params().Label, t.plan.Params().Columns)
}

// disclose implements task.
func (t *gfmlTask) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	return disclosedServed(t.job, all, t.plan.Disclose(modeOf(t.job)))
}

// run implements task: jobs over clients run by serve and attend.
func (t *gfmlTask) run(context.Context, *run) (*Report, error) { return nil, errServed }

// serve implements servedTask.
func (t *gfmlTask) serve(ctx context.Context, r *run, n *serverNetwork) (*Report, error) {
	r.forewarn()
	n.servers = t.job.Servers
	part := &gfml.ServerPart{
		Plan: t.plan, Server: slices.Index(t.job.Servers, t.node.name()), Privacy: modeOf(t.job), Least: t.least(),
		Network: n, Neighbours: n, Vault: r.state.vault, Report: r.federated, Warn: r.warn,
	}
	if mixed := t.plan.Disclose(modeOf(t.job)).Mixed; len(mixed) > 0 {
		m, err := n.newMixing(ctx, t.job, mixed)
		defer m.close()
		if err != nil {
			return nil, err
		}
		part.Mixing = m
	}
	if err := gfml.Serve(ctx, part); err != nil {
		return nil, err
	}
	return r.servedReport(), nil
}

// attend implements servedTask.
func (t *gfmlTask) attend(ctx context.Context, r *run, n *clientNetwork) (*Report, error) {
	r.forewarn()
	rows, err := t.node.openRows(r.state, t.job, t.plan.Params().Label, t.plan.Params().Columns)
	if err != nil {
		return nil, err
	}
	part, err := t.clientPart(ctx, r, n, rows)
	if err == nil {
		err = gfml.Attend(ctx, part)
	}
	return r.attended(joined(err, rows.close()))
}

// clientPart makes this client's part of a session.
func (t *gfmlTask) clientPart(ctx context.Context, r *run, n *clientNetwork, rows *rowStream) (*gfml.ClientPart, error) {
	ahead, err := rows.stream.Ahead(ctx, t.plan.RowsAhead())
	if err != nil {
		return nil, orElse(codeTable, err)
	}
	c := r.state.contract
	return &gfml.ClientPart{
		Plan: t.plan, Server: slices.Index(t.job.Servers, c.Parties[n.server].Name), Client: slices.Index(c.Job.ClientsOf(n.server), c.Job.Index(t.node.name())),
		Privacy: modeOf(t.job), Least: t.least(), Network: n, Rows: rows, Vault: r.state.vault, Ahead: ahead, Report: r.federated, Warn: r.warn,
	}, nil
}
