package localnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Federation is members on this machine: a folder for each with its key file and card, a charter that all have signed,
// and the nodes that were started. The first member proposes.
type Federation struct {
	Dir     string
	Names   []string
	Keys    []*keys.PrivateKey
	Charter *keys.SignedCharter
	Program string // that nodes are started with; empty: this process's own

	ports *Ports // that the members listen on

	mu      sync.Mutex
	nodes   []*Process // in the order in which they were first started
	clients map[string]*node.Client
}

// Times of nodes that share a machine.
const (
	startTime  = 30 * time.Second // until a node answers its owner, and the longer the more there are
	orderly    = time.Minute      // until a node has ended
	reportTime = 20 * time.Second // until a node, after the proposer's, says how the job went
	pollEvery  = 20 * time.Millisecond
)

// Start starts members' nodes, those of all where none is named, and returns when they answer their owners.
func (f *Federation) Start(ctx context.Context, how func(name string) Node, names ...string) error {
	names = f.named(names)
	for _, name := range names {
		n := how(name)
		if _, err := f.Launch(Launch{Name: name, Program: n.Program, Args: f.Args(name, n), Env: n.Env}); err != nil {
			return err
		}
	}
	return f.Await(ctx, names...)
}

// named is names, or all members where there are none.
func (f *Federation) named(names []string) []string {
	if len(names) == 0 {
		return f.Names
	}
	return names
}

// Launch starts a process that is the node of one member, in whose log it writes, or of several. Of an earlier one of
// this name it takes the place.
func (f *Federation) Launch(l Launch) (*Process, error) {
	if l.Log == "" {
		l.Log = f.Log(l.Name)
	}
	if l.Program = cmp.Or(l.Program, f.Program); l.Program == "" {
		var err error
		if l.Program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	p, err := Start(l)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.nodes, func(old *Process) bool { return old.Name == l.Name }); i >= 0 {
		f.nodes[i] = p
	} else {
		f.nodes = append(f.nodes, p)
	}
	return p, nil
}

// Nodes lists the processes that were started, also those that have ended.
func (f *Federation) Nodes() []*Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.nodes)
}

// Node returns the process of that name, nil where none was started.
func (f *Federation) Node(name string) *Process {
	for _, p := range f.Nodes() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Client returns what commands a member's node. It outlives the node.
func (f *Federation) Client(name string) (*node.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clients[name]; c != nil {
		return c, nil
	}
	c, err := node.NewClient(f.NodeDir(name))
	if err != nil {
		return nil, err
	}
	if f.clients == nil {
		f.clients = make(map[string]*node.Client)
	}
	f.clients[name] = c
	return c, nil
}

// EndedError says that a node has ended by itself.
type EndedError struct{ Name string }

func (e *EndedError) Error() string { return e.Name + ": its node ended before it answered" }

// Await returns when members' nodes, those of all where none is named, answer their owners.
func (f *Federation) Await(ctx context.Context, names ...string) error {
	return f.poll(ctx, names, "start", func(ctx context.Context, c *node.Client) error {
		_, err := c.Jobs(ctx)
		return err
	})
}

// Linked returns when the nodes of members, of all where none is named, have a link to every member that they keep one
// with.
func (f *Federation) Linked(ctx context.Context, names ...string) error {
	return f.poll(ctx, names, "reach the others", func(ctx context.Context, c *node.Client) error {
		s, err := c.Status(ctx)
		if err == nil && slices.ContainsFunc(s.Members, func(m node.MemberStatus) bool { return m.Kept && !m.Connected }) {
			err = errors.New("links are missing")
		}
		return err
	})
}

// poll asks one node after the other until it gives no error; aim is what a node should do. An *EndedError is of one
// that never will.
func (f *Federation) poll(
	ctx context.Context, names []string, aim string, ask func(context.Context, *node.Client) error,
) error {
	patience := startTime + time.Duration(len(f.Names))*time.Second/4
	until := func(name string) error {
		client, err := f.Client(name)
		if err != nil {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			p := f.Node(name)
			over := p != nil && p.Over()
			err := ask(asking, client)
			switch {
			case err == nil:
				return nil
			case over:
				return &EndedError{name}
			}
			select {
			case <-asking.Done():
				return fmt.Errorf("%s: its node did not %s within %s: %w", name, aim, patience, err)
			case <-tick.C:
			}
		}
	}
	for _, name := range f.named(names) {
		if err := until(name); err != nil {
			return f.Explain(err)
		}
	}
	return nil
}

// Explain adds the last line of every node's log to an error.
func (f *Federation) Explain(err error) error {
	said := []error{err}
	for _, p := range f.Nodes() {
		said = append(said, fmt.Errorf("  %s says: %s", p.Name, p.Tail(1)))
	}
	return errors.Join(said...)
}

// Propose has the members agree on what a job is about that the first of them proposes, and returns its contract and
// the whole summary of that. What happens until then is told, unless told is nil.
func (f *Federation) Propose(ctx context.Context, job *contract.Job, told func(jobs.Event)) (
	hash, whole string, err error) {
	text, err := job.Text()
	if err != nil {
		return "", "", err
	}
	client, err := f.Client(f.Names[0])
	if err != nil {
		return "", "", err
	}
	prepared, err := client.Prepare(ctx, text, orNobody(told))
	if err != nil {
		return "", "", f.Explain(err)
	}
	return prepared.Contract, prepared.Unfolded(), nil
}

// Run has the members consent to what the first proposed and do it, and returns the first one's report.
func (f *Federation) Run(ctx context.Context, contract string, told func(jobs.Event)) (*jobs.Report, error) {
	client, err := f.Client(f.Names[0])
	if err != nil {
		return nil, err
	}
	report, err := client.Launch(ctx, contract, orNobody(told))
	if err != nil {
		return nil, f.Explain(err)
	}
	return report, nil
}

// orNobody is who is told, or nobody.
func orNobody(told func(jobs.Event)) func(jobs.Event) {
	if told == nil {
		return func(jobs.Event) {}
	}
	return told
}

// Reports asks members, all where none is named, for their own reports of a job that is over at the first.
func (f *Federation) Reports(ctx context.Context, contract string, names ...string) (map[string]*jobs.Report, error) {
	all := make(map[string]*jobs.Report)
	for _, name := range f.named(names) {
		client, err := f.Client(name)
		if err != nil {
			return nil, err
		}
		asking, cancel := context.WithTimeout(ctx, reportTime)
		all[name], err = client.Report(asking, contract)
		cancel()
		if err != nil {
			return nil, f.Explain(fmt.Errorf("%s does not say how its part went: %w", name, err))
		}
	}
	return all, nil
}

// CPU returns the processor seconds that all nodes which run have taken, 0 where the system does not tell.
func (f *Federation) CPU() (total float64) {
	for _, p := range f.Nodes() {
		total += CPUOf(p.Pid())
	}
	return total
}

// Stop ends all nodes in good order, all at once. Of one that had ended by itself it returns how.
func (f *Federation) Stop() error { return f.End(syscall.SIGTERM, orderly) }

// End is Stop by a signal. Who does not end within the patience is killed.
func (f *Federation) End(s os.Signal, patience time.Duration) error {
	all := f.Nodes()
	errs := make([]error, len(all))
	var ending sync.WaitGroup
	for i, p := range all {
		if p.asked { // and has ended
			continue
		}
		ending.Go(func() {
			if err := p.End(s, patience); err != nil {
				errs[i] = fmt.Errorf("%s's node: %w", p.Name, err)
			}
		})
	}
	ending.Wait()
	return errors.Join(errs...)
}
