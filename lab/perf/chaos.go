package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/chaos"
)

// ChaosLimit is how long a trial may take.
const ChaosLimit = 2 * time.Minute

// ChaosOptions are the choices of Chaos.
type ChaosOptions struct {
	Trials int
	Kinds  string
	Seed   uint64
	Limit  time.Duration
	Dir    string
}

// Chaos runs the trials.
func Chaos(ctx context.Context, run lab.Run, o ChaosOptions) (err error) {
	if o.Trials < 1 || o.Limit <= 0 {
		return errors.New("--trials and --limit must be above 0")
	}
	trials := chaos.Options{
		Trials: o.Trials, Seed: o.Seed, Limit: o.Limit, Dir: o.Dir, Keep: o.Dir != "",
		Progress: func(line string) { fmt.Fprintln(run.Log, line) }, Build: BuildForChaos,
	}
	if o.Kinds != "" {
		trials.Kinds = strings.Split(o.Kinds, ",")
	}
	if trials.Keep {
		if trials.Dir, err = filepath.Abs(o.Dir); err == nil {
			err = os.MkdirAll(trials.Dir, 0o700)
		}
	} else {
		trials.Dir, err = os.MkdirTemp("", "hanselab-chaos-")
	}
	if err != nil {
		return err
	}
	var report *chaos.Report
	program, err := lab.FindProgram(ctx, run.Log, run.Program, trials.Dir)
	if err == nil {
		trials.Program = program.Path
		report, err = chaos.Run(ctx, trials)
	}
	failed := 0
	if report != nil {
		failed = len(report.Failures())
	}
	if err == nil {
		err = run.Report(chaosReport{report})
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d trials failed", failed, len(report.Trials))
	}
	if !trials.Keep && failed == 0 { // what is left of a failure shows how it came
		err = errors.Join(err, os.RemoveAll(trials.Dir))
	}
	return err
}

// BuildForChaos builds the program that trials need beside the one that they are given.
func BuildForChaos(ctx context.Context, path string, flags ...string) error {
	_, err := lab.BuildProgram(ctx, path, flags...)
	return err
}

// chaosReport is a report as this command prints it.
type chaosReport struct{ *chaos.Report }

// Print prints the report for people.
func (r chaosReport) Print(w io.Writer) error { return r.Write(w) }
