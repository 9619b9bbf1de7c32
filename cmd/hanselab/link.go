package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/protocol"
)

// linkCommand compares masked sums with bare streams.
func linkCommand() *cli.Command {
	return &cli.Command{
		Name:  "link",
		Usage: "a masked sum of a long vector against bare libp2p streams of the same bytes",
		Description: `Starts a process for each party. By turns they sum a vector of 16-bit turns, masked,
and stream the same bytes along the same topology over plain libp2p (TCP, TLS 1.3,
yamux, its default settings) with nothing added, nothing summed and nothing masked.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "parties", Value: benchmarkParties, Usage: "`N` processes"},
			&cli.IntFlag{Name: "bytes", Value: 64 << 20, Usage: "`SIZE` of the vector"},
			&cli.IntFlag{Name: "repeat", Value: 7, Usage: "sums of each kind, of which the median counts"},
			&cli.StringSliceFlag{Name: "topology", Value: cli.NewStringSlice("tree", "star", "ring"), Usage: "`SHAPES` of the sum"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runLink,
	}
}

// linkReport is what the command prints with --json.
type linkReport struct {
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
	Ratio         float64 `json:"masked_to_bare"` // of the rates
}

// runLink measures all topologies.
func runLink(c *cli.Context) error {
	r := linkReport{Machine: machine(), Parties: c.Int("parties"), Bytes: c.Int("bytes"), Repeat: c.Int("repeat")}
	if r.Bytes < 2 || r.Bytes%2 != 0 || r.Repeat < 1 {
		return errors.New("--bytes must be even and --repeat at least 1")
	}
	for _, shape := range c.StringSlice("topology") {
		if _, err := protocol.ParseTopology(shape); err != nil {
			return err
		}
		pair, err := measureLink(c.Context, shape, &r)
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		r.Shapes = append(r.Shapes, pair)
	}
	return r.print(c.App.Writer, c.Bool("json"))
}

// measureLink measures one topology in fresh processes.
func measureLink(ctx context.Context, shape string, r *linkReport) (pair linkPair, err error) {
	dir, remove, err := workDir()
	if err != nil {
		return pair, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	league, err := trial.Found(dir, trial.PartyNames(r.Parties), "masked")
	if err != nil {
		return pair, err
	}
	crew, err := startCrew(ctx, league, shape, r.Bytes)
	if err != nil {
		return pair, err
	}
	defer func() { err = errors.Join(err, crew.stop()) }()
	masked, bare, err := alternate(crew, r.Repeat)
	if err != nil {
		return pair, err
	}
	moved := float64(r.Bytes) * float64(r.Parties-1)
	m, b := median(masked), median(bare)
	return linkPair{Topology: shape, MaskedSeconds: m, BareSeconds: b, MaskedRate: moved / m, BareRate: moved / b, Ratio: b / m}, nil
}

// alternate runs masked sums and bare streams by turns, after one of each that does not count.
func alternate(crew *crew, repeat int) (masked, bare []float64, err error) {
	for i := range repeat + 1 {
		for _, what := range []string{taskMasked, taskBare} {
			took, err := crew.round(what)
			if err != nil {
				return nil, nil, err
			}
			switch {
			case i == 0:
			case what == taskMasked:
				masked = append(masked, took.Seconds())
			default:
				bare = append(bare, took.Seconds())
			}
		}
	}
	return masked, bare, nil
}

// round tells all workers to do a task and returns the time until the last is done.
func (c *crew) round(task string) (time.Duration, error) {
	if err := c.await(sayReady); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := c.tell(task); err != nil {
		return 0, err
	}
	err := c.await(sayDone)
	return time.Since(start), err
}

// print prints the report for people or for programs.
func (r *linkReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%d processes, a vector of %.1f MB, medians of %d\n\n", r.Machine, r.Parties, float64(r.Bytes)/1e6, r.Repeat)
	t := newTable("topology", "masked sum s", "bare streams s", "masked GB/s", "bare GB/s", "masked/bare")
	for _, p := range r.Shapes {
		t.add(p.Topology, fmt.Sprintf("%.3f", p.MaskedSeconds), fmt.Sprintf("%.3f", p.BareSeconds),
			fmt.Sprintf("%.2f", p.MaskedRate/1e9), fmt.Sprintf("%.2f", p.BareRate/1e9), fmt.Sprintf("%.2f", p.Ratio))
	}
	return t.write(w)
}
