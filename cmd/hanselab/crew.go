package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/hanse-project/hanse/internal/trial"
)

// What workers and their master say to each other, a line at a time.
const (
	sayHere    = "here" // followed by the worker's bare address
	sayReady   = "ready"
	sayDone    = "done"
	taskMasked = "masked"
	taskBare   = "bare"
)

// crew are the worker processes of a link measurement.
type crew struct {
	workers []*crewMember
}

// crewMember is one worker process.
type crewMember struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said *bytes.Buffer // on its standard error; to be read when it has ended
}

// startCrew starts a worker for each member of the league and tells all where the others are.
func startCrew(ctx context.Context, l *trial.League, shape string, size int) (*crew, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crew{}
	for _, name := range l.Names {
		m, err := startWorker(ctx, program, name, linkWorkerName, "--dir", l.Dir, "--name", name, "--topology", shape, "--bytes", fmt.Sprint(size))
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.workers = append(c.workers, m)
	}
	addresses, err := c.addresses()
	if err == nil {
		err = c.tell(strings.Join(addresses, " "))
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// startWorker starts one process.
func startWorker(ctx context.Context, program, name string, args ...string) (*crewMember, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &said, stopTime
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &crewMember{name, cmd, in, bufio.NewReader(out), &said}, cmd.Start()
}

// addresses hears every worker's bare address.
func (c *crew) addresses() ([]string, error) {
	var all []string
	for _, m := range c.workers {
		line, err := m.hear(sayHere)
		if err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	return all, nil
}

// tell writes a line to every worker.
func (c *crew) tell(line string) error {
	for _, m := range c.workers {
		if _, err := fmt.Fprintln(m.in, line); err != nil {
			return fmt.Errorf("worker %s: %w", m.name, err)
		}
	}
	return nil
}

// await hears the same word from every worker.
func (c *crew) await(word string) error {
	for _, m := range c.workers {
		if _, err := m.hear(word); err != nil {
			return err
		}
	}
	return nil
}

// hear reads a line that starts with a word and returns the rest.
func (m *crewMember) hear(word string) (string, error) {
	line, err := m.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("worker %s ended before it was %q", m.name, word)
	}
	rest, ok := strings.CutPrefix(line, word)
	if !ok {
		return "", fmt.Errorf("worker %s says %q, want %q", m.name, strings.TrimSpace(line), word)
	}
	return strings.TrimSpace(rest), nil
}

// stop lets all workers end, and waits for them.
func (c *crew) stop() error {
	var errs []error
	for _, m := range c.workers {
		m.in.Close()
	}
	for _, m := range c.workers {
		if err := m.cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("worker %s: %w: %s", m.name, err, lastLines(m.said.Bytes(), 1)))
		}
	}
	return errors.Join(errs...)
}
