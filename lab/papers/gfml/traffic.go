package gfml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// TrafficReport is what the command prints with --json.
type TrafficReport struct {
	Machine  string    `json:"machine"`
	Servers  int       `json:"servers"`
	Clients  int       `json:"clients"` // of each server
	Rounds   int       `json:"rounds"`
	Features int       `json:"d"`
	Rows     []Traffic `json:"rows"` // all entries first
}

// Traffic are the bytes of a round, of all parties together.
type Traffic struct {
	Entries int     `json:"m"`
	Paper   float64 `json:"paper_bytes"`   // to and from clients as the paper counts
	Clients float64 `json:"client_bytes"`  // to and from clients on the wire
	Between float64 `json:"between_bytes"` // between servers on the wire
}

// all is everything on the wire.
func (w Traffic) all() float64 { return w.Clients + w.Between }

// TrafficOptions are the choices of RunTraffic.
type TrafficOptions struct {
	Servers  int
	Clients  int
	Rounds   int
	Features int
	Entries  []int
}

// RunTraffic runs a demo for every number of entries.
func RunTraffic(ctx context.Context, run lab.Run, o TrafficOptions) error {
	r := &TrafficReport{Machine: lab.Machine(), Servers: o.Servers, Clients: o.Clients,
		Rounds: o.Rounds, Features: o.Features}
	for _, m := range o.Entries {
		if m < 1 || m > r.Features {
			return fmt.Errorf("--entries is %v, want numbers from 1 to %d, the --features", o.Entries, r.Features)
		}
	}
	return run.WithProgram(ctx, func(_ string, p *lab.Program) error {
		if err := r.measure(ctx, p, o.Entries, run.Log); err != nil {
			return err
		}
		return run.Report(r)
	})
}

// measure runs a demo for all entries, and for each number of them that is shared.
func (r *TrafficReport) measure(ctx context.Context, p *lab.Program, entries []int, log io.Writer) error {
	for _, m := range append([]int{r.Features}, entries...) {
		var run struct {
			Clients []string `json:"clients"`
			Down    float64  `json:"bytes_down"`
			Up      float64  `json:"bytes_up"`
			Between float64  `json:"bytes_between"`
			Paper   float64  `json:"paper_bytes_down"`
			PaperUp float64  `json:"paper_bytes_up"`
		}
		flags := []string{"--algorithm", "gfml"}
		for name, n := range map[string]int{"servers": r.Servers, "clients": r.Clients, "rounds": r.Rounds,
			"features": r.Features, "entries": m} {
			flags = append(flags, "--"+name, strconv.Itoa(n))
		}
		if _, err := p.Demo(ctx, &run, flags...); err != nil {
			return err
		}
		if len(run.Clients) == 0 {
			return errors.New("hanse demo prints a result without clients")
		}
		clients := float64(len(run.Clients))
		r.Rows = append(r.Rows, Traffic{m, clients * (run.Paper + run.PaperUp), clients * (run.Down + run.Up),
			run.Between})
		fmt.Fprintf(log, "M = %d: done\n", m)
	}
	return nil
}

// Print prints the report for people.
func (r *TrafficReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d servers with %d clients each, %d rounds, D = %d; bytes of a round, all parties\n\n",
		r.Machine,
		r.Servers, r.Clients, r.Rounds, r.Features)
	t := table.New("M", "paper", "of O-GFML", "clients", "of O-GFML", "servers", "all", "of O-GFML")
	first := r.Rows[0]
	for _, row := range r.Rows {
		bytes := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		share := func(part, whole float64) string { return fmt.Sprintf("%.3f", part/whole) }
		t.Add(fmt.Sprint(row.Entries), bytes(row.Paper), share(row.Paper, first.Paper),
			bytes(row.Clients), share(row.Clients, first.Clients),
			bytes(row.Between), bytes(row.all()), share(row.all(), first.all()))
	}
	return t.Write(w)
}
