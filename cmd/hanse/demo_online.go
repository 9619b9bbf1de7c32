package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/protocol"
)

// learning is a trial of an algorithm over clients' streams.
type learning interface {
	Parties() []string
	Rounds() int
	Parameters() map[string]any
	PaperBytes() (down, up float64)
	Together() (*online.Outcome, error)
	Alone() (*online.Outcome, error)
}

// onlineDemo is one run of the demo of an algorithm over clients' streams.
type onlineDemo struct {
	c          *cli.Context
	tell       *narrator
	show       show
	learning   learning
	measure    measure
	federation *online.Federation
	selection  *online.Selection // of OFMS-FT, else nil
	league     *trial.League
	nodes      *processes
	begun      time.Time
	contract   string
	reports    map[string]*node.Report // by party
	outcome    *online.Outcome
	result     onlineResult
}

// runOnlineDemo runs the demo from streams to comparison.
func runOnlineDemo(c *cli.Context) (err error) {
	if err := checkOnlineDemo(c); err != nil {
		return err
	}
	d := &onlineDemo{c: c, tell: newNarrator(c.App.ErrWriter), begun: time.Now(), reports: make(map[string]*node.Report), show: shows()[c.String("algorithm")]}
	dir, remove, err := demoDir(c.String("dir"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := d.prepare(dir); err != nil {
		return err
	}
	if err := d.train(c.Context); err != nil {
		return err
	}
	if err := d.compare(); err != nil {
		return err
	}
	if err := d.audit(c.Context, dir); err != nil {
		return err
	}
	return errors.Join(d.print(dir), demoVerdict(onlineRecord(d.c), d.result.Audit))
}

// prepare makes streams, key files and the charter.
func (d *onlineDemo) prepare(dir string) (err error) {
	o, err := d.show.options(d.c)
	if err != nil {
		return err
	}
	if err := d.show.make(d, o); err != nil {
		return &usageError{err}
	}
	d.measure = measure{classes: d.federation.Classes > 0}
	d.tell.streams(d.federation)
	if d.selection != nil {
		d.tellNetworks()
	}
	if d.league, err = trial.Found(dir, d.learning.Parties(), privacyOf(d.c)); err != nil {
		return err
	}
	if err := d.writeTables(); err != nil {
		return err
	}
	d.tell.manyMembers(d.league)
	return nil
}

// writeTables writes what the parties have.
func (d *onlineDemo) writeTables() error {
	for name, stream := range d.federation.Streams {
		if err := stream.Write(d.league.Path(name, "train.csv")); err != nil {
			return err
		}
		if err := d.league.Offer(name, "train", stream.Label); err != nil {
			return err
		}
	}
	if d.selection == nil {
		return nil
	}
	return d.selection.WriteNetworks(d.league.Path(d.federation.Servers[0], d.federation.Table))
}

// train starts the nodes, runs the job and collects what everybody says of it.
func (d *onlineDemo) train(ctx context.Context) (err error) {
	if d.nodes, err = startOnline(ctx, d.league, d.federation, d.c.Int("workers")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.nodes.stop()) }()
	d.tell.nodes(d.nodes, "one process for a server, a few for the clients")
	job := protocol.Job{
		Format: "hanse-job-v1", Name: "demo", Algorithm: d.c.String("algorithm"), Task: protocol.TaskTrain, Parties: d.learning.Parties(),
		Servers: d.federation.Servers, Privacy: privacyOf(d.c), Aggregation: aggregation(d.c), Topology: onlineTopology(d.c), Table: "train",
		Record: onlineRecord(d.c), Parameters: d.learning.Parameters(),
	}
	text, err := job.Text()
	if err != nil {
		return err
	}
	if err := d.run(ctx, text); err != nil {
		return err
	}
	return d.collect(ctx)
}

// onlineTopology is along which sums travel: straight to the server when nothing is said.
func onlineTopology(c *cli.Context) string {
	if c.IsSet("topology") {
		return c.String("topology")
	}
	return protocol.Star.String()
}

// onlineRecord is what transcripts keep: digests when nothing is said, which are enough to audit sums by.
func onlineRecord(c *cli.Context) string {
	if c.IsSet("record") {
		return c.String("record")
	}
	return protocol.RecordDigests
}

// run proposes the job at the first server's node and follows it.
func (d *onlineDemo) run(ctx context.Context, text []byte) error {
	client, err := node.NewClient(d.league.Path(d.federation.Servers[0], "node"))
	if err != nil {
		return err
	}
	screen := d.tell.begin("learning")
	screen.measure = d.measure.short()
	defer screen.end()
	contract, summary, err := client.Prepare(ctx, text, screen.show)
	if err != nil {
		return d.nodes.explain(err)
	}
	d.contract = contract
	d.tell.summary(summary)
	follow := &follower{demo: d}
	report, err := client.Launch(ctx, contract, func(e node.Event) { screen.show(follow.with(e)) })
	if err != nil {
		return d.nodes.explain(err)
	}
	screen.curve = nil // what the live line samples is no curve of all clients
	d.tell.done("learning", report, screen)
	return nil
}

// reportTime is how long a node may take, after the first server's, to say how the job went.
const reportTime = 20 * time.Second

// collect asks every node for its own report, and reads the clients' predictions.
func (d *onlineDemo) collect(ctx context.Context) error {
	for _, name := range d.learning.Parties() {
		client, err := node.NewClient(d.league.Path(name, "node"))
		if err != nil {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, reportTime)
		report, err := client.Report(asking, d.contract)
		cancel()
		if err != nil {
			return d.nodes.explain(fmt.Errorf("%s does not say how its part went: %w", name, err))
		}
		d.reports[name] = report
	}
	d.outcome = &online.Outcome{Predictions: make(map[string][]float64), Regret: make(map[string]float64)}
	for _, name := range d.federation.AllClients() {
		predictions, err := readPredictions(d.predictionsOf(name))
		if err != nil {
			return err
		}
		d.outcome.Predictions[name] = predictions
		if r := d.reports[name].Online; r != nil && r.Regret != nil {
			d.outcome.Regret[name] = *r.Regret
		}
	}
	return nil
}

// compare judges the job, and the same learning in one process.
func (d *onlineDemo) compare() error {
	if d.selection != nil { // a client knows nothing of the networks that it did not have
		if err := d.selection.CountRegret(d.outcome); err != nil {
			return err
		}
	}
	score, err := d.federation.Score(d.outcome)
	if err != nil {
		return err
	}
	d.result.describe(d, score)
	if d.c.Bool("quick") {
		return nil
	}
	d.tell.step("comparison", "the same learning in one process, in the clear; and every client alone")
	together, err := d.learning.Together()
	if err != nil {
		return err
	}
	alone, err := d.learning.Alone()
	if err != nil {
		return err
	}
	if err := d.result.compare(d, together, alone); err != nil || d.selection == nil {
		return err
	}
	return d.compareBudgets()
}
