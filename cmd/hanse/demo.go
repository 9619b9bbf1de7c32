package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// demoPeople is how many people the generated credit data set has.
const demoPeople = 20_000

// demoCommand shows the whole path on one machine.
func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "four organisations, four processes, one model: the whole path on this machine",
		Description: `Generates a credit data set (20,000 people; a bank with the label, an insurer, a
telco, a retailer), makes key files and a charter, starts a node process for each,
trains over TLS, scores the held-out quarter, compares, and audits its own transcripts:
what left each machine, who learned what, and what real attacks rebuild from it.

   hanse demo
   hanse demo --data applicants.csv --label default --parties 5
   hanse demo --data a9a.gz --data a9a.t.gz --features 1024 --json

Features, equations and model are shares of the label holder and two others, of whom none
learns more than scores and a few numbers. With --loss logistic scores of training rows
open to the label holder; other modes open more, and --aggregation he and --schedule
doubly-stochastic choose the mode masked, which alone has them:

   hanse demo --loss logistic --people 4000
   hanse demo --privacy masked
   hanse demo --aggregation he --people 2000
   hanse demo --privacy published --i-know-this-leaks

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
		Flags:  demoFlags(),
		Action: runDemo,
	}
}

// demo is one run of the demo.
type demo struct {
	c      *cli.Context
	tell   *narrator
	data   *trial.Data
	params fdskl.Params
	league *trial.League
	nodes  *processes
	begun  time.Time
	result demoResult

	contract string // of the training
}

// runDemo runs the demo from data to comparison.
func runDemo(c *cli.Context) (err error) {
	if err := checkAlgorithm(c); err != nil {
		return err
	}
	if c.String("algorithm") != algorithmFDSKL {
		return runOnlineDemo(c)
	}
	if err := checkDemo(c); err != nil {
		return err
	}
	d := &demo{c: c, tell: newNarrator(c.App.ErrWriter), begun: time.Now()}
	dir, remove, err := demoDir(c.String("dir"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := d.prepare(dir); err != nil {
		return err
	}
	if err := d.federate(c.Context); err != nil {
		return err
	}
	if err := d.compare(c.Context); err != nil {
		return err
	}
	if err := d.audit(c.Context, dir); err != nil {
		return err
	}
	return errors.Join(d.print(dir), demoVerdict(d.c.String("record"), d.result.Audit))
}

// demoDir returns the folder to work in, and what to call at the end.
func demoDir(dir string) (string, func() error, error) {
	if dir != "" {
		return dir, func() error { return nil }, os.MkdirAll(dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "hanse-demo-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// prepare makes data, key files and the charter.
func (d *demo) prepare(dir string) (err error) {
	if err := d.makeData(); err != nil {
		return err
	}
	if d.params, err = d.makeParams(); err != nil {
		return err
	}
	d.tell.data(d.data)
	d.tell.privacy(d)
	if err := d.data.Write(dir); err != nil {
		return err
	}
	if d.league, err = trial.Found(dir, d.data.Names, privacyOf(d.c)); err != nil {
		return err
	}
	d.tell.league(d.league)
	return nil
}

// makeData generates or reads the data.
func (d *demo) makeData() (err error) {
	seed := d.c.Uint64("seed")
	if paths := d.c.StringSlice("data"); len(paths) > 0 {
		o := dataset.Options{ID: d.c.String("id"), Label: d.c.String("label"), Categorical: d.c.StringSlice("categorical"), Missing: d.c.String("missing")}
		d.data, err = trial.Files(paths, o, d.c.Int("parties"), seed)
		return err
	}
	d.data = trial.Credit(d.c.Int("people"), seed)
	return nil
}

// federate starts the nodes, trains and predicts.
func (d *demo) federate(ctx context.Context) (err error) {
	if d.nodes, err = startNodes(ctx, d.league, d.data, d.c.Int("workers")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.nodes.stop()) }()
	d.tell.nodes(d.nodes, "one process each")
	job := protocol.Job{
		Format: "hanse-job-v1", Name: "demo", Algorithm: "fdskl", Task: protocol.TaskTrain, Parties: d.data.Names,
		Privacy: privacyOf(d.c), Aggregation: aggregation(d.c), Topology: d.c.String("topology"), Table: "train", Record: d.c.String("record"),
	}
	text, err := jobText(&job, d.params)
	if err != nil {
		return err
	}
	report, err := d.run(ctx, "training", text)
	if err != nil {
		return err
	}
	d.result.addTraining(report)
	d.contract = report.Contract
	if err := d.collect(ctx, report.Contract); err != nil {
		return err
	}
	return d.predict(ctx, job, report.Contract)
}

// predict scores the test rows for the first party and compares with the labels.
func (d *demo) predict(ctx context.Context, job protocol.Job, model string) error {
	job.Name, job.Task, job.Table, job.Model, job.OpenTo, job.Parameters = "demo-scores", protocol.TaskPredict, "test", model, d.data.Names[0], nil
	text, err := job.Text()
	if err != nil {
		return err
	}
	report, err := d.run(ctx, "prediction", text)
	if err != nil {
		return err
	}
	d.result.PredictSeconds = report.Seconds
	d.result.TestError, err = d.data.ScoresError(report.Scores, d.params.Target)
	return err
}

// run proposes one job at the first party's node and follows it.
func (d *demo) run(ctx context.Context, what string, text []byte) (*node.Report, error) {
	client, err := node.NewClient(d.league.Path(d.data.Names[0], "node"))
	if err != nil {
		return nil, err
	}
	screen := d.tell.begin(what)
	defer screen.end()
	contract, summary, err := client.Prepare(ctx, text, screen.show)
	if err != nil {
		return nil, d.nodes.explain(err)
	}
	d.tell.summary(summary)
	report, err := client.Launch(ctx, contract, screen.show)
	if err != nil {
		return nil, d.nodes.explain(err)
	}
	d.tell.done(what, report, screen)
	return report, nil
}

// collect asks every node for its own report of the training.
func (d *demo) collect(ctx context.Context, contract string) error {
	for _, name := range d.data.Names {
		client, err := node.NewClient(d.league.Path(name, "node"))
		if err != nil {
			return err
		}
		report, err := client.Report(ctx, contract)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		d.result.addParty(report)
	}
	return nil
}

// compare computes the baselines.
func (d *demo) compare(ctx context.Context) (err error) {
	d.result.describe(d)
	if d.result.MajorityError, err = d.data.Guess(d.params.Target); err != nil {
		return err
	}
	d.tell.step("comparison", "the same algorithm in one process, in the clear")
	var owners []keys.ID
	for _, k := range d.league.Keys {
		owners = append(owners, k.ID())
	}
	clear, err := d.data.Pooled(ctx, d.params, owners, d.c.Int("workers"))
	if err != nil {
		return err
	}
	d.result.ClearError, d.result.ClearSeconds = clear.Error, clear.Seconds
	if d.c.Bool("quick") {
		return nil
	}
	for i := range d.data.Names {
		b, err := d.data.Alone(ctx, d.params, i, owners[i], d.c.Int("workers"))
		if err != nil {
			return err
		}
		d.result.Baselines = append(d.result.Baselines, b)
	}
	linear, err := d.data.Linear(d.params)
	if err != nil {
		return err
	}
	d.result.Baselines = append(d.result.Baselines, linear, clear)
	return nil
}
