// Package lab runs measurements and repeats experiments: what all of them share is here, the programs that they
// start, the machine that they run on, and the statistics of their figures.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
)

// Run is one call of an experiment: where its report and its progress go, and what all experiments may be asked for.
type Run struct {
	In   io.Reader // of worker processes: their tasks
	Out  io.Writer // the report
	Log  io.Writer // progress
	JSON bool      // the report is one JSON object
	Plot string    // folder to draw in; empty: nothing is drawn

	Program string                 // path of the hanse to measure; empty: FindProgram looks for it
	Given   func(flag string) bool // whether a flag was given
}

// Report is what an experiment found. It is encoded as JSON as it is.
type Report interface {
	Print(w io.Writer) error // for people
}

// Drawn is a report with figures.
type Drawn interface {
	Draw(folder string) error
}

// Report draws a report if that was asked for, and prints it for people or for programs.
func (r Run) Report(report Report) error {
	if d, ok := report.(Drawn); ok && r.Plot != "" {
		if err := d.Draw(r.Plot); err != nil {
			return err
		}
	}
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(report)
	}
	return report.Print(r.Out)
}

// InFolder calls do with a folder that is removed afterwards.
func InFolder(do func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "hanselab-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return do(dir)
}

// WithProgram is InFolder with the hanse to measure.
func (r Run) WithProgram(ctx context.Context, do func(dir string, p *Program) error) error {
	return InFolder(func(dir string) error {
		p, err := FindProgram(ctx, r.Log, r.Program, dir)
		if err != nil {
			return err
		}
		return do(dir, p)
	})
}

// Share does the work 0 to n-1, so many at a time, and stops at the first error.
func Share(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := inner.Err(); err != nil {
				return err
			}
			return do(inner, i)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// Flag is a whole number that was given on the command line.
type Flag struct {
	Name  string
	Value int
}

// Number is a flag with its value.
func Number(name string, value int) Flag { return Flag{Name: name, Value: value} }

// AtLeast refuses the first flag that is below the least number it may have.
func AtLeast(least int, flags ...Flag) error {
	for _, f := range flags {
		if f.Value < least {
			return fmt.Errorf("--%s is %d, want at least %d", f.Name, f.Value, least)
		}
	}
	return nil
}

// WriteFile makes a file of what write writes.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
