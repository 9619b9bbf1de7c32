package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/lab/chaos"
	"github.com/hanse-project/hanse/lab/features"
	"github.com/hanse-project/hanse/lab/perf"
	"github.com/hanse-project/hanse/lab/perf/align"
	"github.com/hanse-project/hanse/lab/perf/audits"
	"github.com/hanse-project/hanse/lab/perf/forecasts"
	"github.com/hanse-project/hanse/lab/perf/record"
	"github.com/hanse-project/hanse/lab/perf/sealed"
	"github.com/hanse-project/hanse/lab/perf/sharding"
	"github.com/hanse-project/hanse/lab/perf/sum"
	"github.com/hanse-project/hanse/lab/regulariser"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/secagg/cohort"
	"github.com/hanse-project/hanse/secagg/psi"
)

// linkCommand compares masked sums with bare streams.
func linkCommand() *cli.Command {
	var o perf.LinkOptions
	return command(&o, perf.Link, "link",
		"a masked sum of a long vector against bare libp2p streams of the same bytes",
		`Starts a process for each party. By turns they sum a vector of 16-bit turns, masked,
and stream the same bytes along the same topology over plain libp2p (TCP, TLS 1.3,
yamux, its default settings) with nothing added, nothing summed and nothing masked.`,
		number("parties", &o.Parties, sets.Parties, "`N` processes"),
		number("bytes", &o.Bytes, 64<<20, "`SIZE` of the vector"),
		number("repeat", &o.Repeat, 7, "sums of each kind, of which the median counts"),
		words("topology", &o.Topology, "`SHAPES` of the sum", "tree", "star", "ring"),
		jsonFlag(),
	)
}

// recordCommand measures what transcripts cost.
func recordCommand() *cli.Command {
	var o record.Options
	return command(&o, record.Run, "record",
		"what writing transcripts adds to a training: none, digests, and with all payloads",
		`Trains FDSKL on a benchmark set among four parties in this process that talk over TLS
and TCP, by turns without transcripts, with digests, and with payloads kept. All of a
party's hashing and writing competes with the trainings of all four for the processors.
Times run from open sessions to the last countersignature and synced transcript; on a
busy machine the processor time is the firmer figure.

   hanselab record
   hanselab record --set phishing --repeat 11`,
		dataFlag(&o.Data, "the data sets"),
		text("set", &o.Set, "a9a", "`SET` to train on"),
		rowsFlag(&o.Rows),
		&cli.IntFlag{Name: "features", Destination: &o.Features, Usage: "`D` random features", DefaultText: "the set's"},
		number("repeat", &o.Repeat, 7, "`N` rounds of the three, after one that does not count"),
		jsonFlag(),
	)
}

// auditCommand measures what audits find on real data.
func auditCommand() *cli.Command {
	var o audits.Options
	return command(&o, audits.Run, "audit",
		"what the audit rebuilds from real trainings, masked, as published and sealed",
		`For each set and privacy mode: hanse demo with the set's settings and all payloads kept,
and what its audit found with every party's transcript and columns. Fails when it finds
no leak in the published protocol, finds in a masked training more, or less, than the
contract declares, or gains anything in a sealed one, which has the square loss.

   hanselab audit
   hanselab audit --sets phishing --json

With --clients jobs over clients' streams: POF-MKL and OFMS-FT on the air set, GFML on
sensors as the demo has them, each published, masked and encrypted, in one process.

   hanselab audit --clients`,
		dataFlag(&o.Data, "the data sets"),
		words("sets", &o.Sets, "`SETS` to audit", "a9a", "phishing", "defaultcredit", "ijcnn1", "w8a"),
		rowsFlag(&o.Rows),
		number("published-features", &o.PublishedFeatures, 256,
			"`D` random features of published runs, which send a float64 where masked ones send two bytes"),
		number("sealed-features", &o.SealedFeatures, 512,
			"`D` random features of sealed runs, which send 32 bytes where masked ones send two; 0 leaves them out"),
		yes("clients", &o.Clients, "audit jobs over clients' streams"),
		text("jobs", &o.Jobs, "", "of jobs over clients those alone whose names begin with `WORD`, such as ofmsft"),
		number("rounds", &o.Rounds, 100, "`N` rounds of jobs over clients; a tenth where they are encrypted"),
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output, every audit's whole " +
			"report in it"},
		programFlag(),
	)
}

// lambdaCommand compares the lambda that a job chooses with all candidates.
func lambdaCommand() *cli.Command {
	var o regulariser.Options
	return command(&o, regulariser.Run, "lambda",
		"the lambda that a sealed job chooses, beside all that it could have chosen",
		`For small sets that it makes, and for each set named, a sealed job's steps are taken in
floating point for every candidate of lambda = "auto", on four fifths of the training
rows and on all. The table has the test error with the lambda that is chosen, with 1e-6,
and with the best candidate.

   hanselab lambda
   hanselab lambda --sets a9a,ijcnn1 --features 1024`,
		optionalData(&o.Data, "the sets that are named"),
		words("sets", &o.Sets, "`SETS` of files to look at beside the small ones"),
		number("features", &o.Features, 1024, "`D` random features; 1024 at most for the small sets"),
		number("seeds", &o.Seeds, 1, "`N` splits of each set, with the seeds 1 to N"),
		jsonFlag(),
	)
}

// featuresCommand looks for the number of random features that few rows bear.
func featuresCommand() *cli.Command {
	var o features.Options
	return command(&o, features.Run, "features",
		"how many random features a table of few rows bears",
		`Trains in the clear on some rows of each split of each set named, and of two small ones
that it makes, with lambda chosen, and tests on at most 4,000 test rows. The table has
mean errors over the splits, how much worse they are than with the largest number of
features, with the standard error of that, and the AUC.

   hanselab features
   hanselab features --sets phishing,a9a --rows 100,250 --seeds 5 --loss square`,
		optionalData(&o.Data, "the sets that are named"),
		words("sets", &o.Sets, "`SETS` of files to look at beside the two that are made"),
		numbers("rows", &o.Rows, "numbers `N` of rows to train on", 100, 250, 500, 1000),
		numbers("features", &o.Features, "numbers `D` of random features", 64, 128, 256, 512, 1024),
		text("loss", &o.Loss, kernel.Square.String(), "of two classes: square, logistic or smooth-hinge"),
		number("seeds", &o.Seeds, 1, "`N` splits of each set, with the seeds 1 to N"),
		jsonFlag(),
	)
}

// scoresCommand rounds scores as sealed jobs do.
func scoresCommand() *cli.Command {
	var o regulariser.RoundOptions
	return command(&o, regulariser.Round, "scores",
		"what rounding the scores that open costs",
		`For each set, models of both losses, with a kernel and as a scorecard, are learned by a
sealed job's steps in floating point. The scores of the test rows are rounded as what opens
is: to 3 to 6 bits behind the point, with the dithers, modulo twice 4, 8 and 16. The table has
AUC, error and KS of the scores as they are (of air and naval the root mean squared error),
and for each grid the largest change of any of them, with how many rows are beyond the range.

   hanselab scores
   hanselab scores --sets defaultcredit,air`,
		dataFlag(&o.Data, "the data sets"),
		words("sets", &o.Sets, "`SETS` to measure", "a9a", "defaultcredit", "phishing", "ijcnn1", "w8a", "air", "naval"),
		number("features", &o.Features, 512, "`D` random features of kernels"),
		number("rows", &o.Rows, 0, "`N` training rows at most; 0: all"),
		number("draws", &o.Draws, 20, "`N` draws of the dithers"),
		jsonFlag(),
	)
}

// sealedCommand measures sealed jobs beside masked ones and the clear.
func sealedCommand() *cli.Command {
	var o sealed.Options
	return command(&o, sealed.Run, "sealed",
		"time, error, bytes and memory of sealed training and scoring, beside masked and in the clear",
		`For each set, number of features, ring and seed: four processes train a sealed job over
TLS and score the test rows, four others a masked one, and the same is done in one
process in the clear. Scores are compared, row by row, with the same steps in floating
point and with the exact solution, from the parties' model parts; bytes with the
formulas of docs/sealed.md. With --mbit all links are slowed: so many megabits a second
out of each node and into it, and --delay one way.

   hanselab sealed
   hanselab sealed --sets a9a --features 512 --loss logistic
   hanselab sealed --sets a9a --features 1024 --ring 64 --mbit 100

With --bins scorecards in place of kernels, in sealed jobs alone:

   hanselab sealed --sets defaultcredit --bins 10 --loss logistic`,
		dataFlag(&o.Data, "the data sets"),
		words("sets", &o.Sets, "`SETS` to measure", "a9a", "defaultcredit", "phishing"),
		rowsFlag(&o.Rows),
		numbers("features", &o.Features, "numbers `D` of random features", 512, 1024),
		numbers("ring", &o.Ring, "`BITS` of a shared feature on the wire; 48 with the square loss alone", 32, 64),
		text("loss", &o.Loss, kernel.Square.String(), "square or logistic"),
		number("bins", &o.Bins, 0, "a scorecard of about `N` bins of each column; 0: a kernel"),
		real("lambda", &o.Lambda, 0, "regulariser `LAMBDA` of scorecards; 0: by the number of rows"),
		yes("z-scores", &o.ZScores, "open z-scores of scorecards to the label holder"),
		&cli.IntFlag{Name: "outer", Destination: &o.Outer,
			Usage: "`E` outer steps of a loss that is not the square, at most", DefaultText: "the job's"},
		&cli.IntFlag{Name: "steps", Destination: &o.Steps, Usage: "`T` steps", DefaultText: "the set's"},
		number("seeds", &o.Seeds, 1, "`N` splits of each set, with the seeds 1 to N"),
		number("repeat", &o.Repeat, 1, "train `N` times; of the times the fastest counts"),
		real("mbit", &o.Mbit, 0, "slow every node's links to `N` megabits a second out and in"),
		duration("delay", &o.Delay, 20*time.Millisecond, "with --mbit: a message takes `TIME` to its receiver"),
		jsonFlag(),
		programFlag(),
	)
}

// shardsCommand measures jobs whose rows several workers of a party share.
func shardsCommand() *cli.Command {
	var o sharding.Options
	return command(&o, sharding.Run, "shards",
		"time, bytes and memory of nodes and workers of jobs in shards, beside the nodes alone",
		`Makes credit rows for four parties and trains on them: first the four nodes alone, then for
each number of shards with a worker of one core for each shard at each party, all of them
processes that talk over TLS. With --predict the test rows, a third as many, are scored in
as many shards. Nodes are started anew for each job, so that memory is that of one.

Before are the seconds until the first shard begins: the node reads its table and writes
parts; after is from the end of the last shard: collecting, truncations, steps. Processor
seconds are the firmer figures on a busy machine. µs and bytes by row are those of all
workers of a party, and of its node, over the rows of the job.

All trainings have the same phases. Coefficients and scores of masked jobs must be those
of the first run, bit for bit. Cosines of a sealed training are rounded by pads, which every
session draws anew: its scores are compared.

   hanselab shards --rows 4000000 --shards 1,2,4
   hanselab shards --rows 200000 --shards 4 --features 1024 --privacy masked --predict`,
		number("rows", &o.Rows, 200_000, "`N` rows to train on"),
		numbers("shards", &o.Shards, "`NUMBERS` of shards", 1, 2, 4),
		number("features", &o.Features, 512, "`D` random features"),
		text("privacy", &o.Privacy, "sealed", "`MODE`: sealed or masked"),
		&cli.IntFlag{Name: "parallel", Destination: &o.Parallel, Usage: "`N` workers of a party at a time",
			DefaultText: "all"},
		number("steps", &o.Steps, 100, "`T` steps of a sealed training"),
		yes("predict", &o.Predict, "score rows too"),
		yes("only-shards", &o.InShards, "leave out the nodes alone: the first number of shards stands in their place"),
		jsonFlag(),
		programFlag(),
	)
}

// alignCommand measures private intersections beside plain ones.
func alignCommand() *cli.Command {
	var o align.Options
	return command(&o, align.Run, "align",
		"which rows many parties have in common: time, bytes and memory, beside a plain intersection",
		`Has parties with lists of ids find their common rows, all in this process over a
network in memory, and compares what they find with a plain intersection: all lists
sorted and merged, in the same run. Half of each list is of rows that all have, a
quarter each of rows that the party before or behind has too. In mode helper one more
party, without rows, counts. Seconds begin when all have their ids;
ids/s/core are the ids of asker and keeper by the processor seconds of all parties. The
peak is the process's resident memory (VmHWM), with everything of all parties. With
--alone each party runs once more by itself, on what came to it: the memory that it has
in use at most, beside its list, whenever a message goes or comes.

--parties, --mode and --buckets take lists; all combinations are measured. At the end the pieces by
themselves, on one core.

   hanselab align
   hanselab align --rows 1000000 --parties 2,4,8 --mode dh,helper --json
   hanselab align --rows 10000000 --parties 2 --mode helper --pieces 0`,
		number("rows", &o.Rows, 100_000, "`N` rows of each party"),
		numbers("parties", &o.Parties, "`NUMBERS` of parties with rows", 2, 4),
		words("mode", &o.Mode, "`MODES`: dh, helper", psi.ModeDH, psi.ModeHelper),
		numbers("buckets", &o.Buckets, "`NUMBERS` of buckets", 1),
		number("repeat", &o.Repeat, 1, "run `N` times; of the times the fastest counts"),
		number("pieces", &o.Pieces, 100_000, "measure the pieces on `N` ids; 0 leaves them out"),
		yes("alone", &o.Alone, "measure what each party by itself holds in memory"),
		jsonFlag(),
	)
}

// forecastCommand holds forecasts against what jobs took.
func forecastCommand() *cli.Command {
	var o forecasts.Options
	return command(&o, forecasts.Run, "forecast",
		"what a forecast said of jobs' seconds and bytes, beside what they took",
		`Starts a node process for each party and runs jobs, as a person would: what hanse demo
does (two alignments, a sealed training and a prediction), alignments of two and four
parties, and a training and a prediction of each set in each privacy mode. The table has
the forecast that the proposer saw before consent, what the job took, and by how much
the bytes of any party were off. Processor seconds by cores are what a job takes at least
where nothing else runs: on a busy machine hold the forecast against them.

   hanselab forecast
   hanselab forecast --people 0 --align 200000 --data ''`,
		optionalData(&o.Data, "the sets; '' leaves them out"),
		words("sets", &o.Sets, "`SETS` to train on", "a9a"),
		words("privacy", &o.Privacy, "`MODES`: masked, sealed, published", "masked", "sealed", "published"),
		number("features", &o.Features, 1024, "`D` random features of the sets' jobs"),
		number("people", &o.People, 20_000, "`N` people of the demo; 0 leaves it out"),
		number("align", &o.Align, 50_000, "`N` ids of each party that aligns; 0 leaves alignments out"),
		number("repeat", &o.Repeat, 1, "run `N` times; of the times the fastest counts"),
		jsonFlag(),
		programFlag(),
	)
}

// sumCommand measures secure sums of many clients.
func sumCommand() *cli.Command {
	var o sum.Options
	return command(&o, sum.Run, "sum",
		"one secure sum of many clients to a server, over TLS connections, while some drop out",
		`Starts a server and, in a few more processes, its clients: each has a host, a key and
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
		numbers("clients", &o.Clients, "`NUMBERS` of clients", 1000),
		numbers("words", &o.Words, "`LENGTHS` of the vectors, in words", 10_000),
		number("bits", &o.Bits, 64, "`WIDTH` of a word"),
		words("backend", &o.Backend, "`BACKENDS`: masked, he, plain", string(cohort.Masked)),
		words("topology", &o.Topology, "`SHAPES` of the sum: star, tree, ring", "star"),
		real("dropout", &o.Dropout, 0.1, "`FRACTION` of the clients that drop out of each timed sum"),
		real("corrupt", &o.Corrupt, cohort.DefaultTolerance().Corrupt,
			"`FRACTION` of the clients that the masks withstand in league with the server"),
		number("sums", &o.Sums, 3, "timed sums, of which the median counts"),
		number("warm", &o.Warm, 1, "sums without losses before each timed one, in its session"),
		number("processes", &o.Processes, 4, "processes that share the clients"),
		duration("patience", &o.Patience, 2*time.Minute, "how long the server waits for the silent in each round"),
		&cli.Uint64Flag{Name: "seed", Destination: &o.Seed, Value: 1, Usage: "`SEED` of who drops out and when"},
		jsonFlag(),
	)
}

// chaosCommand breaks federations of real processes.
func chaosCommand() *cli.Command {
	var o perf.ChaosOptions
	return command(&o, perf.Chaos, "chaos",
		"break federations of real processes, one fault at a time, and judge what becomes of their jobs",
		chaosDescription(),
		number("trials", &o.Trials, 3, "carry out `N` trials of each kind"),
		&cli.StringFlag{Name: "kinds", Destination: &o.Kinds,
			Usage: "only these `KINDS`, separated by commas", DefaultText: "all"},
		&cli.Uint64Flag{Name: "seed", Destination: &o.Seed, Value: 1,
			Usage: "`SEED` of the first trial of each kind; each other has the next"},
		duration("limit", &o.Limit, perf.ChaosLimit, "give a trial up after `DURATION`"),
		text("dir", &o.Dir, "", "work in this `FOLDER` and keep it (default: a temporary one)"),
		jsonFlag(),
		programFlag(),
	)
}

// linkWorkerCommand is one party of a link measurement; link starts it.
func linkWorkerCommand() *cli.Command {
	var o perf.LinkWorkerOptions
	c := command(&o, perf.LinkWorker, perf.LinkWorkerName,
		"one process of hanselab link",
		"",
		&cli.StringFlag{Name: "dir", Destination: &o.Dir, Required: true},
		&cli.StringFlag{Name: "name", Destination: &o.Name, Required: true},
		&cli.StringFlag{Name: "topology", Destination: &o.Topology, Required: true},
		&cli.IntFlag{Name: "bytes", Destination: &o.Bytes, Required: true},
	)
	c.Hidden = true
	return c
}

// sumWorkerCommand is one process of a measurement: the server, or some of the clients.
func sumWorkerCommand() *cli.Command {
	var o sum.WorkerOptions
	c := command(&o, sum.Worker, sum.WorkerName,
		"one process of hanselab sum",
		"",
		&cli.StringFlag{Name: "dir", Destination: &o.Dir, Required: true},
		&cli.IntFlag{Name: "first", Destination: &o.First, Required: true,
			Usage: "the first of the process's parties; 0 is the server, alone"},
		&cli.IntFlag{Name: "count", Destination: &o.Count, Required: true},
	)
	c.Hidden = true
	return c
}

// chaosDescription lists the kinds of trials.
func chaosDescription() string {
	var b strings.Builder
	b.WriteString(`Each trial starts a federation of real node processes, makes one fault at a drawn
moment, waits until every job has ended and compares the result with that of a run
without a fault. Verdicts are right, degraded (the program names the file or the party
and refuses, or waits and says what helps) and failed; a wrong result that nobody tells
of is called silent. A seed that failed can be tried again alone:

   hanselab chaos --trials 5
   hanselab chaos --kinds rot --seed 17 --trials 1 --dir kept

The kinds:
`)
	for _, k := range chaos.Kinds() {
		fmt.Fprintf(&b, "\n   %-15s %s", k[0], k[1])
	}
	return b.String()
}
