package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/protocol"
)

// recordNothing stands for a training without transcripts beside protocol.RecordDigests and
// protocol.RecordFull.
const recordNothing = "nothing"

// recordWays lists what is compared; the first one is what the others are held against.
func recordWays() []string {
	return []string{recordNothing, protocol.RecordDigests, protocol.RecordFull}
}

// recordCommand measures what transcripts cost.
func recordCommand() *cli.Command {
	return &cli.Command{
		Name:  "record",
		Usage: "what writing transcripts adds to a training: none, digests, and with all payloads",
		Description: `Trains FDSKL on a benchmark set among four parties in this process that talk over TLS
and TCP, by turns without transcripts, with digests, and with payloads kept. All of a
party's hashing and writing competes with the trainings of all four for the processors.
Times run from open sessions to the last countersignature and synced transcript; on a
busy machine the processor time is the firmer figure.

   hanselab record --data ../shared/data
   hanselab record --data ../shared/data --set phishing --repeat 11`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.StringFlag{Name: "set", Value: "a9a", Usage: "`SET` to train on"},
			rowsFlag(),
			&cli.IntFlag{Name: "features", Usage: "`D` random features", DefaultText: "the set's"},
			&cli.IntFlag{Name: "repeat", Value: 7, Usage: "`N` rounds of the three, after one that does not count"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runRecord,
	}
}

// recordReport is what the command prints with --json.
type recordReport struct {
	Machine  string      `json:"machine"`
	Set      string      `json:"set"`
	Rows     int         `json:"rows"` // to train on
	Features int         `json:"features"`
	Parties  int         `json:"parties"`
	Repeat   int         `json:"repeat"`
	Ways     []recordWay `json:"ways"`
}

// recordWay is one way to record. Counts are of one training and of all parties together.
type recordWay struct {
	Record          string    `json:"record"`
	Seconds         float64   `json:"seconds"`        // median
	Ratio           float64   `json:"to_nothing"`     // median of the ratios to the same round without transcripts
	Ratios          []float64 `json:"ratios"`         // by round
	CPUSeconds      float64   `json:"cpu_seconds"`    // median, of all parties together; 0: the system does not tell
	CPURatio        float64   `json:"cpu_to_nothing"` // median of the ratios in the same round, which a busy machine sways less
	Frames          int64     `json:"frames"`         // records of frames: each frame at its sender and at its receiver
	TranscriptBytes int64     `json:"transcript_bytes"`
	BytesPerFrame   float64   `json:"transcript_bytes_per_frame"`
	HashedBytes     int64     `json:"hashed_bytes"` // payloads; the chain adds the transcript's own bytes
	KeptBytes       int64     `json:"kept_bytes"`   // payloads in the stores, each distinct one of a party once
}

// runRecord measures one set.
func runRecord(c *cli.Context) (err error) {
	if c.Int("repeat") < 1 || c.Int("features") < 0 {
		return fmt.Errorf("--repeat is %d and --features %d, want at least 1, and none or a positive number",
			c.Int("repeat"), c.Int("features"))
	}
	sets, err := chooseSets([]string{c.String("set")}, c.String("data"))
	if err != nil {
		return err
	}
	set := &sets[0]
	if n := c.Int("features"); n > 0 {
		set.features = n
	}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := set.prepare(dir, c.Int("rows")); err != nil {
		return fmt.Errorf("%s: %w", set.name, err)
	}
	report := recordReport{Machine: machine(), Set: set.name, Features: set.features, Parties: benchmarkParties, Repeat: c.Int("repeat")}
	league, err := openRecordLeague(c.Context, set, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, league.close()) }()
	report.Rows = league.rows
	rounds, err := alternateRecords(c.Context, league, report.Repeat, c.App.ErrWriter)
	if err != nil {
		return err
	}
	report.Ways = compareRecords(rounds)
	return report.print(c.App.Writer, c.Bool("json"))
}

// alternateRecords trains by turns in all ways, after one round that does not count, and returns what
// each round took by way.
func alternateRecords(ctx context.Context, l *recordLeague, repeat int, log io.Writer) ([]map[string]recorded, error) {
	var rounds []map[string]recorded
	for i := range repeat + 1 {
		took := make(map[string]recorded)
		for _, way := range recordOrder(i) {
			r, err := l.round(ctx, way)
			if err != nil {
				return nil, fmt.Errorf("round %d, recording %s: %w", i, way, err)
			}
			took[way] = r
		}
		fmt.Fprintf(log, "round %d: %.3f s without transcripts, %.3f s with digests, %.3f s with payloads\n",
			i, took[recordNothing].seconds, took[protocol.RecordDigests].seconds, took[protocol.RecordFull].seconds)
		if i > 0 {
			rounds = append(rounds, took)
		}
	}
	return rounds, nil
}

// recordOrder returns the ways in the order of round i: all six orders in six rounds, so that none
// gains from what ran before it.
func recordOrder(i int) []string {
	ways := recordWays()
	n := i % len(ways)
	ways = append(slices.Clone(ways[n:]), ways[:n]...)
	if i%2 == 1 {
		slices.Reverse(ways)
	}
	return ways
}

// compareRecords reduces one or more rounds. Ratios are of times of the same round.
func compareRecords(rounds []map[string]recorded) []recordWay {
	var ways []recordWay
	for _, name := range recordWays() {
		last := rounds[len(rounds)-1][name]
		w := recordWay{Record: name, Frames: last.frames, TranscriptBytes: last.transcript, HashedBytes: last.hashed, KeptBytes: last.kept}
		w.Seconds = median(each(rounds, func(r map[string]recorded) float64 { return r[name].seconds }))
		w.Ratios = each(rounds, func(r map[string]recorded) float64 { return r[name].seconds / r[recordNothing].seconds })
		w.Ratio = median(w.Ratios)
		w.CPUSeconds = median(each(rounds, func(r map[string]recorded) float64 { return r[name].cpu }))
		if w.CPUSeconds > 0 { // a training shorter than the clock's tick counts as one
			w.CPURatio = median(each(rounds, func(r map[string]recorded) float64 { return r[name].cpu / max(r[recordNothing].cpu, 1./ticksPerSecond) }))
		}
		if w.Frames > 0 {
			w.BytesPerFrame = float64(w.TranscriptBytes) / float64(w.Frames)
		}
		ways = append(ways, w)
	}
	return ways
}

// print prints the report for people or for programs.
func (r *recordReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%s, %d rows, %d features, %d parties in one process; medians of %d rounds, counts of all parties together\n\n",
		r.Machine, r.Set, r.Rows, r.Features, r.Parties, r.Repeat)
	t := newTable("recorded", "train s", "to nothing", "least", "most", "CPU s", "to nothing", "frames", "transcripts kB", "bytes/frame", "GB hashed", "MB kept")
	for _, s := range r.Ways {
		written := s.Frames > 0
		t.add(s.Record, fmt.Sprintf("%.3f", s.Seconds), fmt.Sprintf("%.3f", s.Ratio),
			fmt.Sprintf("%.3f", slices.Min(s.Ratios)), fmt.Sprintf("%.3f", slices.Max(s.Ratios)),
			unknown(s.CPUSeconds > 0, "%.2f", s.CPUSeconds), unknown(s.CPURatio > 0, "%.3f", s.CPURatio),
			unknown(written, "%.0f", float64(s.Frames)), unknown(written, "%.1f", float64(s.TranscriptBytes)/1e3),
			unknown(written, "%.1f", s.BytesPerFrame), unknown(written, "%.3f", float64(s.HashedBytes)/1e9),
			unknown(s.KeptBytes > 0, "%.1f", float64(s.KeptBytes)/1e6))
	}
	return t.write(w)
}
