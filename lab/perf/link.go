package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"

	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
	"github.com/hanse-project/hanse/protocol/contract"
)

// LinkReport is what the command prints with --json.
type LinkReport struct {
	Machine string     `json:"machine"`
	Parties int        `json:"parties"`
	Bytes   int        `json:"bytes"` // of the vector
	Repeat  int        `json:"repeat"`
	Shapes  []linkPair `json:"shapes"`
}

// linkPair is the comparison on one topology. A rate counts every hop: the bytes of the vector
// times the parties but one, over the time of the slowest party.
type linkPair struct {
	Topology      string  `json:"topology"`
	MaskedSeconds float64 `json:"masked_seconds"`
	BareSeconds   float64 `json:"bare_seconds"`
	MaskedRate    float64 `json:"masked_bytes_per_second"`
	BareRate      float64 `json:"bare_bytes_per_second"`
	Ratio         float64 `json:"masked_to_bare"`     // of the rates
	MaskedCPU     float64 `json:"masked_cpu_seconds"` // of all processes
	BareCPU       float64 `json:"bare_cpu_seconds"`
}

// LinkOptions are the choices of Link.
type LinkOptions struct {
	Parties  int
	Bytes    int
	Repeat   int
	Topology []string
}

// Link measures all topologies.
func Link(ctx context.Context, run lab.Run, o LinkOptions) error {
	r := LinkReport{Machine: lab.Machine(), Parties: o.Parties, Bytes: o.Bytes, Repeat: o.Repeat}
	if r.Bytes < 2 || r.Bytes%2 != 0 || r.Repeat < 1 {
		return errors.New("--bytes must be even and --repeat at least 1")
	}
	for _, shape := range o.Topology {
		if _, err := contract.ParseTopology(shape); err != nil {
			return err
		}
		pair, err := measureLink(ctx, shape, &r)
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		r.Shapes = append(r.Shapes, pair)
	}
	return run.Report(&r)
}

// measureLink measures one topology in fresh processes.
func measureLink(ctx context.Context, shape string, r *LinkReport) (pair linkPair, err error) {
	var masked, bare []taken
	err = lab.InFolder(func(dir string) (err error) {
		network, err := localnet.Found(dir, trial.PartyNames(r.Parties), "masked")
		if err != nil {
			return err
		}
		var workers Processes
		defer func() { err = errors.Join(err, workers.Stop()) }()
		if err := startLinks(ctx, &workers, network, shape, r.Bytes); err != nil {
			return err
		}
		masked, bare, err = alternate(&workers, r.Repeat)
		return err
	})
	if err != nil {
		return pair, err
	}
	moved := float64(r.Bytes) * float64(r.Parties-1)
	seconds, cpu := func(t taken) float64 { return t.seconds }, func(t taken) float64 { return t.cpu }
	m, b := lab.Median(lab.Each(masked, seconds)), lab.Median(lab.Each(bare, seconds))
	return linkPair{Topology: shape, MaskedSeconds: m, BareSeconds: b, MaskedRate: moved / m, BareRate: moved / b,
		Ratio: b / m, MaskedCPU: lab.Median(lab.Each(masked, cpu)), BareCPU: lab.Median(lab.Each(bare, cpu))}, nil
}

// startLinks starts a process for each member and tells all where the others are.
func startLinks(ctx context.Context, workers *Processes, l *localnet.Federation, shape string, size int) error {
	for _, name := range l.Names {
		err := workers.Start(ctx, name, LinkWorkerName, "--dir", l.Dir, "--name", name, "--topology", shape,
			"--bytes", fmt.Sprint(size))
		if err != nil {
			return err
		}
	}
	addresses, err := workers.Await(sayHere)
	if err != nil {
		return err
	}
	return workers.Send(strings.Join(addresses, " "))
}

// taken is what one task took: seconds by the clock, and of the processor in all workers.
type taken struct{ seconds, cpu float64 }

// alternate runs masked sums and bare streams by turns, after one of each that does not count.
func alternate(workers *Processes, repeat int) (masked, bare []taken, err error) {
	for i := range repeat + 1 {
		for _, what := range []string{taskMasked, taskBare} {
			took, err := round(workers, what)
			if err != nil {
				return nil, nil, err
			}
			switch {
			case i == 0:
			case what == taskMasked:
				masked = append(masked, took)
			default:
				bare = append(bare, took)
			}
		}
	}
	return masked, bare, nil
}

// round tells all workers to do a task and returns what it took until the last was done.
func round(workers *Processes, task string) (t taken, err error) {
	if _, err := workers.Await(SayReady); err != nil {
		return t, err
	}
	start := time.Now()
	if err := workers.Send(task); err != nil {
		return t, err
	}
	_, err = workers.Await(SayDone)
	t.seconds = time.Since(start).Seconds()
	if err != nil {
		return t, err
	}
	if err := workers.Send(sayCPU); err != nil {
		return t, err
	}
	all, err := workers.Await(sayCPU)
	if err != nil {
		return t, err
	}
	for _, said := range all {
		cpu, err := strconv.ParseFloat(said, 64)
		if err != nil {
			return t, fmt.Errorf("a worker's processor seconds are %q: %w", said, err)
		}
		t.cpu += cpu
	}
	return t, nil
}

// Print prints the report for people.
func (r *LinkReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d processes, a vector of %.1f MB, medians of %d\n\n", r.Machine, r.Parties,
		float64(r.Bytes)/1e6, r.Repeat)
	t := table.New("topology", "masked sum s", "bare streams s", "masked GB/s", "bare GB/s", "masked/bare",
		"masked CPU s", "bare CPU s")
	for _, p := range r.Shapes {
		t.Addf("%s|%.3f|%.3f|%.2f|%.2f|%.2f|%.3f|%.3f", p.Topology, p.MaskedSeconds, p.BareSeconds, p.MaskedRate/1e9,
			p.BareRate/1e9, p.Ratio, p.MaskedCPU, p.BareCPU)
	}
	return t.Write(w)
}
