package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/split"
)

// splitCommand cuts one table into vertical parts for trials.
func splitCommand() *cli.Command {
	return &cli.Command{
		Name:      "split",
		Usage:     "cut one table into the tables of several parties, for trials",
		ArgsUsage: "TABLE",
		Description: `Deals the columns to parties and the rows to training and test, as if each party
had known its columns all along. The first party has the label: where no column is called
label, --label says which is it. The same seed gives the same split.

   hanse split credit.csv --label default --names bank,insurer,telco,retailer -o trial
   hanse split a9a.gz --parties 4 -o trial
   hanse split --people 2000 -o trial
   hanse split --people 2000 --names north,east,south,west -o trial
   hanse split --people 2000 --overlap 0.6 -o trial

writes trial/bank/train.csv, trial/bank/test.csv, trial/insurer/train.csv and so on.
With --overlap the tables are those of real organisations: each lacks other people, and
has its own order. hanse align finds those that are in all of them.

A table is read as hanse node reads it, with its options behind a question mark or in a
file beside it (hanse table check --help). For jobs over clients' streams

   hanse split --algorithm pofmkl --clients 5 --rounds 400 -o trial
   hanse split --algorithm gfml --servers 3 --clients 3 -o trial

generates the streams of hanse demo, trial/park-01/train.csv and so on; test.csv has the
rows that come after.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "people", Usage: "without a table: generate the demo's credit data set of `N` people, for " +
				"four parties"},
			&cli.StringFlag{Name: "algorithm", Usage: "without a table: generate the demo's streams of an `ALGORITHM` over " +
				"clients: pofmkl, gfml or ofmsft"},
			&cli.IntFlag{Name: "clients", Value: split.Clients, Usage: "`N` clients of each server, with --algorithm"},
			&cli.IntFlag{Name: "servers", Value: 1, Usage: "`N` servers, with --algorithm gfml"},
			&cli.IntFlag{Name: "rounds", Value: split.Rounds, Usage: "`N` rows of each client, those to test with among them, " +
				"with --algorithm"},
			&cli.IntFlag{Name: "parties", Usage: "how many parties there are, `N` (default: as many as names, or 4)"},
			&cli.StringSliceFlag{Name: "names", Usage: "the parties' `NAMES`, with commas between (default: party1, party2, " +
				"…; with --people bank, insurer, telco, retailer)"},
			&cli.StringFlag{Name: "label", Usage: "the label `COLUMN`, which goes to the first party", DefaultText: "label"},
			&cli.BoolFlag{Name: "no-label", Usage: "deal all columns alike: none is a label"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of CSV files (default: the one called id)"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes though it looks like numbers; a " +
				"file beside the part that gets it tells the node"},
			missingFlag("what becomes of missing cells in a training; in the parts they stay missing, and a file beside each " +
				"tells the node"),
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "the public `SEED` of the shuffle"},
			&cli.Float64Flag{Name: "test", Value: 0.25, Usage: "the `SHARE` of the rows to test with, at least 0 and below 1"},
			&cli.Float64Flag{Name: "overlap", Value: 1, Usage: "the `SHARE` of the rows that all parties get; each of the " +
				"others is lacked by one party, all in turn, and rows stand in another order at each; at 1 all are alike"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "the `FOLDER` to write into"},
			jsonFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			return split.Run(&split.Options{
				Tables: c.Args().Slice(), People: c.Int("people"), Algorithm: c.String("algorithm"), Clients: c.Int("clients"),
				Servers: c.Int("servers"), Rounds: c.Int("rounds"), Parties: c.Int("parties"), Names: c.StringSlice("names"),
				Label: c.String("label"), NoLabel: c.Bool("no-label"), ID: c.String("id"), Missing: c.String("missing"),
				Categorical: c.StringSlice("categorical"), Seed: c.Uint64("seed"), TestShare: c.Float64("test"),
				Overlap: c.Float64("overlap"),
				Folder:  c.String("out"), JSON: c.Bool("json"), Given: c.IsSet, Out: c.App.Writer, Err: c.App.ErrWriter,
			})
		}),
	}
}
