package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// demoFlags lists the demo's flags.
func demoFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "algorithm", Value: algorithmFDSKL, Usage: "fdskl, over columns of the same people; pofmkl, gfml or ofmsft, over many clients' streams"},
		&cli.IntFlag{Name: "clients", Usage: "`N` clients of each server of pofmkl, gfml and ofmsft", DefaultText: "12, 5, 12"},
		&cli.IntFlag{Name: "servers", Usage: "`N` servers of gfml", DefaultText: "4"},
		&cli.BoolFlag{Name: "common-bin", Usage: "all clients of a round of pofmkl move one bin of kernels, drawn from the seed, " +
			"and their updates are of those alone"},
		&cli.Float64Flag{Name: "budget", Usage: "networks of this cost `B`, the largest at 1 each, are at a client of ofmsft at a time", DefaultText: "4"},
		&cli.StringSliceFlag{Name: "data", Usage: "CSV or LIBSVM `FILE`, also gzipped; several are stacked (default: generated)"},
		&cli.StringFlag{Name: "label", Usage: "the label's `COLUMN` in --data (default: label, target, class or y, else the last) or --streams"},
		&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of --data", DefaultText: "the one called id"},
		&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` of --data that holds codes though it looks like numbers"},
		&cli.StringFlag{Name: "missing", Value: "refuse", Usage: "what empty cells of --data become, `HOW`: refuse, mean or median (numbers), level (texts and codes), or both as mean,level"},
		&cli.IntFlag{Name: "people", Value: demoPeople, Usage: "`N` people to generate"},
		&cli.IntFlag{Name: "parties", Value: 4, Usage: "`N` parties that share the columns of --data"},
		&cli.StringFlag{Name: "privacy", Usage: "sealed, masked or published; over streams masked or published", DefaultText: "sealed; masked over streams"},
		&cli.StringFlag{Name: "aggregation", Value: protocol.AggregateMasked, Usage: "what protects the sums of masked jobs: masked (one-time masks) or he (homomorphic encryption, some 50 times the traffic)"},
		&cli.BoolFlag{Name: "i-know-this-leaks", Usage: "run --privacy published, which shows the other parties' rows to the tree's inner nodes"},
		&cli.StringFlag{Name: "schedule", Value: fdskl.Fixed, Usage: "fixed or doubly-stochastic (the paper's)"},
		&cli.StringFlag{Name: "loss", Usage: "square, logistic or smooth-hinge ; logistic and smooth-hinge open scores of training rows in sealed jobs (default: square in sealed jobs and for numbers, else logistic)"},
		&cli.StringFlag{Name: "target", Usage: "classification or regression (default: by the number of different labels)"},
		&cli.StringFlag{Name: "kernel", Value: "gaussian", Usage: "gaussian, laplace, matern32 or matern52"},
		&cli.Float64Flag{Name: "sigma", Usage: "kernel width `SIGMA`", DefaultText: "the median heuristic"},
		&cli.Float64Flag{Name: "lambda", Usage: "regulariser `LAMBDA`", DefaultText: "1e-6"},
		&cli.StringFlag{Name: "scale", Value: "minmax", Usage: "minmax, standard or rank"},
		&cli.IntFlag{Name: "features", Usage: "`D` random features, of each kernel in pofmkl", DefaultText: "1024, 10, 200"},
		&cli.IntFlag{Name: "entries", Usage: "`M` entries of a model that a client of gfml shares", DefaultText: "all"},
		&cli.IntFlag{Name: "iterations", Aliases: []string{"rounds"}, Usage: "`N` solver iterations, at most in masked jobs, or T of the doubly stochastic schedule; rounds of the others", DefaultText: "300, 200; 300"},
		&cli.StringFlag{Name: "topology", Value: "tree", Usage: "along which sums travel: tree, star or ring", DefaultText: "tree; star over streams"},
		&cli.StringFlag{Name: "diffusion", Usage: "how gfml's servers combine their models: masked (sums of their neighbourhoods) or plain (each sees its neighbours')", DefaultText: "masked from 3 servers on"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "public `SEED` of split and features"},
		&cli.StringFlag{Name: "dir", Usage: "work in this `FOLDER` and keep it (default: a temporary one, removed)"},
		&cli.IntFlag{Name: "workers", Usage: "`N` goroutines of each node", DefaultText: "all cores"},
		&cli.BoolFlag{Name: "quick", Usage: "skip the baselines"},
		&cli.StringFlag{Name: "record", Value: protocol.RecordFull, Usage: "what transcripts keep: full, or digests, on which few attacks can be tried", DefaultText: "full; digests over streams"},
		jsonFlag(),
	}
	return append(flags, selectionFlags()...)
}
