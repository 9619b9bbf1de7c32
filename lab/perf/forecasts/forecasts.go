// Package forecasts holds forecasts of jobs against what the jobs took, on federations of real processes.
package forecasts

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// Options are the choices of Run.
type Options struct {
	Data     string // folder with the sets; empty: there are none
	Sets     []string
	Privacy  []string
	Features int
	People   int
	Align    int
	Repeat   int
}

// Report is what the command prints with --json.
type Report struct {
	Machine string   `json:"machine"`
	Runs    []Result `json:"runs"`
}

// Result is a job of one case: of repeated ones the fastest, at the party that proposed it.
type Result struct {
	Case     string  `json:"case"`
	Job      string  `json:"job"`
	Load     float64 `json:"load"` // of the machine at the start
	Seconds  float64 `json:"seconds"`
	Forecast float64 `json:"forecast_seconds"` // 0: there is none
	Off      float64 `json:"seconds_off"`
	// processor seconds of all nodes over the machine's cores: what the job would take at least if nothing else ran, and
	// the firmer figure where something does
	CPU      float64 `json:"cpu_seconds_by_cores"`
	Sent     int64   `json:"sent"`
	BytesOff float64 `json:"bytes_off"` // of what any party sent or received, the farthest from its forecast
}

// Run runs all cases.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if err := lab.AtLeast(1, lab.Number("repeat", o.Repeat), lab.Number("features", o.Features)); err != nil {
		return err
	}
	var chosen []sets.Benchmark
	if o.Data != "" {
		var err error
		if chosen, err = sets.Choose(o.Sets, o.Data); err != nil {
			return err
		}
	}
	return run.WithProgram(ctx, func(dir string, p *lab.Program) error {
		report := &Report{Machine: lab.Machine()}
		l := &forecastLab{program: p.Path, dir: dir, repeat: o.Repeat, log: run.Log, report: report}
		if o.People > 0 {
			if err := l.demo(ctx, o.People); err != nil {
				return err
			}
		}
		if o.Align > 0 {
			if err := l.align(ctx, o.Align); err != nil {
				return err
			}
		}
		for i := range chosen {
			set := &chosen[i]
			if err := set.Prepare(dir, 0); err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			data, err := trial.Files(set.Files, set.Options(), sets.Parties, 1)
			if err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			for _, privacy := range o.Privacy {
				if err := l.benchmark(ctx, set, data, privacy, o.Features); err != nil {
					return fmt.Errorf("%s, %s: %w", set.Name, privacy, err)
				}
			}
		}
		return run.Report(report)
	})
}

// note adds what became of a job, by the reports of all parties, the proposer's first.
func (l *forecastLab) note(name, job string, load, cpu float64, reports []*jobs.Report) error {
	first := reports[0]
	if first.Forecast == nil || first.Sessions != 1 {
		return fmt.Errorf("%s, %s: there is no forecast, or there were %d sessions", name, job, first.Sessions)
	}
	r := Result{Case: name, Job: job, Load: load, CPU: cpu, Seconds: first.Seconds, Sent: first.BytesOut,
		Forecast: first.Forecast.Forecast.Seconds}
	if off := first.Forecast.SecondsOff; off != nil {
		r.Off = *off
	}
	for _, party := range reports {
		for _, off := range []*float64{party.Forecast.SentOff, party.Forecast.ReceivedOff} {
			if off != nil && math.Abs(*off) > math.Abs(r.BytesOff) {
				r.BytesOff = *off
			}
		}
	}
	fmt.Fprintf(l.log, "%s, %s: %.2f s (%.2f s of each processor), forecast %.2f s; bytes %s off; load %.1f\n", name, job,
		r.Seconds, r.CPU, r.Forecast, forecast.Percent(r.BytesOff), load)
	at := slices.IndexFunc(l.report.Runs, func(o Result) bool { return o.Case == name && o.Job == job })
	switch {
	case at < 0:
		l.report.Runs = append(l.report.Runs, r)
	case r.Seconds < l.report.Runs[at].Seconds:
		l.report.Runs[at] = r
	}
	return nil
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", r.Machine)
	t := table.New("case", "job", "s", "forecast", "off", "CPU s / cores", "MB sent", "bytes off", "load")
	for _, c := range r.Runs {
		t.Addf("%s|%s|%.2f|%s|%s|%.2f|%.1f|%+.2f %%|%.1f", c.Case, c.Job, c.Seconds,
			table.If(c.Forecast > 0, "%.2f", c.Forecast), table.If(c.Off != 0, "%+.0f %%", 100*c.Off), c.CPU,
			float64(c.Sent)/1e6, 100*c.BytesOff, c.Load)
	}
	return t.Write(w)
}
