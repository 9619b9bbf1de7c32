// Package sharding measures jobs in shards: what nodes and workers take, and that the results are the same for any
// number of shards.
package sharding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/credit"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// Options are the choices of Run.
type Options struct {
	Rows     int
	Shards   []int
	Features int
	Privacy  string
	Parallel int // workers of a party at the same time; 0: all
	Steps    int // of a sealed training
	Predict  bool
	InShards bool // without the run of the nodes alone
}

// Report is what the command prints with --json.
type Report struct {
	Machine  string   `json:"machine"`
	Privacy  string   `json:"privacy"`
	Rows     int      `json:"rows"` // of the training
	Features int      `json:"features"`
	Parallel int      `json:"parallel,omitempty"`
	Runs     []Result `json:"runs"`
}

// Result is what one job took.
type Result struct {
	Task    string  `json:"task"`
	Shards  int     `json:"shards"` // 0: the nodes alone
	Rows    int     `json:"rows"`
	Load    float64 `json:"load"`    // of the machine, before it
	Prepare float64 `json:"prepare"` // seconds in which the tables were read and the contract made
	Seconds float64 `json:"seconds"` // from all connected to the end
	// Before is until the rows are begun with, InRows until the last of them is done, After the rest.
	Before float64 `json:"before_seconds"`
	InRows float64 `json:"rows_seconds"`
	After  float64 `json:"after_seconds"`
	Bytes  int64   `json:"bytes"` // that parties sent each other, in all sessions
	Sides  []Side  `json:"sides"`
	// Same says that coefficients, or scores, are those of the first run, bit for bit.
	Same  bool    `json:"same"`
	RMS   float64 `json:"rms"`   // of a prediction: scores less those of the first run
	Flips int     `json:"flips"` // rows of other class than there
	Error float64 `json:"error"` // share of wrong classes
}

// Side is what one party took.
type Side struct {
	Role        string  `json:"role"`
	ReadCPU     float64 `json:"read_cpu"` // of the node, from its start until the contract was made
	NodeCPU     float64 `json:"node_cpu"`
	WorkerCPU   float64 `json:"worker_cpu"` // of all its workers
	NodePeak    int64   `json:"node_peak"`
	WorkerPeak  int64   `json:"worker_peak"` // of the largest
	NodeBytes   int64   `json:"node_bytes"`  // sent in the job's own session
	WorkerBytes int64   `json:"worker_bytes"`
	WorkerIn    int64   `json:"worker_bytes_in"`
}

// roles are those of the four parties, in their order.
var roles = []string{"labels", "keeper", "helper", "outside"}

// Run measures a training, and a prediction where it is asked for, without shards and with each number of them.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if err := lab.AtLeast(1, lab.Number("rows", o.Rows), lab.Number("features", o.Features)); err != nil {
		return err
	}
	if o.Parallel < 0 || slices.ContainsFunc(o.Shards, func(n int) bool { return n < 1 }) {
		return fmt.Errorf("--shards is %v and --parallel %d, want numbers from 1 and none below 0", o.Shards, o.Parallel)
	}
	if o.Privacy != fdskl.Masked && o.Privacy != fdskl.Sealed {
		return fmt.Errorf("--privacy is %q, want %s or %s", o.Privacy, fdskl.Masked, fdskl.Sealed)
	}
	people := int(float64(o.Rows)/trial.TrainShare + 0.5)
	if people > credit.MaxPeople {
		return fmt.Errorf("--rows is %d, want at most %d", o.Rows, int(credit.MaxPeople*trial.TrainShare))
	}
	return run.WithProgram(ctx, func(dir string, p *lab.Program) (err error) {
		data := trial.Credit(people, 1)
		if err := data.Write(dir); err != nil {
			return err
		}
		f, err := found(dir, p.Path, data, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Stop()) }()
		report := &Report{Machine: lab.Machine(), Privacy: o.Privacy, Rows: data.Train[0].Rows(), Features: o.Features,
			Parallel: o.Parallel}
		data.Train = nil // the nodes have it
		counts := o.Shards
		if !o.InShards {
			counts = append([]int{0}, counts...)
		}
		for _, shards := range counts {
			all, err := f.measure(ctx, shards)
			if err != nil {
				return fmt.Errorf("%d shards: %w", shards, err)
			}
			for i := range all {
				all[i].say(run.Log)
			}
			report.Runs = append(report.Runs, all...)
		}
		return run.Report(report)
	})
}

// params are those of a training.
func (o *Options) params(data *trial.Data) fdskl.Params {
	p := fdskl.Params{Active: data.Names[:1], Label: data.Label, Loss: kernel.Square.String(), Schedule: fdskl.Fixed,
		Features: o.Features, Lambda: 1e-5, Seed: "1"}
	if o.Privacy == fdskl.Sealed {
		p.Iterations, p.Keeper, p.Helper = o.Steps, data.Names[1], data.Names[2]
		return sealed.WithDefaults(p.WithDefaults())
	}
	return p.WithDefaults()
}

// say tells of a run that is over.
func (r *Result) say(w io.Writer) {
	fmt.Fprintf(w, "%s, %d rows, %d shards: %.1f s, of which %.1f before and %.1f after the rows; load %.1f\n", r.Task,
		r.Rows, r.Shards, r.Seconds, r.Before, r.After, r.Load)
}

// Print implements lab.Report.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s, D = %d, 4 parties\n\n", r.Machine, r.Privacy, r.Features)
	runs := table.New("job", "shards", "rows", "s", "before", "in rows", "after", "CPU nodes", "workers", "MB sent",
		"worker MB", "node MB", "load")
	sides := table.New("job", "shards", "party", "µs/row worker", "node", "B/row worker", "in", "node", "worker MB",
		"node MB")
	same := table.New("job", "shards", "as the first", "rms", "other class", "wrong")
	for i := range r.Runs {
		one := &r.Runs[i]
		var sum Side
		for _, s := range one.Sides {
			sum.NodeCPU, sum.WorkerCPU = sum.NodeCPU+s.NodeCPU, sum.WorkerCPU+s.WorkerCPU
			sum.NodePeak, sum.WorkerPeak = max(sum.NodePeak, s.NodePeak), max(sum.WorkerPeak, s.WorkerPeak)
			row := func(x float64) float64 { return x / float64(one.Rows) }
			sides.Addf("%s|%d|%s|%.1f|%.1f|%.0f|%.0f|%.0f|%.0f|%.0f", one.Task, one.Shards, s.Role,
				row(1e6*s.WorkerCPU), row(1e6*s.NodeCPU), row(float64(s.WorkerBytes)), row(float64(s.WorkerIn)),
				row(float64(s.NodeBytes)), mega(s.WorkerPeak), mega(s.NodePeak))
		}
		runs.Addf("%s|%d|%d|%.1f|%.1f|%.1f|%.1f|%.1f|%.1f|%.0f|%.0f|%.0f|%.1f", one.Task, one.Shards, one.Rows,
			one.Seconds, one.Before, one.InRows, one.After, sum.NodeCPU, sum.WorkerCPU, mega(one.Bytes), mega(sum.WorkerPeak),
			mega(sum.NodePeak), one.Load)
		scored := one.Task == predicts
		same.Addf("%s|%d|%s|%s|%s|%s", one.Task, one.Shards, one.equality(r.Privacy), table.If(scored, "%.2g", one.RMS),
			table.If(scored, "%.0f", float64(one.Flips)), table.If(scored, "%.4f", one.Error))
	}
	for _, t := range []*table.Table{runs, sides, same} {
		if err := t.Write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

// equality says what was compared bit for bit. Cosines of a sealed training are rounded by pads, which each session
// draws anew, so that its coefficients, of which nobody has more than a share, differ in the last bits.
func (r *Result) equality(privacy string) string {
	switch {
	case privacy == fdskl.Sealed && r.Task == trains:
		return "shares"
	case r.Same:
		return "bit for bit"
	}
	return "no"
}

// mega are bytes in millions.
func mega(bytes int64) float64 { return float64(bytes) / 1e6 }
