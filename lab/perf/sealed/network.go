package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol/contract"
)

// nodePatience is how long a node may take to answer after its start.
const nodePatience = 30 * time.Second

// nodeNetwork is a network whose nodes are processes of this command.
type nodeNetwork struct {
	*localnet.Network
	nodes []*exec.Cmd
	slow  *slowNet // nil: links are as fast as they are
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
	phases             phases
}

// phases are when the first party told of its progress, by step.
type phases map[string]*[2]time.Time

// receive takes an event.
func (p phases) receive(e jobs.Event) {
	if e.Kind != jobs.EventProgress {
		return
	}
	if p[e.Step] == nil {
		p[e.Step] = &[2]time.Time{e.Time, e.Time}
	}
	p[e.Step][1] = e.Time
}

// between returns the seconds from the beginning or the end of a step to that of the same or another, 0 when one of
// them was not.
func (p phases) between(from string, start int, to string, end int) float64 {
	if p[from] == nil || p[to] == nil {
		return 0
	}
	return p[to][end].Sub(p[from][start]).Seconds()
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
	n := &nodeNetwork{Network: founded}
	if l.slow != nil {
		if n.slow, err = openSlowNet(founded, *l.slow); err != nil {
			return nil, err
		}
	}
	for _, name := range data.Names {
		if err := n.start(l.program.Path, name); err != nil {
			return nil, errors.Join(err, n.close())
		}
	}
	if n.slow != nil {
		n.slow.known(n.nodes)
	}
	for _, name := range data.Names {
		if err := n.await(ctx, name); err != nil {
			return nil, errors.Join(err, n.close())
		}
	}
	return n, nil
}

// start starts a member's node.
func (n *nodeNetwork) start(program, name string) error {
	log, err := os.Create(n.Path(name, "node.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := append(n.NodeArgs(name, 0), "--silence",
		time.Minute.String()) // heartbeats wait behind data, and for a busy machine
	if n.slow != nil {
		args = append(args, "--listen", n.slow.listen(name))
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	n.nodes = append(n.nodes, cmd)
	return nil
}

// await returns when a member's node answers.
func (n *nodeNetwork) await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, nodePatience)
	defer cancel()
	client, err := node.NewClient(n.Path(name, "node"))
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err = client.Jobs(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(n.Path(name, "node.log"))
			return fmt.Errorf("%s's node did not start within %s: %w\n%s", name, nodePatience, err,
				lab.LastLines(text, 4))
		case <-tick.C:
		}
	}
}

// close ends the nodes and removes the folder.
func (n *nodeNetwork) close() error {
	var errs []error
	for _, cmd := range n.nodes {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	for i, cmd := range n.nodes {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s's node: %w", n.Names[i], err))
		}
	}
	if n.slow != nil {
		n.slow.close()
	}
	return errors.Join(append(errs, os.RemoveAll(n.Dir))...)
}

// owners lists the members' identities.
func (n *nodeNetwork) owners() []keys.ID {
	var ids []keys.ID
	for _, k := range n.Keys {
		ids = append(ids, k.ID())
	}
	return ids
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
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(p); err != nil {
		return nil, err
	}
	if _, err := toml.Decode(text.String(), &job.Parameters); err != nil {
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
	text, err := job.Text()
	if err != nil {
		return nil, err
	}
	client, err := node.NewClient(n.Path(n.Names[0], "node"))
	if err != nil {
		return nil, err
	}
	quiet := func(jobs.Event) {}
	contract, _, err := client.Prepare(ctx, text, quiet)
	if err != nil {
		return nil, err
	}
	before := n.cpu()
	told := make(phases)
	report, err := client.Launch(ctx, contract, told.receive)
	if err != nil {
		return nil, err
	}
	if report.Sessions != 1 { // its seconds are the last one's
		return nil, fmt.Errorf("the job took %d sessions, want 1: a link broke, perhaps because the machine is "+
			"too busy", report.Sessions)
	}
	r := &ranJob{phases: told, contract: contract, seconds: report.Seconds, cpu: n.cpu() - before,
		scores: report.Scores, peaks: make(map[string]int64)}
	for i, name := range n.Names {
		r.peaks[name] = lab.PeakOf(n.nodes[i].Process.Pid)
		if err := n.account(ctx, name, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// account adds what a party's node says it sent.
func (n *nodeNetwork) account(ctx context.Context, name string, r *ranJob) error {
	client, err := node.NewClient(n.Path(name, "node"))
	if err != nil {
		return err
	}
	report, err := client.Report(ctx, r.contract)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.out += report.BytesOut
	r.busiest, r.busiestIn = max(r.busiest, report.BytesOut), max(r.busiestIn, report.BytesIn)
	for _, e := range report.Egress {
		if e.Class == contract.ClassMasked.String() {
			r.payload += e.Bytes
		}
	}
	return nil
}

// cpu returns the processor seconds that all nodes have taken.
func (n *nodeNetwork) cpu() float64 {
	var total float64
	for _, cmd := range n.nodes {
		total += lab.CPUOf(cmd.Process.Pid)
	}
	return total
}

// models reads all parties' model parts.
func (n *nodeNetwork) models(contract string) ([]*fdskl.Model, error) {
	var list []*fdskl.Model
	for _, name := range n.Names {
		m, err := node.ReadModel(n.Path(name, filepath.Join("node", "jobs", contract)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, m)
	}
	return list, nil
}
