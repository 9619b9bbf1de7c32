package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node"
)

// Times of processes.
const (
	startPatience = 30 * time.Second // until a node answers its owner
	stopPatience  = 5 * time.Second  // for a node to end in good order
	askPatience   = 2 * time.Second  // for a node's answer
	pollEvery     = 50 * time.Millisecond
)

// federation is one test network of node processes.
type federation struct {
	*localnet.Network
	scene   *scene
	program string
	byHand  bool              // nodes have no policy
	listen  map[string]string // where nodes listen whose addresses in the charter are relays
	special map[string]launch // nodes that are started in another way
	nodes   map[string]*localnet.Process
	said    []string // nodes that ended by themselves, with their last words

	mu      sync.Mutex
	clients map[string]*node.Client
}

// launch is how a node is started that is not like the others.
type launch struct {
	program string
	env     []string
}

// dir is a member's node folder.
func (f *federation) dir(name string) string { return f.Path(name, "node") }

// start starts a member's node with the command that it always has, and waits until it answers. A node that ends
// instead is an *endedError.
func (f *federation) start(ctx context.Context, name string) error {
	if err := f.launch(name); err != nil {
		return err
	}
	return f.await(ctx, name)
}

// launch starts a member's node.
func (f *federation) launch(name string) error {
	how := launch{program: f.program}
	if special, ok := f.special[name]; ok {
		how = special
	}
	args := f.scene.args(f, name)
	if at, ok := f.listen[name]; ok {
		args = append(args, "--listen", at)
	}
	p, err := localnet.Start(localnet.Launch{
		Name: name, Program: how.program, Args: args, Env: how.env, Log: f.Log(name),
	})
	f.nodes[name] = p
	return err
}

// endedError says that a node ended by itself.
type endedError struct{ name, said string }

func (e *endedError) Error() string { return e.name + ": " + e.said }

// await returns when a member's node answers.
func (f *federation) await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		_, err := f.ask(ctx, name)
		if err == nil {
			return nil
		}
		if p := f.nodes[name]; p.Over() {
			return &endedError{name, lastLine(f.Log(name))}
		}
		if pause(ctx, pollEvery/2) != nil {
			return fmt.Errorf("%s's node does not answer: %w", name, err)
		}
	}
}

// startAll starts all nodes.
func (f *federation) startAll(ctx context.Context) error {
	for _, name := range f.Names {
		if err := f.launch(name); err != nil {
			return err
		}
	}
	for _, name := range f.Names {
		if err := f.await(ctx, name); err != nil {
			return err
		}
	}
	f.linked(ctx)
	return nil
}

// client returns what commands a member's node; its connection outlives the node.
func (f *federation) client(name string) (*node.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clients[name]; ok {
		return c, nil
	}
	c, err := node.NewClient(f.dir(name))
	if err == nil {
		f.clients[name] = c
	}
	return c, err
}

// linkPatience is how long nodes may take to find each other before a job is proposed. That they need longer is no
// fault: the job waits.
const linkPatience = 6 * time.Second

// linked returns when all nodes have links with those they should, or after a while.
func (f *federation) linked(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	for _, name := range f.Names {
		for {
			text, _ := os.ReadFile(f.Log(name))
			missing := false
			for _, other := range f.scene.linksOf(name) {
				missing = missing || !bytes.Contains(text, []byte(" connected  member="+other+" "))
			}
			if !missing {
				break
			}
			if pause(ctx, pollEvery/2) != nil {
				return
			}
		}
	}
}

// ask lists a member's jobs.
func (f *federation) ask(ctx context.Context, name string) ([]node.JobInfo, error) {
	client, err := f.client(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	return client.Jobs(ctx)
}

// jobs lists all members' jobs. A node that does not answer is in absent; one that has ended by itself is noted.
func (f *federation) jobs(ctx context.Context) (all []standing, absent []string) {
	for _, name := range f.Names {
		list, err := f.ask(ctx, name)
		if err != nil {
			absent = append(absent, name)
			if p := f.nodes[name]; p != nil && p.ByItself() {
				said := name + ": " + lastLine(f.Log(name)) // its last words, once
				if !slices.Contains(f.said, said) {
					f.said = append(f.said, said)
				}
			}
			continue
		}
		for _, j := range list {
			all = append(all, standing{name, j.Name, j.Contract, j.State, j.Reason})
		}
	}
	return all, absent
}

// dump ends all nodes and has each write into its log what its goroutines wait for.
func (f *federation) dump() {
	var all sync.WaitGroup
	for _, p := range f.nodes {
		if !p.Over() {
			all.Go(func() { p.End(syscall.SIGQUIT, stopPatience/2) })
		}
	}
	all.Wait()
}

// close ends all nodes.
func (f *federation) close() {
	var all sync.WaitGroup
	for _, p := range f.nodes {
		if !p.Over() {
			all.Go(func() { p.End(syscall.SIGTERM, stopPatience) })
		}
	}
	all.Wait()
}

// warned returns the first line of a member's log, from a byte on, that is a warning or an error and has one of the
// words in it.
func (f *federation) warned(name string, from int, words ...string) string {
	text, _ := os.ReadFile(f.Log(name))
	for line := range strings.Lines(string(text[min(from, len(text)):])) {
		if !strings.Contains(line, " warn ") && !strings.Contains(line, " error ") && !strings.Contains(line, "failed: ") {
			continue
		}
		for _, word := range words {
			if word != "" && strings.Contains(line, word) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// panics returns the lines of the nodes' logs that tell of a crash of the program itself.
func (f *federation) panics() (lines []string) {
	for _, name := range f.Names {
		text, _ := os.ReadFile(f.Log(name))
		for line := range bytes.Lines(text) {
			if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
				lines = append(lines, name+": "+strings.TrimSpace(string(line)))
			}
		}
	}
	return lines
}

// run starts the program beside the nodes; name is that of its output's files.
func (f *federation) run(name string, args ...string) (*localnet.Process, error) {
	l := localnet.Launch{
		Name: name, Program: f.program, Args: args,
		Out: filepath.Join(f.Dir, name+".out"), Log: filepath.Join(f.Dir, name+".err"),
	}
	for _, path := range []string{l.Out, l.Log} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return localnet.Start(l)
}

// lastWords is the last line of what a program said on standard error.
func lastWords(p *localnet.Process) string { return lastLine(p.Log) }

// lastLine returns the last line of a file.
func lastLine(path string) string {
	return strings.TrimPrefix(strings.TrimSpace(localnet.Tail(path, 1)), "hanse: ")
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
