package node

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/rss"
)

// task is one party's part of a kind of job.
type task interface {
	// facts reads the party's data, checks all that can be checked alone, and returns what the
	// party says of it.
	facts() (protocol.Facts, error)
	// disclose lists what the job opens and what its parties do together, from all parties' facts.
	disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error)
	// run is the party's part of a session.
	run(ctx context.Context, r *run) (*Report, error)
}

// newTask returns this node's part of a job.
func (n *Node) newTask(job *protocol.Job) (task, error) {
	if job.Algorithm != "fdskl" {
		return n.newServed(job)
	}
	if len(job.Servers) > 0 {
		return nil, fmt.Errorf("job %q: fdskl has no servers: every party holds columns of the same rows", job.Name)
	}
	if job.Threshold != 0 {
		return nil, fmt.Errorf("job %q: threshold is %v, want none: sums over features need every party", job.Name, job.Threshold)
	}
	if job.Privacy == fdskl.Sealed {
		if err := checkSealable(job); err != nil {
			return nil, err
		}
	}
	if job.Privacy == fdskl.Masked && len(job.Parties) < 3 {
		return nil, fmt.Errorf("job %q: masked sums need at least 3 parties, it has %d: with two, the root of a sum knows the other's addend", job.Name, len(job.Parties))
	}
	if job.Task == protocol.TaskPredict {
		return n.newPrediction(job)
	}
	if job.Privacy == fdskl.Sealed {
		return n.newSealing(job)
	}
	return n.newTraining(job)
}

// checkSealable refuses sealed jobs of which nothing can come.
func checkSealable(job *protocol.Job) error {
	if len(job.Parties) < rss.Roles {
		return fmt.Errorf("job %q: sealed jobs need %d parties, it has %d: name any third member of the charter as one, it needs no data and learns nothing (helper = \"its name\" in the job's parameters)", job.Name, rss.Roles, len(job.Parties))
	}
	if isEncrypted(job) {
		return fmt.Errorf("job %q: aggregation is %q: the sums of a sealed job are under masks and open no angle", job.Name, job.Aggregation)
	}
	return nil
}

// training is this node's part of an FDSKL training.
type training struct {
	node   *Node
	job    *protocol.Job
	params fdskl.Params
}

// newTraining reads a training job's parameters.
func (n *Node) newTraining(job *protocol.Job) (*training, error) {
	params, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return &training{node: n, job: job, params: params}, nil
}

// active reports whether this node holds labels in the job.
func (t *training) active() bool {
	for _, a := range t.params.Active {
		if a == t.node.name() {
			return true
		}
	}
	return false
}

// load reads the training table.
func (t *training) load() (*dataset.Table, error) {
	label := ""
	if t.active() {
		label = t.params.Label
	}
	return t.node.tables.load(t.job.Table, label)
}

// facts implements task.
func (t *training) facts() (protocol.Facts, error) {
	table, err := t.load()
	if err != nil {
		return protocol.Facts{}, err
	}
	prepared, err := vertical.PrepareTraining(table, t.params, t.active())
	if err != nil {
		return protocol.Facts{}, err
	}
	return t.node.factsOf(table, len(prepared.Columns), t.active()), nil
}

// disclose implements task.
func (t *training) disclose(all []protocol.Facts) ([]protocol.Opening, []protocol.Operation, error) {
	d := fdskl.DiscloseTraining(t.params, t.job.Privacy, t.job.Parties, columnCounts(all), all[0].Rows)
	return disclosed(t.job, all, d)
}

// run implements task.
func (t *training) run(ctx context.Context, r *run) (*Report, error) {
	table, err := t.load()
	if err != nil {
		return nil, err
	}
	if err := r.state.unchanged(table.Path, table.Sum); err != nil {
		return nil, err
	}
	if err := r.compareRows(ctx, table); err != nil {
		return nil, err
	}
	prepared, err := vertical.PrepareTraining(table, t.params, t.active())
	if err != nil {
		return nil, err
	}
	phase, err := r.state.phase()
	if err != nil {
		return nil, err
	}
	party := &fdskl.Party{
		Self: r.session.Self(), Names: t.job.Parties, Params: t.params, Privacy: t.job.Privacy, Rows: table.Rows(),
		Parts:  []fdskl.Part{{Owner: t.node.config.Key.ID(), Normaliser: prepared.Normaliser, Rows: prepared.Rows, Phase: phase}},
		Labels: prepared.Labels, Network: r.network, Vault: r.state.vault, Workers: t.node.config.Workers,
		Report: r.progress, Opened: r.opened,
	}
	m, err := fdskl.Train(ctx, party)
	if err != nil {
		return nil, err
	}
	m.Contract, m.Columns, m.Fills = r.state.contract.Hash(), prepared.Columns, table.Fills
	if err := r.state.saveModel(r.number, m); err != nil {
		return nil, err
	}
	report := r.report(table.Rows())
	report.Sigma = m.Sigma
	if t.params.Active[0] == t.node.name() {
		report.Trained = &Training{Objective: known(m.Objective), TrainError: known(m.TrainError), Iterations: m.Iterations}
	}
	return report, nil
}

// known returns x for JSON, which has no NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// factsOf states what a party says of a table.
func (n *Node) factsOf(t *dataset.Table, columns int, active bool) protocol.Facts {
	role := "passive"
	if active {
		role = "active"
	}
	return protocol.Facts{Name: n.name(), ID: n.config.Key.ID(), Role: role, Rows: t.Rows(), Columns: columns}
}

// columnCounts lists the parties' numbers of columns.
func columnCounts(all []protocol.Facts) []int {
	var counts []int
	for _, f := range all {
		counts = append(counts, f.Columns)
	}
	return counts
}

// disclosed converts a job's disclosure to what its contract holds, the comparison of row ids before the
// algorithm's operations; more are operations beside them.
func disclosed(
	job *protocol.Job, all []protocol.Facts, d fdskl.Disclosure, more ...protocol.Operation,
) ([]protocol.Opening, []protocol.Operation, error) {
	openings, operations := converted(d)
	if isEncrypted(job) {
		var err error
		if operations, err = Encrypted(operations, job.Parties); err != nil {
			return nil, nil, fmt.Errorf("job %q: %w", job.Name, err)
		}
	}
	ids, comparing := compared(all)
	operations = slices.Concat(comparing, operations, more)
	return append(openings, ids...), protocol.SessionOperations(len(all), operations), nil
}

// Disclosed converts a disclosure to what a contract holds whose sums are under masks or in the clear.
func Disclosed(parties int, d fdskl.Disclosure) ([]protocol.Opening, []protocol.Operation) {
	openings, operations := converted(d)
	return openings, protocol.SessionOperations(parties, operations)
}

// converted copies a disclosure, line by line.
func converted(d fdskl.Disclosure) (openings []protocol.Opening, operations []protocol.Operation) {
	for _, o := range d.Openings {
		openings = append(openings, protocol.Opening(o))
	}
	for _, o := range d.Operations {
		operations = append(operations, protocol.Operation(o))
	}
	return openings, operations
}

// modelOf returns the model part of a finished training. It is the one that all parties signed for when the training
// was done.
func (n *Node) modelOf(contract string) (*fdskl.Model, error) {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(contract)); err != nil {
		return nil, err
	}
	s, ok := n.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no finished training with contract %s", h.Short())
	}
	if err := n.checkPart(s, ModelFile); err != nil {
		return nil, err
	}
	return s.loadModel()
}
