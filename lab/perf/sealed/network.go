package sealed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol/contract"
)

// nodeNetwork is a network whose nodes are processes of this command.
type nodeNetwork struct {
	*localnet.Federation
	slow *slowNet // nil: links are as fast as they are
}

// ranJob is what a job of a nodeNetwork took.
type ranJob struct {
	contract string
	seconds  float64 // from all connected to the end
	// processor seconds of all nodes from the proposal's consent on; 0: the system does not tell
	cpu                float64
	out                int64 // bytes that all sent, with frames
	busiest, busiestIn int64
	payload            int64            // of that, under masks and pads
	peaks              map[string]int64 // resident bytes of each party's node so far
	scores             string           // file
	steps              lab.Steps
}

// open founds a network in a new folder and starts its nodes.
func (l *sealedLab) open(ctx context.Context, data *trial.Data) (*nodeNetwork, error) {
	dir, err := os.MkdirTemp(l.dir, "league-")
	if err != nil {
		return nil, err
	}
	if err := data.Write(dir); err != nil {
		return nil, err
	}
	found := localnet.Found
	if l.slow != nil {
		found = localnet.FoundBehind
	}
	founded, err := found(dir, data.Names, fdskl.Masked)
	if err != nil {
		return nil, err
	}
	founded.Program = l.program.Path
	n := &nodeNetwork{Federation: founded}
	if l.slow != nil {
		if n.slow, err = openSlowNet(founded, *l.slow); err != nil {
			return nil, err
		}
	}
	how := func(name string) localnet.Node {
		node := localnet.Columns(0)
		node.Silence = time.Minute // heartbeats wait behind data, and for a busy machine
		if n.slow != nil {
			node.Listen = n.slow.listen(name)
		}
		return node
	}
	if err := n.Start(ctx, how); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// close ends the nodes and removes the folder.
func (n *nodeNetwork) close() error {
	err := n.Stop()
	if n.slow != nil {
		n.slow.close()
	}
	return errors.Join(err, os.RemoveAll(n.Dir))
}

// slowed refuses figures where a part of what the nodes sent went past the slowed links.
func (n *nodeNetwork) slowed(sent int64) error {
	if n.slow == nil || n.carried() >= sent {
		return nil
	}
	return fmt.Errorf("the nodes sent %d bytes, of which %d went over the slowed links: two of them have found each "+
		"other without", sent, n.carried())
}

// carried is how many bytes went over slowed links.
func (n *nodeNetwork) carried() int64 {
	if n.slow == nil {
		return 0
	}
	return n.slow.carried.Load()
}

// train runs a training.
func (n *nodeNetwork) train(ctx context.Context, privacy string, p fdskl.Params) (*ranJob, error) {
	job := n.job(contract.TaskTrain, privacy, "train")
	if err := job.SetParameters(p); err != nil {
		return nil, err
	}
	if p.Binned() {
		job.Algorithm = contract.GLM
		for _, name := range fdskl.OfKernels() {
			delete(job.Parameters, name)
		}
	}
	return n.run(ctx, job)
}

// predict scores the test rows for the first party with a trained model.
func (n *nodeNetwork) predict(ctx context.Context, algorithm, privacy, model string) (*ranJob, error) {
	job := n.job(contract.TaskPredict, privacy, "test")
	job.Algorithm = algorithm
	job.Model, job.OpenTo = model, n.Names[0]
	return n.run(ctx, job)
}

// job starts a job of all parties.
func (n *nodeNetwork) job(task, privacy, table string) *contract.Job {
	return &contract.Job{
		Format: "hanse-job-v1", Name: "lab", Algorithm: contract.FDSKL, Task: task, Parties: n.Names,
		Privacy: privacy, Topology: contract.Tree.String(), Table: table, Record: contract.RecordDigests,
	}
}

// run runs a job, which the first party proposes.
func (n *nodeNetwork) run(ctx context.Context, job *contract.Job) (*ranJob, error) {
	contract, _, err := n.Propose(ctx, job, nil)
	if err != nil {
		return nil, err
	}
	before, told := n.CPU(), make(lab.Steps)
	report, err := n.Run(ctx, contract, told.Receive)
	if err != nil {
		return nil, err
	}
	if report.Sessions != 1 { // its seconds are the last one's
		return nil, fmt.Errorf("the job took %d sessions, want 1: a link broke, perhaps because the machine is "+
			"too busy", report.Sessions)
	}
	r := &ranJob{steps: told, contract: contract, seconds: report.Seconds, cpu: n.CPU() - before,
		scores: report.Scores, peaks: make(map[string]int64)}
	for _, p := range n.Nodes() {
		r.peaks[p.Name] = localnet.PeakOf(p.Pid())
	}
	all, err := n.Reports(ctx, contract)
	if err != nil {
		return nil, err
	}
	for _, own := range all {
		r.account(own)
	}
	return r, nil
}

// account adds what a party's node says it sent.
func (r *ranJob) account(report *jobs.Report) {
	r.out += report.BytesOut
	r.busiest, r.busiestIn = max(r.busiest, report.BytesOut), max(r.busiestIn, report.BytesIn)
	for _, e := range report.Egress {
		if e.Class == contract.ClassMasked.String() {
			r.payload += e.Bytes
		}
	}
}

// models reads all parties' model parts.
func (n *nodeNetwork) models(contract string) ([]*fdskl.Model, error) {
	var list []*fdskl.Model
	for _, name := range n.Names {
		m, err := node.ReadModel(registry.Program(), n.JobFolder(name, contract))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, fdskl.Of(m))
	}
	return list, nil
}
