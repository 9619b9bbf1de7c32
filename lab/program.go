package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stopTime is how long a program may take to end in good order when it is interrupted.
const stopTime = 10 * time.Second

// Program is a hanse to measure.
type Program struct {
	Path string
}

// FindProgram returns the program at path. Where none is given it takes the hanse beside the running program, or the
// one on PATH, or builds one into dir, and says on log which it took.
func FindProgram(ctx context.Context, log io.Writer, path, dir string) (*Program, error) {
	if path != "" {
		full, err := filepath.Abs(path)
		return &Program{full}, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := search(ctx, filepath.Dir(self), dir)
	if err == nil {
		fmt.Fprintf(log, "measuring %s\n", p.Path)
	}
	return p, err
}

// search looks for hanse in the folder beside, then on PATH, and builds one into dir where the working folder is in a
// checkout.
func search(ctx context.Context, beside, dir string) (*Program, error) {
	for _, name := range []string{filepath.Join(beside, "hanse"), "hanse"} {
		if found, err := exec.LookPath(name); err == nil {
			full, err := filepath.Abs(found)
			return &Program{full}, err
		}
	}
	if Checkout() == "" {
		return nil, fmt.Errorf("there is no hanse beside hanselab (in %s) or on PATH, and the working folder is in no "+
			"checkout to build one from: name a program with --hanse PATH", beside)
	}
	return BuildProgram(ctx, filepath.Join(dir, "hanse"))
}

// BuildProgram builds hanse from the checkout that the working folder is in, to a file.
func BuildProgram(ctx context.Context, path string, flags ...string) (*Program, error) {
	top := Checkout()
	if top == "" {
		return nil, errors.New("the working folder is in no checkout of hanse, so that no program can be built")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	args := append(append([]string{"build"}, flags...), "-o", full, "./cmd/hanse")
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = top
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cmd/hanse of %s does not build (%w): name a built program with --hanse PATH\n%s", top,
			err, said)
	}
	return &Program{full}, nil
}

// Command prepares a program that ends in good order with ctx, and returns what it says on standard error, to be
// read when it has ended.
func Command(ctx context.Context, program string, args ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	said = new(bytes.Buffer)
	cmd = exec.CommandContext(ctx, program, args...)
	cmd.Stderr, cmd.WaitDelay = said, stopTime
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd, said
}

// Demo runs the demo with these flags and without its slower baselines, decodes what it prints into result, and
// returns the peak resident bytes of each party's node. With the error of a demo that fails the result may be there
// all the same: a bad verdict of its audit is an exit code.
func (p *Program) Demo(ctx context.Context, result any, flags ...string) (peaks map[string]int64, err error) {
	var out bytes.Buffer
	cmd, said := Command(ctx, p.Path, append([]string{"demo", "--json", "--quick"}, flags...)...)
	cmd.Stdout = &out
	fail := func(err error) error {
		return fmt.Errorf("hanse demo %s: %w\n%s", strings.Join(flags, " "), err, LastLines(said.Bytes(), 8))
	}
	if err := cmd.Start(); err != nil {
		return nil, fail(err)
	}
	watch := watchNodes(cmd.Process.Pid)
	failed := cmd.Wait()
	peaks = watch.stop()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil && failed == nil {
		return nil, fmt.Errorf("hanse demo prints no result that can be read: %w", err)
	}
	if failed != nil {
		return nil, fail(failed)
	}
	return peaks, nil
}

// Trained is what a demo of FDSKL reports.
type Trained struct {
	Parties      []string         `json:"parties"`
	RowsTrain    int              `json:"rows_train"`
	Features     int              `json:"features"`
	TestError    float64          `json:"test_error"`
	ClearError   float64          `json:"clear_error"`
	TrainSeconds float64          `json:"train_seconds"`
	ClearSeconds float64          `json:"clear_seconds"`
	Iterations   int              `json:"iterations"`
	BytesOut     map[string]int64 `json:"bytes_out"`

	Peak int64 `json:"-"` // resident bytes of the node of the party with the labels; 0: the system does not tell
}

// Train runs a demo of FDSKL in which all parties have all rows, as in papers.
func (p *Program) Train(ctx context.Context, flags ...string) (*Trained, error) {
	r := new(Trained)
	peaks, err := p.Demo(ctx, r, append([]string{"--overlap", "1"}, flags...)...)
	if err != nil {
		return nil, err
	}
	if len(r.Parties) == 0 {
		return nil, errors.New("hanse demo prints a result without parties")
	}
	r.Peak = peaks[r.Parties[0]]
	return r, nil
}

// PassiveBytes returns the most bytes that a party without labels sent.
func (r *Trained) PassiveBytes() int64 {
	var most int64
	for _, name := range r.Parties[1:] {
		most = max(most, r.BytesOut[name])
	}
	return most
}

// LastLines returns the last n lines of a text.
func LastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
