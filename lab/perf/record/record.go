// Package record measures what transcripts add to a training.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
	"github.com/hanse-project/hanse/protocol/contract"
)

// recordNothing stands for a training without transcripts beside protocol.RecordDigests and
// protocol.RecordFull.
const recordNothing = "nothing"

// recordWays lists what is compared; the first one is what the others are held against.
func recordWays() []string {
	return []string{recordNothing, contract.RecordDigests, contract.RecordFull}
}

// Report is what the command prints with --json.
type Report struct {
	Machine  string `json:"machine"`
	Set      string `json:"set"`
	Rows     int    `json:"rows"` // to train on
	Features int    `json:"features"`
	Parties  int    `json:"parties"`
	Repeat   int    `json:"repeat"`
	Ways     []Way  `json:"ways"`
}

// Way is one way to record. Counts are of one training and of all parties together.
type Way struct {
	Record     string    `json:"record"`
	Seconds    float64   `json:"seconds"`     // median
	Ratio      float64   `json:"to_nothing"`  // median of the ratios to the same round without transcripts
	Ratios     []float64 `json:"ratios"`      // by round
	CPUSeconds float64   `json:"cpu_seconds"` // median, of all parties together; 0: the system does not tell
	// median of the ratios in the same round, which a busy machine sways less
	CPURatio        float64 `json:"cpu_to_nothing"`
	Frames          int64   `json:"frames"` // records of frames: each frame at its sender and at its receiver
	TranscriptBytes int64   `json:"transcript_bytes"`
	BytesPerFrame   float64 `json:"transcript_bytes_per_frame"`
	HashedBytes     int64   `json:"hashed_bytes"` // payloads; the chain adds the transcript's own bytes
	KeptBytes       int64   `json:"kept_bytes"`   // payloads in the stores, each distinct one of a party once
}

// Options are the choices of Run.
type Options struct {
	Data     string
	Set      string
	Rows     int
	Features int
	Repeat   int
}

// Run measures one set.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if o.Repeat < 1 || o.Features < 0 {
		return fmt.Errorf("--repeat is %d and --features %d, want at least 1, and none or a positive number",
			o.Repeat, o.Features)
	}
	chosen, err := sets.Choose([]string{o.Set}, o.Data)
	if err != nil {
		return err
	}
	set := &chosen[0]
	if n := o.Features; n > 0 {
		set.Features = n
	}
	return lab.InFolder(func(dir string) (err error) {
		if err := set.Prepare(dir, o.Rows); err != nil {
			return fmt.Errorf("%s: %w", set.Name, err)
		}
		network, err := openRecordNetwork(ctx, set, dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, network.close()) }()
		rounds, err := alternateRecords(ctx, network, o.Repeat, run.Log)
		if err != nil {
			return err
		}
		return run.Report(&Report{Machine: lab.Machine(), Set: set.Name, Rows: network.rows, Features: set.Features,
			Parties: sets.Parties, Repeat: o.Repeat, Ways: compareRecords(rounds)})
	})
}

// alternateRecords trains by turns in all ways, after one round that does not count, and returns what
// each round took by way.
func alternateRecords(ctx context.Context, l *recordNetwork, repeat int, log io.Writer) ([]map[string]recorded,
	error) {
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
			i, took[recordNothing].seconds, took[contract.RecordDigests].seconds, took[contract.RecordFull].seconds)
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
func compareRecords(rounds []map[string]recorded) []Way {
	var ways []Way
	for _, name := range recordWays() {
		last := rounds[len(rounds)-1][name]
		w := Way{Record: name, Frames: last.frames, TranscriptBytes: last.transcript, HashedBytes: last.hashed,
			KeptBytes: last.kept}
		w.Seconds = lab.Median(lab.Each(rounds, func(r map[string]recorded) float64 { return r[name].seconds }))
		w.Ratios = lab.Each(rounds, func(r map[string]recorded) float64 { return r[name].seconds / r[recordNothing].seconds })
		w.Ratio = lab.Median(w.Ratios)
		w.CPUSeconds = lab.Median(lab.Each(rounds, func(r map[string]recorded) float64 { return r[name].cpu }))
		if w.CPUSeconds > 0 {
			w.CPURatio = lab.Median(lab.Each(rounds,
				func(r map[string]recorded) float64 { return r[name].cpu / r[recordNothing].cpu }))
		}
		if w.Frames > 0 {
			w.BytesPerFrame = float64(w.TranscriptBytes) / float64(w.Frames)
		}
		ways = append(ways, w)
	}
	return ways
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s, %d rows, %d features, %d parties in one process; medians of %d rounds, counts of "+
		"all parties together\n\n",
		r.Machine, r.Set, r.Rows, r.Features, r.Parties, r.Repeat)
	t := table.New("recorded", "train s", "to nothing", "least", "most", "CPU s", "to nothing", "frames",
		"transcripts kB", "bytes/frame", "GB hashed", "MB kept")
	for _, s := range r.Ways {
		written := s.Frames > 0
		t.Addf("%s|%.3f|%.3f|%.3f|%.3f|%s|%s|%s|%s|%s|%s|%s", s.Record, s.Seconds, s.Ratio, slices.Min(s.Ratios),
			slices.Max(s.Ratios), table.If(s.CPUSeconds > 0, "%.2f", s.CPUSeconds),
			table.If(s.CPURatio > 0, "%.3f", s.CPURatio), table.If(written, "%.0f", float64(s.Frames)),
			table.If(written, "%.1f", float64(s.TranscriptBytes)/1e3), table.If(written, "%.1f", s.BytesPerFrame),
			table.If(written, "%.3f", float64(s.HashedBytes)/1e9),
			table.If(s.KeptBytes > 0, "%.1f", float64(s.KeptBytes)/1e6))
	}
	return t.Write(w)
}
