package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
)

// startTime is how long a league of n nodes on one machine may take until all answer.
func startTime(n int) time.Duration { return 30*time.Second + time.Duration(n)*time.Second/4 }

// processes are the node processes of a league.
type processes struct {
	names    []string
	commands []*exec.Cmd
	logs     []string
}

// startNodes starts one process for each party of a trial, each reading its tables as the trial did, and waits
// until all answer.
func startNodes(ctx context.Context, l *trial.League, d *trial.Data, workers int) (*processes, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &processes{names: l.Names}
	for i, name := range l.Names {
		args := append(l.NodeArgs(name, workers), trial.ReadingArgs(d.Options(i))...)
		if err := p.start(program, args, l.Path(name, "node.log")); err != nil {
			return nil, errors.Join(err, p.stop())
		}
	}
	for _, name := range l.Names {
		if err := awaitNode(ctx, l.Path(name, "node"), startTime(len(l.Names))); err != nil {
			return nil, errors.Join(p.explain(fmt.Errorf("%s: %w", name, err)), p.stop())
		}
	}
	return p, nil
}

// start starts one process with its log in a file.
func (p *processes) start(program string, args []string, log string) error {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		return err
	}
	p.commands, p.logs = append(p.commands, cmd), append(p.logs, log)
	return nil
}

// awaitNode returns when the node in dir answers.
func awaitNode(ctx context.Context, dir string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := node.NewClient(dir)
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
			return fmt.Errorf("its node did not start within %s: %w", patience, err)
		case <-tick.C:
		}
	}
}

// stop ends the processes in an orderly way and waits for them.
func (p *processes) stop() error {
	var errs []error
	for _, c := range p.commands {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	for i, c := range p.commands {
		if err := c.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s's node: %w", p.names[i], err))
		}
	}
	p.commands = nil
	return errors.Join(errs...)
}

// explain adds the last words of every node's log to an error.
func (p *processes) explain(err error) error {
	var b strings.Builder
	for i, path := range p.logs {
		text, _ := os.ReadFile(path)
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		fmt.Fprintf(&b, "\n  %s says: %s", p.names[i], lines[len(lines)-1])
	}
	return fmt.Errorf("%w%s", err, b.String())
}

// logName returns the path of a log relative to its member, for people.
func logName(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}
