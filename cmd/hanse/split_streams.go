package main

import (
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/trial/online"
)

// Sizes of generated streams when the flags do not say.
const (
	splitClients = 5
	splitRounds  = 400
)

// Limits of generated streams.
const (
	maxSplitClients = 1000
	maxSplitServers = 16
	maxSplitRounds  = 1_000_000
)

// splitStreams writes the generated streams of an algorithm over clients: each client's first rows to learn from, and
// those after them to test with.
func splitStreams(c *cli.Context) error {
	if err := checkSplitStreams(c); err != nil {
		return err
	}
	rounds, seed := c.Int("rounds"), c.Uint64("seed")
	train := rounds - int(math.Round(c.Float64("test")*float64(rounds)))
	o := online.Options{Servers: c.Int("servers"), Clients: c.Int("clients"), Rounds: rounds, Seed: seed}
	f, err := online.NewStreams(c.String("algorithm"), o)
	if err != nil {
		return usagef("--%v", err)
	}
	r := splitReport{Seed: seed, Constant: []string{}}
	for s, server := range f.Servers {
		for _, name := range f.Clients[s] {
			stream, folder := f.Streams[name], filepath.Join(c.String("out"), name)
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return err
			}
			if err := stream.Rows(0, train).Write(filepath.Join(folder, "train.csv")); err != nil {
				return err
			}
			if err := stream.Rows(train, rounds).Write(filepath.Join(folder, "test.csv")); err != nil {
				return err
			}
			r.Label = stream.Label
			r.Parties = append(r.Parties, share{name, stream.Columns, train, rounds - train, folder, server})
		}
	}
	if c.Bool("json") {
		return printJSON(c, r)
	}
	t := newTable(c.App.Writer)
	t.row("client", "of", "inputs", "label", "rows to learn", "to test", "folder")
	for _, s := range r.Parties {
		inputs := strconv.Itoa(len(s.Columns))
		t.row(s.Party, s.Server, inputs, r.Label, strconv.Itoa(s.Train), strconv.Itoa(s.Test), s.Folder)
	}
	return t.flush()
}

// checkSplitStreams refuses what does not go with generated streams.
func checkSplitStreams(c *cli.Context) error {
	for _, size := range []struct {
		name string
		most int
	}{{"clients", maxSplitClients}, {"servers", maxSplitServers}, {"rounds", maxSplitRounds}} {
		if n := c.Int(size.name); n < 1 || n > size.most {
			return usagef("--%s is %d, want 1 to %d", size.name, n, size.most)
		}
	}
	switch {
	case c.Args().Present():
		return usagef("give a table or --algorithm, not both")
	case c.String("out") == "":
		return usagef("give the folder to write into: hanse split --algorithm %s --out FOLDER", c.String("algorithm"))
	case !(c.Float64("test") >= 0 && c.Float64("test") < 1):
		return usagef("--test is %g, want a share of the rows, at least 0 and below 1", c.Float64("test"))
	case c.String("algorithm") != online.AlgorithmGFML && c.Int("servers") != 1:
		return usagef("--servers is %d: %s has one server", c.Int("servers"), c.String("algorithm"))
	}
	for _, name := range []string{"label", "id", "categorical", "missing", "names", "parties"} {
		if c.IsSet(name) {
			return usagef("--%s says how a table is read or dealt out, and --algorithm reads none; "+
				"give a table, or leave it out", name)
		}
	}
	return nil
}
