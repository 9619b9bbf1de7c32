package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/credit"
	"github.com/hanse-project/hanse/internal/demo"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/protocol/contract"
)

// demoCommand shows the whole path on one machine.
func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "four organisations, four processes, one model: the whole path on this machine",
		Description: `Generates a credit data set (20,000 people; a bank with the label, an insurer, a
telco, a retailer; each lacks another tenth of them, and has an order of its own), makes
key files and a charter, starts a node process for each, finds the 12,000 people whom all
have, trains on three quarters of them over TLS, scores the others, compares, and audits
its own transcripts: what left each machine, who learned what, and what real attacks
rebuild from it.

   hanse demo
   hanse demo --data applicants.csv --label default --parties 5
   hanse demo --data a9a.gz --data a9a.t.gz --features 1024 --json

Features, equations and model are shares of the label holder and two others, of whom none
learns more than scores and a few numbers. Other modes open more, and --aggregation he and
--schedule doubly-stochastic choose the mode masked, which alone has them:

   hanse demo --loss logistic --people 4000
   hanse demo --privacy masked
   hanse demo --aggregation he --people 2000
   hanse demo --privacy published --i-know-this-leaks

A scorecard of bins in place of a kernel is sealed too, moves a twentieth of the bytes a
row, and its points can be read:

   hanse demo --algorithm glm
   hanse demo --algorithm glm --points bank --dir card
   hanse scorecard demo --dir card/bank/node

Or clients learn together from streams that never leave them, row by row: wind and sun
parks foretell their output (pofmkl, one server), sensors at servers on a ring learn
related functions (gfml), or houses foretell their heat with networks of ten other towns,
of which a server has all and each house, on its budget, a few at a time (ofmsft); own
streams and networks can take their place. Each server is a process, the clients share a
few more.

   hanse demo --algorithm pofmkl
   hanse demo --algorithm pofmkl --clients 40 --rounds 500 --dir parks
   hanse demo --algorithm pofmkl --common-bin
   hanse demo --algorithm gfml --servers 4 --clients 5 --json
   hanse demo --algorithm gfml --servers 2 --aggregation he --rounds 50
   hanse demo --algorithm ofmsft --budget 3 --dir houses
   hanse demo --algorithm ofmsft --streams rows --networks nets --label heat

With --dir the folders, logs, model parts and the audit's report stay to be looked at.
A leak gives exit code 3; with --record digests not all attacks can be tried, and the exit code is 4.`,
		Flags: demoFlags(),
		Action: func(c *cli.Context) error {
			o := demoOptions(c)
			ctx, gone := context.WithCancelCause(c.Context)
			defer gone(nil)
			o.Out, o.Err = terminal.Watched(o.Out, gone), terminal.Watched(o.Err, gone)
			err := demo.Run(ctx, o)
			if cause := context.Cause(ctx); errors.Is(cause, syscall.EPIPE) {
				return cause
			}
			return err
		},
	}
}

// demoFlags lists the demo's flags.
func demoFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "algorithm", Value: contract.FDSKL, Usage: "fdskl or glm (a scorecard), over columns of " +
			"the same people; pofmkl, gfml or ofmsft, over many clients' streams"},
		&cli.IntFlag{Name: "bins", Usage: "about `N` bins of each column of numbers in glm", DefaultText: "10"},
		&cli.IntFlag{Name: "min-cell", Usage: "a bin of glm has `N` rows at least", DefaultText: "20"},
		&cli.StringFlag{Name: "points", Usage: "`WHO` learns the points of glm's bins: owners (each those of its own), " +
			"or a party, all", DefaultText: "nobody"},
		&cli.StringFlag{Name: "z-scores", Usage: "`WHO` learns how sure the points are; the same"},
		&cli.IntFlag{Name: "clients", Usage: "`N` clients of each server of pofmkl, gfml and ofmsft",
			DefaultText: "12, 5, 12"},
		&cli.IntFlag{Name: "servers", Usage: "`N` servers of gfml", DefaultText: "4"},
		&cli.BoolFlag{Name: "common-bin", Usage: "all clients of a round of pofmkl move one bin of kernels, drawn from " +
			"the seed, " +
			"and their updates are of those alone"},
		&cli.Float64Flag{Name: "budget", Usage: "networks of this cost `B`, the largest at 1 each, are at a client of " +
			"ofmsft at a time", DefaultText: "4"},
		&cli.GenericFlag{Name: "data", Value: new(words), Usage: "a table as hanse node takes it, `FILE[?KEY=VALUE&...]`; " +
			"several are stacked", DefaultText: "generated"},
		&cli.StringFlag{Name: "label", Usage: "the label's `COLUMN` in --data (default: label, target, class or y, else " +
			"the last) or --streams"},
		&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of --data", DefaultText: "the one called id"},
		&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` of --data that holds codes though it looks like numbers"},
		missingFlag("what becomes of missing cells of --data"),
		&cli.IntFlag{Name: "people", Value: demo.People, Usage: "`N` people to generate, of whom each party has a part",
			Action: atLeast("people", 2, credit.MaxPeople)},
		&cli.Float64Flag{Name: "overlap", Value: trial.Overlap, Usage: "the `SHARE` of the people whom all parties have; " +
			"each of the others is lacked by one party; at 1 all tables are of the same people, and none is aligned"},
		&cli.IntFlag{Name: "parties", Value: 4, Usage: "`N` parties that share the columns of --data"},
		&cli.StringFlag{Name: "privacy", Usage: "sealed, masked or published; over streams masked or published",
			DefaultText: "sealed; masked over streams"},
		&cli.StringFlag{Name: "aggregation", Value: contract.AggregateMasked,
			Usage: "what protects the sums of masked jobs: masked (one-time masks) or he (homomorphic encryption, some 50 " +
				"times the traffic)"},
		&cli.BoolFlag{Name: "i-know-this-leaks", Usage: "run --privacy published, which shows the other parties' rows to " +
			"the tree's inner nodes"},
		&cli.StringFlag{Name: "schedule", Value: fdskl.Fixed, Usage: "fixed or doubly-stochastic (the paper's)"},
		&cli.StringFlag{Name: "loss", Usage: "square, logistic or smooth-hinge, which is of masked jobs alone " +
			"(default: logistic for two classes in masked jobs and of scorecards, else square)"},
		&cli.StringFlag{Name: "target", Usage: "classification or regression (default: texts, two values and codes are " +
			"classes, other numbers a regression)"},
		&cli.StringFlag{Name: "kernel", Value: "gaussian", Usage: "gaussian, laplace, matern32 or matern52"},
		&cli.Float64Flag{Name: "sigma", Usage: "kernel width `SIGMA`", DefaultText: "the median heuristic"},
		&cli.Float64Flag{Name: "lambda", Usage: "regulariser `LAMBDA`", DefaultText: "auto"},
		&cli.StringFlag{Name: "scale", Value: "auto", Usage: "of numbers: auto (minmax, and a logarithm where a few " +
			"outliers squeeze the rest), minmax, standard or rank"},
		&cli.IntFlag{Name: "features", Usage: "`D` random features, of each kernel in pofmkl",
			DefaultText: "256 to 1024, 10, 200"},
		&cli.IntFlag{Name: "entries", Usage: "`M` entries of a model that a client of gfml shares", DefaultText: "all"},
		&cli.IntFlag{Name: "iterations", Aliases: []string{"rounds"}, Usage: "`N` solver iterations, at most in masked " +
			"jobs, or T of the doubly stochastic schedule; rounds of the others", DefaultText: "300, 200; 300"},
		&cli.StringFlag{Name: "topology", Value: "tree", Usage: "along which sums travel: tree, star or ring",
			DefaultText: "tree; star over streams"},
		&cli.StringFlag{Name: "diffusion", Usage: "how gfml's servers combine their models: masked (sums of their " +
			"neighbourhoods) or plain (each sees its neighbours')", DefaultText: "masked from 3 servers on"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "public `SEED` of split and features"},
		&cli.StringFlag{Name: "dir", Usage: "work in this `FOLDER` and keep it (default: a temporary one, removed)"},
		&cli.IntFlag{Name: "workers", Usage: "`N` goroutines of each node", DefaultText: "all cores",
			Action: atLeast("workers", 0, 0)},
		&cli.BoolFlag{Name: "quick", Usage: "skip the baselines"},
		&cli.BoolFlag{Name: "verbose", Usage: "show each contract whole, all figures, and what each party learned"},
		&cli.StringFlag{Name: "record", Value: contract.RecordFull, Usage: "what transcripts keep: full, or digests, on " +
			"which few attacks can be tried", DefaultText: "full; digests over streams"},
		jsonFlag(),

		// Of OFMS-FT alone, as the budget is.
		&cli.StringFlag{Name: "streams", Usage: "`FOLDER` of CSV files, the stream of a client of ofmsft each (default: " +
			"generated)"},
		&cli.StringFlag{Name: "networks", Usage: "`FOLDER` of safetensors files, the networks of ofmsft's server for " +
			"--streams"},
		&cli.StringFlag{Name: "label-range", Usage: "`LOW:HIGH` of the labels in --streams (default: as the files have " +
			"them)"},
		&cli.Float64Flag{Name: "input-norm", Usage: "the inputs in --streams are divided by this `NUMBER`", DefaultText: "1"},
		&cli.Float64Flag{Name: "step", Usage: "`ETA` of a network's step in ofmsft",
			DefaultText: "0.05; of --streams 0.001 N/sqrt(T) for N clients"},
		&cli.IntFlag{Name: "window", Usage: "a step of ofmsft is over a client's `N` newest rows",
			DefaultText: "12; of --streams 1"},
		&cli.IntFlag{Name: "warm-up", Usage: "`N` rounds of ofmsft before the first step"},
		&cli.Float64Flag{Name: "max-importance", Usage: "`CAP` of what a step of ofmsft counts for a network that is " +
			"seldom stored", DefaultText: "3; of --streams 20"},
		&cli.Float64Flag{Name: "bandwidth", Usage: "`E` of ofmsft's server, in units of the budget: whose steps it does " +
			"not hold waits for another round", DefaultText: "room for all clients"},
	}
}

// demoOptions takes the flags over.
func demoOptions(c *cli.Context) *demo.Options {
	return &demo.Options{
		Algorithm: c.String("algorithm"), Privacy: c.String("privacy"), Aggregation: c.String("aggregation"),
		Published: c.Bool("i-know-this-leaks"), Topology: c.String("topology"), Record: c.String("record"),
		Features: c.Int("features"), Iterations: c.Int("iterations"), Seed: c.Uint64("seed"), Dir: c.String("dir"),
		Workers: c.Int("workers"), Quick: c.Bool("quick"), Verbose: c.Bool("verbose"), JSON: c.Bool("json"),
		Label: c.String("label"),
		Data:  *c.Generic("data").(*words), ID: c.String("id"), Missing: c.String("missing"),
		Categorical: c.StringSlice("categorical"), People: c.Int("people"), Parties: c.Int("parties"),
		Bins: c.Int("bins"), MinCell: c.Int("min-cell"), Points: c.String("points"), ZScores: c.String("z-scores"),
		Overlap:  c.Float64("overlap"),
		Schedule: c.String("schedule"), Loss: c.String("loss"), Target: c.String("target"), Kernel: c.String("kernel"),
		Scale: c.String("scale"), Sigma: c.Float64("sigma"), Lambda: c.Float64("lambda"), Clients: c.Int("clients"),
		Servers: c.Int("servers"), CommonBin: c.Bool("common-bin"), Entries: c.Int("entries"),
		Diffusion: c.String("diffusion"), Budget: c.Float64("budget"), Streams: c.String("streams"),
		Networks: c.String("networks"), LabelRange: c.String("label-range"), Step: c.Float64("step"),
		InputNorm: c.Float64("input-norm"), MaxImportance: c.Float64("max-importance"), Bandwidth: c.Float64("bandwidth"),
		Window: c.Int("window"), WarmUp: c.Int("warm-up"), Given: c.IsSet, Out: c.App.Writer, Err: c.App.ErrWriter,
	}
}
