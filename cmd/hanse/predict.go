package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// trainingUsage says how a training is named on a command line.
const trainingUsage = "the training: its job's `NAME`, or the first digits of its contract's hash"

// predictCommand scores rows with a trained model.
func predictCommand() *cli.Command {
	return &cli.Command{
		Name:  "predict",
		Usage: "predict new rows: alone with a client's own model, or with all parties of one in parts",
		Description: `After a job over clients' streams (pofmkl, gfml, ofmsft) a client predicts alone, with the model
that the job left it. Nothing leaves the machine, and no node need run:

   hanse predict --model parks --data march.csv --dir north-park-node --out predictions.csv
   hanse predict --model parks --table today --dir north-park-node    # a table of the running node

The file has the input columns of the job, in any order. Where it has the label's column too,
the error over it is printed; rows whose label is empty do not count.

An fdskl model is in parts, and its parties score rows together. Every party, but a helper
that trained without data, must hold the rows in a table of the same name, started with
hanse node --data NAME=FILE. The scores open to this node alone, in the privacy mode that
the model was trained in.

   hanse predict --model credit --table test --dir bank-node --out scores.csv

With --serve it reads ids from standard input, one a line, and answers each at once,
until the input ends:

   echo P000123 | hanse predict --serve --yes --model credit --table live --dir bank-node

A sealed model scores each row once, whoever asks, and the node keeps the scores that
opened to it: asked again it gives the same ones and asks nobody. A row is its id. Where
its columns have changed, or another party has its score, all parties may agree to score
rows once more:

   hanse predict --model credit --table test --dir bank-node --scores-per-row 2`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Required: true, Usage: trainingUsage},
			&cli.StringFlag{Name: "table", Value: "test", Usage: "`NAME` of the table to score"},
			&cli.StringFlag{Name: "data", Usage: "with a client's own model: rows of this CSV `FILE`, no table's; - is standard input"},
			&cli.StringFlag{Name: "id", Usage: "with a client's own model: call rows by this `COLUMN` (default: by their number)"},
			&cli.BoolFlag{Name: "serve", Usage: "answer ids from standard input one by one"},
			&cli.IntFlag{Name: "requests", Value: 10_000, Usage: "with --serve: agree on at most `N` answers"},
			&cli.IntFlag{Name: "scores-per-row", Usage: "of a sealed model: score a row up to `N` times, over all jobs (default: once)"},
			&cli.StringFlag{Name: "open-to", Usage: "the `PARTY` that learns the scores (default: this one)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the scores to this `FILE` (default: standard output)"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			jsonFlag(),
			dirFlag(),
		},
		Action: predict,
	}
}

// predict builds a predict job for a trained model and proposes it.
func predict(c *cli.Context) error {
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return err
	}
	model, running, err := training(c, client, c.String("model"))
	if err != nil {
		return err
	}
	if len(model.Servers) > 0 {
		return predictOwn(c, client, model)
	}
	if err := inParts(c, model, running); err != nil {
		return err
	}
	job := protocol.Job{
		Format: "hanse-job-v1", Name: model.Name + "-scores", Algorithm: "fdskl", Task: protocol.TaskPredict, Parties: model.Parties,
		Privacy: model.Privacy, Topology: model.Topology, Table: c.String("table"), Model: model.Contract, OpenTo: c.String("open-to"),
	}
	if job.OpenTo == "" {
		job.OpenTo = model.Self
	}
	if c.Bool("serve") {
		job.Name, job.Requests = model.Name+"-live", c.Int("requests")
	}
	job.ScoresPerRow = c.Int("scores-per-row")
	if !c.Bool("serve") && job.OpenTo == model.Self {
		if done, err := knownScores(c, client, &job); done || err != nil {
			return err
		}
	}
	text, err := job.Text()
	if err != nil {
		return err
	}
	if c.Bool("serve") {
		return serveScores(c, client, text)
	}
	return propose(c, text)
}

// knownScores delivers the scores of a table's rows from the node's own file, if it has all of them, and reports
// whether it did.
func knownScores(c *cli.Context, client *node.Client, job *protocol.Job) (bool, error) {
	if job.Privacy != keys.PrivacySealed {
		return false, nil
	}
	data, err := client.Known(c.Context, job.Model, job.Table, job.TimesPerRow())
	if err != nil || len(data) == 0 {
		return false, err
	}
	rows := bytes.Count(data, []byte("\n")) - 1
	fmt.Fprintf(c.App.ErrWriter, "all %d rows were scored before with this model: these are the scores that this node "+
		"keeps, and no party was asked\n", rows)
	if c.String("out") != "" || !c.Bool("json") {
		if err := writeOut(c, data); err != nil || !c.Bool("json") {
			return true, err
		}
	}
	return true, printJSON(c, &node.Report{Job: job.Name, Party: job.OpenTo, Rows: rows, Known: int64(rows)})
}

// inParts refuses what cannot be done with a model in parts.
func inParts(c *cli.Context, model *node.JobInfo, running bool) error {
	dir := c.String("dir")
	for _, name := range []string{"data", "id"} {
		if c.IsSet(name) {
			return usagef("--%s is for a client's own model; %s of %s is in parts: all its parties score a table of theirs, "+
				"see --table", name, model.Name, model.Algorithm)
		}
	}
	if !running {
		return fmt.Errorf("no node runs in %s, and a part of a model predicts nothing alone: start it with "+
			"hanse node --dir %s", dir, dir)
	}
	if model.State != node.StateDone {
		return fmt.Errorf("training %s is %s, not done", model.Contract[:8], model.State)
	}
	return nil
}

// training finds a training by its name or the start of its contract's hash, and reports whether a node runs. Of
// several those count that are done, if there are any.
func training(c *cli.Context, client *node.Client, prefix string) (job *node.JobInfo, running bool, err error) {
	jobs, running, err := client.Trainings(c.Context)
	if err != nil {
		return nil, running, err
	}
	var found, done []node.JobInfo
	for _, j := range jobs {
		if j.Name == prefix || len(prefix) >= 4 && strings.HasPrefix(j.Contract, prefix) {
			found = append(found, j)
			if j.State == node.StateDone {
				done = append(done, j)
			}
		}
	}
	if len(done) > 0 {
		found = done
	}
	switch len(found) {
	case 0:
		names := "hanse jobs --dir " + c.String("dir") + " lists them"
		if !running {
			names = "it has " + trainingNames(jobs)
		}
		return nil, running, fmt.Errorf("the node in %s has no training %q; %s", c.String("dir"), prefix, names)
	case 1:
		return &found[0], running, nil
	}
	return nil, running, fmt.Errorf("%q fits %d trainings; give the first digits of the contract's hash, hanse jobs lists them",
		prefix, len(found))
}

// trainingNames lists trainings for people.
func trainingNames(jobs []node.JobInfo) string {
	var names []string
	for _, j := range jobs {
		names = append(names, fmt.Sprintf("%s (%.8s, %s)", j.Name, j.Contract, j.State))
	}
	return firstOf(strings.Join(names, ", "), "none")
}
