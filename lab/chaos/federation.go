package chaos

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node"
)

// Times of processes.
const (
	stopPatience = 5 * time.Second // for a node to end in good order
	askPatience  = 2 * time.Second // for a node's answer
	pollEvery    = 50 * time.Millisecond
)

// federation is one test network of node processes.
type federation struct {
	*localnet.Federation
	scene   *scene
	byHand  bool                     // nodes have no policy
	listen  map[string]string        // where nodes listen whose addresses in the charter are relays
	special map[string]localnet.Node // program and environment of nodes that are started in another way
	said    []string                 // nodes that ended by themselves, with their last words
}

// start starts members' nodes, each with the command that it always has, those of all where none is named.
func (f *federation) start(ctx context.Context, names ...string) error {
	return f.Start(ctx, func(name string) localnet.Node { return f.scene.node(f, name) }, names...)
}

// linkPatience is how long nodes may take to find each other before a job is proposed. That they need longer is no
// fault: the job waits.
const linkPatience = 6 * time.Second

// startAll starts all nodes, and returns when all have links with those they should, or after a while.
func (f *federation) startAll(ctx context.Context) error {
	if err := f.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	f.Linked(ctx)
	return nil
}

// ask lists a member's jobs.
func (f *federation) ask(ctx context.Context, name string) ([]node.JobInfo, error) {
	client, err := f.Client(name)
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
			if p := f.Node(name); p != nil && p.ByItself() {
				f.ended(name)
			}
			continue
		}
		for _, j := range list {
			all = append(all, standing{name, j.Name, j.Contract, j.State, j.Reason})
		}
	}
	return all, absent
}

// ended notes the last words of a node that ended by itself, once.
func (f *federation) ended(name string) {
	if said := name + ": " + lastLine(f.Log(name)); !slices.Contains(f.said, said) {
		f.said = append(f.said, said)
	}
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
		Name: name, Program: f.Program, Args: args,
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
