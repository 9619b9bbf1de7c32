package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// hansePackage is what is built when no program is given.
const hansePackage = "github.com/hanse-project/hanse/cmd/hanse"

// stopTime is how long a demo may take to end its nodes when it is interrupted.
const stopTime = 10 * time.Second

// program is a hanse to measure.
type program struct {
	path string
}

// demoRun is what one run of the demo reports, and the memory its nodes took.
type demoRun struct {
	Parties      []string         `json:"parties"`
	RowsTrain    int              `json:"rows_train"`
	Features     int              `json:"features"`
	TestError    float64          `json:"test_error"`
	ClearError   float64          `json:"clear_error"`
	TrainSeconds float64          `json:"train_seconds"`
	ClearSeconds float64          `json:"clear_seconds"`
	Iterations   int              `json:"iterations"`
	BytesOut     map[string]int64 `json:"bytes_out"`

	Peaks map[string]int64 `json:"-"` // peak resident bytes of each party's node
}

// findProgram returns the program at path, or one built into dir.
func findProgram(ctx context.Context, path, dir string) (*program, error) {
	if path != "" {
		full, err := filepath.Abs(path)
		return &program{full}, err
	}
	p := &program{filepath.Join(dir, "hanse")}
	build := exec.CommandContext(ctx, "go", "build", "-o", p.path, hansePackage)
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s does not build (%w); give a built one with --hanse PATH\n%s", hansePackage, err, said)
	}
	return p, nil
}

// demoCommand prepares a demo with these flags and without its slower baselines, which ends in good order
// with ctx, and returns where its result and its story go.
func (p *program) demoCommand(ctx context.Context, flags []string) (cmd *exec.Cmd, out, said *bytes.Buffer) {
	out, said = new(bytes.Buffer), new(bytes.Buffer)
	cmd = exec.CommandContext(ctx, p.path, append([]string{"demo", "--json", "--quick"}, flags...)...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, said, stopTime
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd, out, said
}

// demo runs the demo with these flags.
func (p *program) demo(ctx context.Context, flags ...string) (*demoRun, error) {
	cmd, out, said := p.demoCommand(ctx, flags)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	watch := watchNodes(cmd.Process.Pid)
	err := cmd.Wait()
	peaks := watch.stop()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("hanse demo %s: %w\n%s", strings.Join(flags, " "), err, lastLines(said.Bytes(), 8))
	}
	r := &demoRun{Peaks: peaks}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("hanse demo prints no result that can be read: %w", err)
	}
	if len(r.Parties) == 0 {
		return nil, errors.New("hanse demo prints a result without parties")
	}
	return r, nil
}

// active returns the name of the party with the labels.
func (r *demoRun) active() string { return r.Parties[0] }

// passiveBytes returns the most bytes that a party without labels sent.
func (r *demoRun) passiveBytes() int64 {
	var most int64
	for _, name := range r.Parties[1:] {
		most = max(most, r.BytesOut[name])
	}
	return most
}

// lastLines returns the last n lines of a text.
func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// workDir makes a folder for one command, and returns what removes it.
func workDir() (string, func() error, error) {
	dir, err := os.MkdirTemp("", "hanselab-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
