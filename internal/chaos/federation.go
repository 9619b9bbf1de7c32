package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
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
	*trial.League
	scene   *scene
	program string
	byHand  bool              // nodes have no policy
	listen  map[string]string // where nodes listen whose addresses in the charter are relays
	special map[string]launch // nodes that are started in another way
	nodes   map[string]*process
	said    []string // nodes that ended by themselves, with their last words

	mu      sync.Mutex
	clients map[string]*node.Client
}

// launch is how a node is started that is not like the others.
type launch struct {
	program string
	env     []string
}

// process is one program under way.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
	ours  bool          // the trial ended it
}

// startProcess starts a program with its output in files, which may be the same.
func startProcess(program string, args, env []string, out, errOut string) (*process, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	o, err := os.OpenFile(out, flags, 0o600)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	e, err := os.OpenFile(errOut, flags, 0o600)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = o, e, append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait() // how it ended is in its state
	}()
	return p, nil
}

// over reports whether the program has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill ends the program at once.
func (p *process) kill() {
	p.ours = true
	p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the program in good order, or at once when it takes its time.
func (p *process) stop() {
	p.ours = true
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
		p.kill()
	}
}

// dir is a member's node folder.
func (f *federation) dir(name string) string { return f.Path(name, "node") }

// log is a member's log.
func (f *federation) log(name string) string { return f.Path(name, "node.log") }

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
	p, err := startProcess(how.program, args, how.env, f.log(name), f.log(name))
	if err != nil {
		return err
	}
	f.nodes[name] = p
	return nil
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
		if p := f.nodes[name]; p.over() {
			return &endedError{name, lastLine(f.log(name))}
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
			text, _ := os.ReadFile(f.log(name))
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
			if p := f.nodes[name]; p != nil && p.over() && !p.ours {
				f.note(name)
			}
			continue
		}
		for _, j := range list {
			all = append(all, standing{name, j.Name, j.Contract, j.State, j.Reason})
		}
	}
	return all, absent
}

// note keeps the last words of a node that has ended by itself.
func (f *federation) note(name string) {
	text := name + ": " + lastLine(f.log(name))
	for _, s := range f.said {
		if s == text {
			return
		}
	}
	f.said = append(f.said, text)
}

// dump ends all nodes and has each write into its log what its goroutines wait for.
func (f *federation) dump() {
	for _, p := range f.nodes {
		if !p.over() {
			p.ours = true
			p.cmd.Process.Signal(syscall.SIGQUIT)
		}
	}
	for _, p := range f.nodes {
		select {
		case <-p.ended:
		case <-time.After(stopPatience / 2):
		}
	}
}

// close ends all nodes.
func (f *federation) close() {
	var all sync.WaitGroup
	for _, p := range f.nodes {
		if !p.over() {
			all.Go(p.stop)
		}
	}
	all.Wait()
}

// warned returns the first line of a member's log, from a byte on, that is a warning or an error and has one of the
// words in it.
func (f *federation) warned(name string, from int, words ...string) string {
	text, _ := os.ReadFile(f.log(name))
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
		text, _ := os.ReadFile(f.log(name))
		for line := range bytes.Lines(text) {
			if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
				lines = append(lines, name+": "+strings.TrimSpace(string(line)))
			}
		}
	}
	return lines
}

// command is a run of the program on somebody's behalf.
type command struct {
	*process
	out, errOut string
}

// run starts the program beside the nodes; name is that of its output's files.
func (f *federation) run(name string, args ...string) (*command, error) {
	c := &command{out: filepath.Join(f.Dir, name+".out"), errOut: filepath.Join(f.Dir, name+".err")}
	for _, path := range []string{c.out, c.errOut} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	var err error
	c.process, err = startProcess(f.program, args, nil, c.out, c.errOut)
	return c, err
}

// wait returns when the command has ended, or ends it with the context.
func (c *command) wait(ctx context.Context) error {
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		c.kill()
		return ctx.Err()
	}
}

// code is the exit code of a command that has ended, -1 of one that was killed.
func (c *command) code() int { return c.cmd.ProcessState.ExitCode() }

// lastWords is the last line of what a command said to its owner.
func (c *command) lastWords() string { return lastLine(c.errOut) }

// lastLine returns the last line of a file.
func lastLine(path string) string {
	lines := tail(path, 1)
	return strings.TrimPrefix(strings.TrimSpace(lines), "hanse: ")
}

// tail returns the last n lines of a file.
func tail(path string, n int) string {
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
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
