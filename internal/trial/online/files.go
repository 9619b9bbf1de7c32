package online

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/keys"
)

// How the files of streams and of networks end.
const (
	streamSuffix = ".csv"
)

// The bounds of what is read for a trial on one machine.
const (
	maxFileStreams = 1000
	maxFileNumbers = 1 << 27 // in all rows of all streams
)

// filesCap is the authors' bound of 1/q in a step, for a job over files that says nothing else.
const filesCap = 20

// Files names what a trial over own files reads.
type Files struct {
	Streams  string // folder of the clients' streams, CSV files
	Networks string // folder of the server's networks, safetensors files
	Label    string // the column that clients foretell
}

// ReadFiles makes a trial of OFMS-FT of a server's networks and clients' streams that are in files, *.csv and
// *.safetensors in two folders. The clients are named by their files, or client-001 and so on if that of any file is
// no member's name. Options.Clients, Options.Servers and Options.Features mean nothing to it; without Options.Rounds
// there are as many as the shortest stream has rows. The range of labels that are numbers is theirs, if
// Options.Tuning has none.
func ReadFiles(ctx context.Context, o Options, f Files) (*Selection, error) {
	names, networks, err := readNetworks(f.Networks)
	if err != nil {
		return nil, err
	}
	task, err := ofmsft.TaskOf(networks)
	if err != nil {
		return nil, fmt.Errorf("networks in %s, in the order of their names: %w", f.Networks, err)
	}
	paths, streams, err := readStreams(ctx, f, o.Rounds, task.Inputs)
	if err != nil {
		return nil, err
	}
	if o.Rounds, err = cutStreams(paths, streams, o.Rounds); err != nil {
		return nil, err
	}
	if task.Loss == nn.SquaredError && o.Tuning.LabelLow == 0 && o.Tuning.LabelHigh == 0 {
		if o.Tuning.LabelLow, o.Tuning.LabelHigh, err = labelRange(f, streams); err != nil {
			return nil, err
		}
	}
	if o.Budget == 0 {
		o.Budget = float64(min(houseBudget, len(networks)))
	}
	p := ofmsft.Params{Label: f.Label, MaxImportance: filesCap,
		Step: float64(len(streams)) * 1e-3 / math.Sqrt(float64(o.Rounds))}
	return newSelection(o, federationOf(paths, streams), p, names, networks)
}

// federationOf is a server and a client for each file.
func federationOf(paths []string, streams []*Stream) *Federation {
	const server = "server"
	f := &Federation{Servers: []string{server}, Clients: [][]string{nil}, Streams: make(map[string]*Stream)}
	var names []string
	named := true
	for _, path := range paths {
		name := nameOf(path, streamSuffix)
		names, named = append(names, name), named && name != server && keys.CheckName(name) == nil
	}
	for i, s := range streams {
		if !named {
			names[i] = fmt.Sprintf("client-%03d", i+1)
		}
		f.Clients[0], f.Streams[names[i]] = append(f.Clients[0], names[i]), s
	}
	return f
}

// nameOf is a file's name without its folder and its ending.
func nameOf(path, suffix string) string { return strings.TrimSuffix(filepath.Base(path), suffix) }

// filesIn lists the files of a folder that end so, by name.
func filesIn(dir, suffix string, most int) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	if n := len(paths); n == 0 || n > most {
		return nil, fmt.Errorf("%s has %d files *%s, want 1 to %d", dir, n, suffix, most)
	}
	return paths, nil
}

// readNetworks reads the networks in a folder.
func readNetworks(dir string) (names []string, networks []*nn.Network, err error) {
	paths, err := filesIn(dir, nn.FileSuffix, maxFileStreams)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		n, err := nn.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		names, networks = append(names, nameOf(path, nn.FileSuffix)), append(networks, n)
	}
	return names, networks, nil
}

// readStreams reads the streams in a folder, up to so many rows of each or all for 0. All have the same columns, as
// many as the networks
// have inputs.
func readStreams(ctx context.Context, f Files, rows, inputs int) (paths []string, streams []*Stream, err error) {
	if paths, err = filesIn(f.Streams, streamSuffix, maxFileStreams); err != nil {
		return nil, nil, err
	}
	left := maxFileNumbers
	for _, path := range paths {
		s, err := readStream(ctx, path, f.Label, rows, inputs, left)
		if err != nil {
			return nil, nil, err
		}
		streams = append(streams, s)
		if first := streams[0].Columns; !slices.Equal(s.Columns, first) {
			return nil, nil, fmt.Errorf("%s has the columns %s, want %s as %s has", path, strings.Join(s.Columns, ", "),
				strings.Join(first, ", "), paths[0])
		}
		left -= len(s.Labels) * (len(s.Columns) + 1)
	}
	return paths, streams, nil
}

// readStream reads one stream, of at most so many numbers.
func readStream(ctx context.Context, path, label string, rows, inputs, numbers int) (_ *Stream, err error) {
	in, err := stream.Open(path, label, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	s := &Stream{Columns: in.Columns(), Label: label}
	if n := len(s.Columns); n != inputs {
		return nil, fmt.Errorf("%s has %d columns beside %s, want %d, the inputs of the networks", path, n, label, inputs)
	}
	for rows == 0 || len(s.Labels) < rows {
		row, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if numbers -= inputs + 1; numbers < 0 {
			return nil, fmt.Errorf("%s: the streams have more than %d numbers up to row %d", path, maxFileNumbers, row.Number)
		}
		s.Inputs, s.Labels = append(s.Inputs, row.Inputs), append(s.Labels, row.Label)
	}
	return s, nil
}

// cutStreams leaves as many rows of each stream as there are rounds, and returns how many there are: for 0 those of the
// shortest.
func cutStreams(paths []string, streams []*Stream, rounds int) (int, error) {
	shortest := 0
	for i, s := range streams {
		if len(s.Labels) < len(streams[shortest].Labels) {
			shortest = i
		}
	}
	has := len(streams[shortest].Labels)
	if has < max(rounds, 1) {
		return 0, fmt.Errorf("%s has %d rows, want at least %d, one for each round", paths[shortest], has, max(rounds, 1))
	}
	if rounds == 0 {
		rounds = has
	}
	for _, s := range streams {
		s.Inputs, s.Labels = s.Inputs[:rounds], s.Labels[:rounds]
	}
	return rounds, nil
}

// labelRange returns the least and the largest label.
func labelRange(f Files, streams []*Stream) (low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range streams {
		low, high = min(low, slices.Min(s.Labels)), max(high, slices.Max(s.Labels))
	}
	if low == high {
		return 0, 0, fmt.Errorf("all labels %q in %s are %v, want different ones, or a range of labels with the job",
			f.Label, f.Streams, low)
	}
	return low, high, nil
}
