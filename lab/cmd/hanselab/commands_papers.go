package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/lab/papers/fdskl"
	"github.com/hanse-project/hanse/lab/papers/gfml"
	"github.com/hanse-project/hanse/lab/papers/ofmsft"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
	"github.com/hanse-project/hanse/lab/sets"
)

// fdsklCommand measures FDSKL on real data sets.
func fdsklCommand() *cli.Command {
	var o fdskl.TimesOptions
	return command(&o, fdskl.RunTimes, "fdskl",
		"time, error, bytes and memory of FDSKL on real data sets, four parties, masked sums",
		`For each set and seed: hanse demo with the set's settings, which trains over TLS
between four processes and then the same algorithm in one process in the clear; with
--svm also LIBSVM on the same rows. Needs the data sets' files in one folder; hanselab sets lists them.

   hanselab fdskl --svm
   hanselab fdskl --sets a9a,phishing --seeds 1
   hanselab fdskl --sets gisette,cod-rna,real-sim --rows 10000`,
		dataFlag(&o.Data, "the data sets"),
		words("sets", &o.Sets, "`SETS` to measure", sets.Usual()...),
		rowsFlag(&o.Rows),
		number("seeds", &o.Seeds, 3, "`N` splits of each set, with the seeds 1 to N"),
		yes("svm", &o.SVM, "compare with svm-train (RBF, C = 10)"),
		jsonFlag(),
		plotFlag("fdskl.svg and fdskl.png"),
		programFlag(),
	)
}

// fdsklPaperCommand repeats the experiments of the FDSKL paper.
func fdsklPaperCommand() *cli.Command {
	var o fdskl.PaperOptions
	return command(&o, fdskl.RunPaper, "fdskl-paper",
		"the FDSKL paper's figures 3 to 6, its table 4 and its theorem's bound",
		`FDSKL's own schedule with a tuned constant step and this program's "fixed", beside
doubly stochastic gradients in one place (DSG), LIBSVM, PP-SVMV, FD-SVRG and boosted
trees for SecureBoost. Figure 3: error against time. Figure 4: tree, star and ring.
Figure 5: time against rows. Figure 6: errors over splits. Table 4: times, four parties
over TLS. bound: Theorem 4 beside runs. Times are processor seconds of all parties.

Sets of the paper that are not in the folder are named and left out; a file such as
cod-rna.gz, in LIBSVM format, is taken when it is there. LIBSVM's line needs svm-train.
All of it takes an hour or two on one quiet core; --quick a minute or two.

   hanselab fdskl-paper --quick
   hanselab fdskl-paper --splits 3 --plot docs
   hanselab fdskl-paper --figures 4,bound --plot docs
   hanselab fdskl-paper --figures 6 --sets phishing --json > one.json
   hanselab fdskl-paper --reports one.json,two.json --plot docs`,
		optionalData(&o.Data, "the data sets"),
		words("reports", &o.Reports, "measure nothing: print and draw what runs with --json wrote to these `FILES`"),
		&cli.StringSliceFlag{Name: "sets", Action: into(&o.Sets), Usage: "`SETS` to measure",
			DefaultText: "those of the paper's ten that are there"},
		words("figures", &o.Figures, "`PARTS` to repeat", fdskl.PaperParts()...),
		&cli.StringSliceFlag{Name: "methods", Action: into(&o.Methods),
			Usage: "`METHODS` of figures 3 and 6, by their names there", DefaultText: "all"},
		&cli.Float64Flag{Name: "sigma", Destination: &o.Sigma,
			Usage: "kernel width `SIGMA` of all methods", DefaultText: "the set's own"},
		number("splits", &o.Splits, 10, "`N` splits of each set in figure 6"),
		number("iterations", &o.Iterations, 512, "`T` of FDSKL's own schedule and of DSG"),
		number("batch", &o.Batch, 64, "`B` rows an iteration"),
		number("block", &o.Block, 32, "`R` new features an iteration"),
		number("rows", &o.Rows, 50_000, "at most `N` rows of a set, drawn by the seed"),
		number("memory", &o.Memory, 512, "at most `MB` for PP-SVMV's kernel matrix"),
		yes("quick", &o.Quick, "2 splits, 64 iterations, 512 features, at most 4000 rows: to see that it runs"),
		jsonFlag(),
		plotFlag("fdskl-errors, fdskl-shapes and more, SVG and PNG,"),
	)
}

// setsCommand lists the papers' data sets.
func setsCommand() *cli.Command {
	var o sets.ListOptions
	return command(&o, sets.List, "sets",
		"list the papers' data sets: which are in the data folder, and where to get the others",
		`Looks for the files of every set in its folder below the data folder, and in the data folder
itself, plain, .gz or .bz2. Drop a missing set's files there and all commands take it.

   hanselab sets`,
		dataFlag(&o.Data, "the data sets"),
		jsonFlag(),
	)
}

// growthCommand measures how the time grows.
func growthCommand() *cli.Command {
	var o fdskl.GrowthOptions
	return command(&o, fdskl.RunGrowth, "growth",
		"training time against rows, features, parties and iterations, on generated data",
		`Runs hanse demo on the generated credit data set, changes one size at a time, and fits
the exponent of the time's growth over the upper half of each curve, where start-up
costs no longer count. Draws the curves with two logarithmic axes.

   hanselab growth --plot docs
   hanselab growth --rows 2048,4096,8192 --repeat 1 --json`,
		numbers("rows", &o.Rows, "training `ROWS`", 2048, 4096, 8192, 16384, 32768, 65536),
		numbers("features", &o.Features, "random `FEATURES`", 128, 256, 512, 1024, 2048, 4096),
		numbers("parties", &o.Parties, "numbers of `PARTIES`; masked sums need three", 3, 4, 8, 16),
		numbers("iterations", &o.Iterations,
			"`ITERATIONS` of the doubly stochastic schedule", 64, 128, 256, 512, 1024, 2048, 4096),
		number("base-rows", &o.BaseRows, 16384, "training `ROWS` where features and parties change"),
		number("base-features", &o.BaseFeatures, 1024, "`FEATURES` where rows and parties change"),
		number("schedule-rows", &o.ScheduleRows, 2048, "training `ROWS` where iterations change"),
		number("repeat", &o.Repeat, 3, "runs of each point, of which the fastest counts"),
		plotFlag("growth.svg and growth.png"),
		jsonFlag(),
		programFlag(),
	)
}

// gfmlCommand repeats the simulation of the paper on graph-federated learning.
func gfmlCommand() *cli.Command {
	var o gfml.Options
	return command(&o, gfml.Run, "gfml",
		"the simulation of the O-GFML paper: ten servers, 500 clients, seven ways to share",
		`Runs section IV of Gogineni, Werner, Huang and Kuh in one process: O-GFML, and PSO-GFML with
40, 4 and 1 of 200 entries shared, coordinated and not, all on the same streams. Prints the
test error in dB beside the figures it should come to, the bytes, and what becomes of the
claims that the paper reads from its Figure 2. The table's figures are means of 20 runs.

   hanselab gfml --runs 20 --plot docs
   hanselab gfml --runs 2 --iterations 500 --json`,
		number("runs", &o.Runs, 20, "`N` runs, with features and streams of their own"),
		number("iterations", &o.Iterations, gfml.Iterations, "`N` iterations of each run"),
		jsonFlag(),
		plotFlag("gfml.svg and gfml.png"),
	)
}

// gfmlMeanCommand holds runs against the mean that equation 18 predicts.
func gfmlMeanCommand() *cli.Command {
	var o gfml.MeanOptions
	return command(&o, gfml.RunMean, "gfml-mean",
		"the decay that equation 18 of the O-GFML paper predicts, beside runs",
		`Estimates every client's moments E zz' and E zy, and predicts from them the mean of all
models, iteration by iteration: by equation 18 as it is printed, and by the mean of Algorithm 1
itself. Both stand beside runs of the simulation of section IV that share features, laws of
the streams and selections, but neither rows nor the choice of clients: their mean test
error, and the test error of their mean model, which is what is predicted. So do runs whose
rows are independent of each other, as the prediction assumes and the paper's are not.

   hanselab gfml-mean --runs 10 --plot docs
   hanselab gfml-mean --runs 2 --iterations 200 --json`,
		number("runs", &o.Runs, 10, "`N` runs"),
		number("iterations", &o.Iterations, 1000, "`N` iterations of each run"),
		number("samples", &o.Samples, 1000, "`N` rows of each client to estimate moments from"),
		jsonFlag(),
		plotFlag("gfml-mean.svg and gfml-mean.png"),
	)
}

// gfmlTrafficCommand measures what sharing a part of the entries saves on the wire.
func gfmlTrafficCommand() *cli.Command {
	var o gfml.TrafficOptions
	return command(&o, gfml.RunTraffic, "gfml-traffic",
		"bytes on the wire of O-GFML, and with 40, 4 and 1 of 200 entries shared",
		`Runs GFML between processes over TLS, under masks, once for every number of shared entries,
and holds the bytes that clients and servers send against what the paper counts: M numbers
each way for a chosen client. The paper says that M = 40 of D = 200 takes a fifth of
O-GFML's load; it counts neither what servers send each other, nor signatures and masks.

   hanselab gfml-traffic
   hanselab gfml-traffic --servers 6 --clients 10 --rounds 200 --json`,
		number("servers", &o.Servers, 4, "`N` servers, on a ring"),
		number("clients", &o.Clients, 5, "`K` clients of each server, 4 of which are chosen in a round"),
		number("rounds", &o.Rounds, 100, "`N` rounds"),
		number("features", &o.Features, 200, "`D` entries of a model"),
		numbers("entries", &o.Entries, "`M` of them that are shared, beside all", 40, 4, 1),
		programFlag(),
		jsonFlag(),
	)
}

// pofmklCommand repeats the experiments of the POF-MKL paper.
func pofmklCommand() *cli.Command {
	var o pofmkl.Options
	return command(&o, pofmkl.Run, "pofmkl",
		"mean squared errors and regrets of POF-MKL and its baselines, beside the paper's",
		`Repeats tables 1 to 3 and figures 1 and 2 of the POF-MKL paper in one process, in the
clear: every algorithm, with several draws of the random features, and the processor time
of a client. Its POF-MKL rows are
out of reach of its Algorithm 2; they come out if the clients' weights are carried over
from one draw to the next, and both are shown. So is what a common bin of kernels for all
clients of a round costs and saves.

   hanselab pofmkl --set air --draws 20 --plot docs
   hanselab pofmkl --set naval --draws 2 --json`,
		&cli.StringFlag{Name: "set", Destination: &o.Set, Required: true,
			Usage: "the `SET` to learn: air, naval, uji or wec; hanselab sets tells which are there"},
		dataFlag(&o.Data, "the data sets"),
		number("draws", &o.Draws, pofmkl.Draws, "`N` draws of the random features"),
		number("xi-draws", &o.XiDraws, 3, "`N` draws of the study of xi; 0 leaves it out"),
		real("cpu", &o.CPU, 0.5, "time each row for `S` processor seconds at least; 0 leaves it out"),
		number("bin-draws", &o.BinDraws, 3, "`N` draws of the study of common bins; 0 leaves it out"),
		number("rounds", &o.Rounds, pofmkl.Rounds, "`T` rounds, at most 500"),
		plotFlag("pofmkl-SET.svg and .png"),
		jsonFlag(),
	)
}

// pofmklRegretCommand holds POF-MKL against the best functions in hindsight.
func pofmklRegretCommand() *cli.Command {
	var o pofmkl.RegretOptions
	return command(&o, pofmkl.RunRegret, "pofmkl-regret",
		"regret of the whole POF-MKL federation, equation 12, beside Theorem 2's bound",
		`Runs POF-MKL's Algorithm 2 in one process, in the clear, and fits the best function in
hindsight to all rows so far: of one kernel's random features, the same for all clients,
with coefficients of length C at most. The difference of the losses is the server's regret
of equation 12; Theorem 2's bound stands beside it. --personal fits a function of its own
to each client, too: what no common theta can beat.

   hanselab pofmkl-regret --set naval --personal --plot docs
   hanselab pofmkl-regret --set air --chosen 25 --features 20`,
		&cli.StringFlag{Name: "set", Destination: &o.Set, Required: true, Usage: "the `SET` to learn: air or naval"},
		dataFlag(&o.Data, "the data sets"),
		number("chosen", &o.Chosen, 1, "`M` kernels in a bin"),
		number("features", &o.Features, 100, "`D` random features of each kernel"),
		reals("norms", &o.Norms, "`C`, the greatest length of coefficients", 0.5, 1, 3),
		number("rounds", &o.Rounds, pofmkl.Rounds, "`T` rounds, at most 500"),
		yes("personal", &o.Personal, "fit each client a function of its own, which takes minutes"),
		plotFlag("pofmkl-regret-SET.svg and .png"),
		jsonFlag(),
	)
}

// ofmsftCommand repeats the experiments of the OFMS-FT paper.
func ofmsftCommand() *cli.Command {
	var o ofmsft.Options
	return command(&o, ofmsft.Run, "ofmsft",
		"errors, accuracies and regrets of OFMS-FT and its baselines, beside the paper's",
		`Repeats tables 1 to 5 and figure 1 of the OFMS-FT paper in one process, in the clear,
with pre-trained networks: budgets 2, 5 and 10 with each update, and every baseline at
budget 5. Those of air and mnist are published; those of wec and cifar10 are not, so that
these sets want a folder of yours. The paper's figures on Air come from clients that fine-tune one shared network in
place, one after another; equation 11, which divides by the number of clients, hardly
moves it at the paper's step. --scan looks for a step that does.

   hanselab ofmsft --set air --seeds 3 --plot docs
   hanselab ofmsft --set mnist --update none --baselines --json
   hanselab ofmsft --set air --scan --budget 5 --seeds 1
   hanselab ofmsft --set air --mixed --update none
   hanselab ofmsft --set air --times --clients 20 --seeds 1
   hanselab ofmsft --set air --bounds --seeds 1 --plot docs
   hanselab ofmsft --set cifar10 --models mine/cifar10 --update none`,
		&cli.StringFlag{Name: "set", Destination: &o.Set, Required: true,
			Usage: "the `SET` to learn: air, mnist, wec or cifar10"},
		dataFlag(&o.Data, "the data sets and ofmsft-models"),
		text("models", &o.Models, "",
			"`FOLDER` with pre-trained networks as .safetensors (default: ofmsft-models/SET in --data)"),
		real("budget", &o.Budget, 0, "`B` of every client (default: 2, 5 and 10)"),
		text("update", &o.Update, "", "`RULE` of fine-tuning: equation-11, in-place, none; "+
			"own is that of Fed-OMD and PerFedAvg (default: all)"),
		yes("baselines", &o.Baselines, "run the baselines too (default: if neither --budget nor --update is given)"),
		words("only", &o.Only, "run these `ALGORITHMS` alone, as the tables name them: OFMS-FT, MAB and so on"),
		yes("mixed", &o.Mixed, "table 2: 60, 50 and 40 % of the clients with a budget of 3, all others with 5"),
		yes("bounds", &o.Bounds,
			"regrets of clients and server by equations 1 and 3, below the bounds of theorems 1 and 3"),
		number("hindsight", &o.Hindsight, 10,
			"`N` epochs over all rows that look for the best network in hindsight, for --bounds"),
		yes("times", &o.Times, "table 5: processor seconds of a client, one run after another, every network as it is"),
		number("seeds", &o.Seeds, 3, "`N` seeds of all draws"),
		number("clients", &o.Clients, 0, "`N` of the set's clients (default: all)"),
		number("rounds", &o.Rounds, ofmsft.Rounds, "`T` rounds, at most 200"),
		number("rounds-per-upload", &o.RoundsPerUpload, 1, "`N` rounds between uploads; the baselines know 1 alone"),
		real("step", &o.Step, 0, "`ETA` of the networks (default: 0.001/sqrt(T))"),
		number("window", &o.Window, 0, "`N` newest rows of a step (default: 51 for air, 50 for mnist)"),
		real("max-importance", &o.MaxImportance, ofmsft.MaxImportance, "cap of 1/q in a step; 0 for none"),
		number("warm-up", &o.WarmUp, ofmsft.WarmUp, "`N` rounds before the first step"),
		real("bandwidth", &o.Bandwidth, 0, "E as a `PART` of all budgets (default: 0.5 for air, 1.1 for mnist)"),
		real("input-norm", &o.InputNorm, 0,
			"divide inputs by this `NUMBER` (default: the largest norm for air, 255 for mnist)"),
		yes("scan", &o.Scan,
			"run equation 11 with the steps of --steps at one budget, 5 by default, beside no fine-tuning"),
		reals("steps", &o.Steps, "steps of --scan (default: 0.001, 0.003, 0.01 and so on to 10)"),
		&cli.StringFlag{Name: "plot", Usage: "draw ofmsft-SET.svg and .png in this `FOLDER`, or ofmsft-SET-steps"},
		yes("league", &o.Processes, "run air as a masked job of real processes over TLS, beside the same job in "+
			"one process: "+
			"budget 5, one seed, window 1 and, for N clients, the step 0.001 N/sqrt(T) if nothing else is said"),
		text("dir", &o.Dir, "", "work in this `FOLDER` with --league and keep it (default: a temporary one, removed)"),
		programFlag(),
		jsonFlag(),
	)
}
