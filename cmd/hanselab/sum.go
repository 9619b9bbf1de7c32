package main

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/secagg/cohort"
)

// sumCommand measures secure sums of many clients.
func sumCommand() *cli.Command {
	return &cli.Command{
		Name:  "sum",
		Usage: "one secure sum of many clients to a server, over TLS connections, while some drop out",
		Description: `Starts a server and, in a few more processes, its clients: each has a host, a key and
connections of its own. They add vectors of full-width words; the server compares the
total of those who stayed with their vectors, word by word.

A timed sum begins with all clients and loses floor(dropout x clients) of them, each at a
random step: its host closes instead of sending. For the next timed sum the lost ones come
back on new hosts, all meet in a new session with fresh keys, and add once (--warm)
without losses, so that each timed sum is the second of its session. The first one, in
which all keys are new, is first_sum_seconds. Beyond 32 clients every sum draws another
graph of who is masked against whom, and pairs that meet in it for the first time agree on
a key; more of --warm leaves fewer of them. After each timed sum all connect again and send
frames of the same sizes without any protocol: the bare streams.

Clients share this machine: what is measured is the work of all, not the line of one. Where
other programs run too, processor seconds stand firmer than those of the clock. Hosts beat
every 10 s and give a silent one up after a minute.

--clients, --words, --backend and --topology take lists; all combinations are measured.

   hanselab sum --clients 1000 --words 10000 --dropout 0.1
   hanselab sum --clients 100,300,1000 --backend plain,masked --sums 1 --json`,
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "clients", Value: cli.NewIntSlice(1000), Usage: "`NUMBERS` of clients"},
			&cli.IntSliceFlag{Name: "words", Value: cli.NewIntSlice(10_000), Usage: "`LENGTHS` of the vectors, in words"},
			&cli.IntFlag{Name: "bits", Value: 64, Usage: "`WIDTH` of a word"},
			&cli.StringSliceFlag{Name: "backend", Value: cli.NewStringSlice(string(cohort.Masked)), Usage: "`BACKENDS`: masked, he, plain"},
			&cli.StringSliceFlag{Name: "topology", Value: cli.NewStringSlice("star"), Usage: "`SHAPES` of the sum: star, tree, ring"},
			&cli.Float64Flag{Name: "dropout", Value: 0.1, Usage: "`FRACTION` of the clients that drop out of each timed sum"},
			&cli.Float64Flag{Name: "corrupt", Value: cohort.DefaultTolerance().Corrupt, Usage: "`FRACTION` of the clients that the masks withstand in league with the server"},
			&cli.IntFlag{Name: "sums", Value: 3, Usage: "timed sums, of which the median counts"},
			&cli.IntFlag{Name: "warm", Value: 1, Usage: "sums without losses before each timed one, in its session"},
			&cli.IntFlag{Name: "processes", Value: 4, Usage: "processes that share the clients"},
			&cli.DurationFlag{Name: "patience", Value: 2 * time.Minute, Usage: "how long the server waits for the silent in each round"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of who drops out and when"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runSum,
	}
}

// runSum measures all combinations.
func runSum(c *cli.Context) error {
	cases, err := sumCases(c)
	if err != nil {
		return err
	}
	report := &sumReport{Machine: machine()}
	for _, s := range cases {
		r, err := measureSum(c.Context, s, c.App.ErrWriter)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		report.Runs = append(report.Runs, r)
	}
	report.finish()
	return report.print(c.App.Writer, c.Bool("json"))
}

// sumCase is one combination to measure. Workers read it from a file.
type sumCase struct {
	Clients   int
	Words     int
	Bits      int
	Backend   cohort.Backend
	Topology  string
	Dropout   float64
	Corrupt   float64
	Sums      int
	Warm      int
	Processes int
	Patience  time.Duration
	Seed      uint64
}

// String names the case in errors and in the progress.
func (s sumCase) String() string {
	return fmt.Sprintf("%d clients, %d words, %s, %s", s.Clients, s.Words, s.Backend, s.Topology)
}

// vector is what is summed.
func (s sumCase) vector() cohort.Vector {
	return cohort.Vector{Kind: sumKind, Words: s.Words, Bits: s.Bits}
}

// leaving returns how many clients a timed sum loses. What is missing to a whole by the rounding of
// the fraction is forgiven.
func (s sumCase) leaving() int { return int(s.Dropout*float64(s.Clients) + 1e-9) }

// sumLog tells the person at the terminal how far a case is.
type sumLog struct {
	out  io.Writer
	name string
}

// say prints one line.
func (l sumLog) say(format string, args ...any) {
	fmt.Fprintf(l.out, "%s: %s\n", l.name, fmt.Sprintf(format, args...))
}
