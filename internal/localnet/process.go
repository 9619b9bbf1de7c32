package localnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Launch is how a program is started.
type Launch struct {
	Name    string // of the process, for people
	Program string
	Args    []string
	Env     []string // besides this process's own
	Out     string   // the file that standard output is added to; empty: the log
	Log     string   // the file that standard error is added to
}

// Process is one program under way.
type Process struct {
	Launch
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
	err   error         // how it ended; to be read after that
	asked bool          // to end
}

// Start starts a program.
func Start(l Launch) (*Process, error) {
	if l.Out == "" {
		l.Out = l.Log
	}
	var files [2]*os.File
	for i, path := range []string{l.Out, l.Log} {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		files[i] = f
	}
	p := &Process{Launch: l, cmd: exec.Command(l.Program, l.Args...), ended: make(chan struct{})}
	// A service manager hears of the node that it started, and of none that this one starts.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "NOTIFY_SOCKET=") || strings.HasPrefix(v, "JOURNAL_STREAM=")
	})
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = files[0], files[1], append(env, l.Env...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// Pid returns the number that the system gave the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Over reports whether the program has ended.
func (p *Process) Over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// ByItself reports whether the program has ended and nobody asked it to.
func (p *Process) ByItself() bool { return p.Over() && !p.asked }

// Code returns the exit code of a program that has ended, -1 of one that a signal ended.
func (p *Process) Code() int { return p.cmd.ProcessState.ExitCode() }

// Processor returns the processor time that a program which has ended took, of its own and of the system.
func (p *Process) Processor() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal to the program, if it has not ended.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// End sends a signal and returns how the program ended. After the patience it is killed.
func (p *Process) End(s os.Signal, patience time.Duration) error {
	p.asked = true
	if err := p.Signal(s); err != nil {
		return err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.ended:
		return p.err
	case <-late.C:
		p.Kill()
		return fmt.Errorf("it did not end within %s and was killed", patience)
	}
}

// Kill ends the program as a power cut would.
func (p *Process) Kill() {
	p.asked = true
	p.cmd.Process.Kill()
	<-p.ended
}

// Wait returns when the program has ended, or ends it with the context, whose error it then returns.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		p.Kill()
		return ctx.Err()
	}
}

// Tail returns the last n lines of the log.
func (p *Process) Tail(n int) string { return Tail(p.Log, n) }

// Tail returns the last n lines of a file, nothing when it cannot be read.
func Tail(path string, n int) string {
	text, _ := os.ReadFile(path)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
