// Package perf measures the program on this machine: masked sums beside bare streams, and faults. Packages below it
// measure sums of many clients, transcripts, sealed jobs and audits.
package perf

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

	"github.com/hanse-project/hanse/lab"
)

// What workers say when they are ready for a task and when it is done, a line at a time.
const (
	SayReady = "ready"
	SayDone  = "done"
)

// Processes are worker processes of a measurement: further runs of this program, which do what they are told.
type Processes struct {
	All []*Process
}

// Process is one worker process.
type Process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said *bytes.Buffer // on its standard error; to be read when it has ended
}

// Start starts one more process of this program. Its name stands in errors.
func (p *Processes) Start(ctx context.Context, name string, args ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd, said := lab.Command(ctx, program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.All = append(p.All, &Process{name, cmd, in, bufio.NewReader(out), said})
	return nil
}

// Send writes a line to every process.
func (p *Processes) Send(line string) error {
	for _, w := range p.All {
		if _, err := fmt.Fprintln(w.in, line); err != nil {
			return fmt.Errorf("worker %s: %w", w.name, err)
		}
	}
	return nil
}

// Await reads a line that starts with a word from every process and returns what follows it.
func (p *Processes) Await(word string) ([]string, error) {
	var all []string
	for _, w := range p.All {
		line, err := w.out.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("worker %s ended before it was %q", w.name, word)
		}
		rest, ok := strings.CutPrefix(line, word)
		if !ok {
			return nil, fmt.Errorf("worker %s says %q, want %q", w.name, strings.TrimSpace(line), word)
		}
		all = append(all, strings.TrimSpace(rest))
	}
	return all, nil
}

// Stop lets all processes end, and waits for them.
func (p *Processes) Stop() error {
	var errs []error
	for _, w := range p.All {
		w.in.Close()
	}
	for _, w := range p.All {
		if err := w.cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("worker %s: %w: %s", w.name, err, lab.LastLines(w.said.Bytes(), 1)))
		}
	}
	return errors.Join(errs...)
}
