// Package align measures which rows many parties have in common: whole private intersections, beside a plain
// intersection of the same lists, and the pieces that they are made of.
package align

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
	"github.com/hanse-project/hanse/secagg/psi"
)

// maxParties bounds the parties with rows: all are in one process.
const maxParties = 64

// Options are the choices of Run.
type Options struct {
	Rows    int
	Parties []int
	Mode    []string
	Buckets []int
	Repeat  int
	Pieces  int
	Alone   bool
}

// Report is what the command prints with --json.
type Report struct {
	Machine string   `json:"machine"`
	Workers int      `json:"workers"` // goroutines of each party, and processors of all together
	Runs    []Result `json:"runs"`
	Pieces  []Piece  `json:"pieces"`
}

// Result is one case. Seconds by the clock begin when all parties have their lists; processor seconds are of all
// parties together.
type Result struct {
	Mode    string  `json:"mode"`
	Parties int     `json:"parties"` // with rows; in mode helper there is one more, without
	Rows    int     `json:"rows"`    // of each
	Common  int     `json:"common"`
	Buckets int     `json:"buckets"`
	Load    float64 `json:"load"` // of the machine at the start

	IDSeconds    float64 `json:"id_seconds"` // before: all parties' ids out of their cells, one after the other
	Seconds      float64 `json:"seconds"`
	CPU          float64 `json:"cpu_seconds"`
	PlainSeconds float64 `json:"plain_seconds"` // all lists sorted, at the same time, and merged
	PlainCPU     float64 `json:"plain_cpu_seconds"`
	Ratio        float64 `json:"ratio"`     // seconds to those of the plain intersection
	CPURatio     float64 `json:"cpu_ratio"` // the same of processor seconds: firmer where other programs run
	// ids of asker and keeper by processor seconds of all: in mode dh each is multiplied twice
	PerCore float64 `json:"ids_per_second_core"`

	Bytes  int64 `json:"bytes"` // sent by all, without frames
	Asker  int64 `json:"asker_bytes"`
	Keeper int64 `json:"keeper_bytes"`
	Helper int64 `json:"helper_bytes,omitempty"`
	Other  int64 `json:"other_bytes,omitempty"` // of each other party

	Resident int64 `json:"resident_bytes"` // of the process, with all lists, before
	// VmHWM of the process, which has all parties in it; 0: the system does not tell
	Peak int64 `json:"peak_bytes"`
	Held Held  `json:"held"` // zero unless asked for
}

// Held is how many bytes one party has in use at most, its list of ids not counted, whenever a message goes or comes or
// a step is done: what a step needs within itself is not seen.
type Held struct {
	Asker  int64 `json:"asker_bytes"`
	Keeper int64 `json:"keeper_bytes"`
	Other  int64 `json:"other_bytes"`
	Helper int64 `json:"helper_bytes"`
}

// Run measures all combinations, and then the pieces.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if err := lab.AtLeast(1, lab.Number("rows", o.Rows), lab.Number("repeat", o.Repeat),
		lab.Number("pieces", o.Pieces+1)); err != nil {
		return err
	}
	if most := max(o.Rows, o.Pieces); most > psi.MaxIDs {
		return fmt.Errorf("lists of %d ids, want at most %d", most, psi.MaxIDs)
	}
	for _, n := range o.Parties {
		if n < 2 || n > maxParties {
			return fmt.Errorf("--parties is %v, want 2 to %d each", o.Parties, maxParties)
		}
	}
	for _, mode := range o.Mode {
		if modes := []string{psi.ModeDH, psi.ModeHelper}; !slices.Contains(modes, mode) {
			return fmt.Errorf("--mode is %q, want some of %q", mode, modes)
		}
	}
	for _, n := range o.Buckets {
		if n < 1 || n > psi.MaxBuckets {
			return fmt.Errorf("--buckets is %v, want 1 to %d each", o.Buckets, psi.MaxBuckets)
		}
	}
	report := &Report{Machine: lab.Machine(), Workers: workers()}
	for _, mode := range o.Mode {
		for _, n := range o.Parties {
			for _, buckets := range o.Buckets {
				r, err := measure(ctx, mode, n, buckets, o)
				if err != nil {
					return fmt.Errorf("%s, %d parties, %d buckets: %w", mode, n, buckets, err)
				}
				fmt.Fprintf(run.Log, "%s, %d parties of %d rows, %s: %.2f s (%.2f s of processors), plain %.2f s; load %.1f\n",
					mode, n, o.Rows, wording.Count(buckets, "bucket"), r.Seconds, r.CPU, r.PlainSeconds, r.Load)
				report.Runs = append(report.Runs, *r)
			}
		}
	}
	if o.Pieces > 0 {
		var err error
		if report.Pieces, err = pieces(o.Pieces); err != nil {
			return err
		}
	}
	return run.Report(report)
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\nall parties in one process of %d processors", r.Machine, r.Workers)
	if len(r.Runs) > 0 {
		fmt.Fprintf(w, ", %d rows of each", r.Runs[0].Rows)
	}
	fmt.Fprint(w, "\n\n")
	times := table.New("mode", "parties", "s", "plain", "ratio", "CPU s", "ratio", "ids/s/core")
	sent := table.New("mode", "parties", "buckets", "MB asker", "keeper", "helper", "other", "peak MB")
	for _, c := range r.Runs {
		times.Addf("%s|%d|%.2f|%.2f|%.0f|%.1f|%.0f|%.0f", c.Mode, c.Parties, c.Seconds,
			c.PlainSeconds, c.Ratio, c.CPU, c.CPURatio, c.PerCore)
		mb := func(n int64) string { return table.If(n > 0, "%.1f", float64(n)/1e6) }
		sent.Addf("%s|%d|%d|%s|%s|%s|%s|%.0f", c.Mode, c.Parties, c.Buckets, mb(c.Asker), mb(c.Keeper), mb(c.Helper),
			mb(c.Other), float64(c.Peak)/1e6)
	}
	parts := table.New("piece", "ids", "ns an id", "ids/s/core")
	for _, p := range r.Pieces {
		parts.Addf("%s|%d|%.0f|%.0f", p.Name, p.IDs, 1e9/p.PerCore, p.PerCore)
	}
	tables := []*table.Table{times, sent}
	alone := table.New("mode", "parties", "buckets", "asker, B a row", "keeper", "other", "helper")
	for _, c := range r.Runs {
		if c.Held != (Held{}) {
			row := func(n int64) string { return table.If(n > 0, "%.0f", float64(n)/float64(c.Rows)) }
			alone.Addf("%s|%d|%d|%s|%s|%s|%s", c.Mode, c.Parties, c.Buckets, row(c.Held.Asker), row(c.Held.Keeper),
				row(c.Held.Other), row(c.Held.Helper))
			if len(tables) == 2 {
				tables = append(tables, alone)
			}
		}
	}
	if len(r.Pieces) > 0 {
		tables = append(tables, parts)
	}
	for _, t := range tables {
		if err := t.Write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}
