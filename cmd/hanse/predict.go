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

// predictCommand scores rows with a trained model.
func predictCommand() *cli.Command {
	return &cli.Command{
		Name:  "predict",
		Usage: "score new rows together with the parties that trained the model",
		Description: `Every party, but a helper that trained without data, must hold the rows in a table of
the same name, started with hanse node --data NAME=FILE. The scores open to this node
alone, in the privacy mode that the model was trained in.

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
			&cli.StringFlag{Name: "model", Required: true, Usage: "the training: its job's `NAME`, or the first digits of its contract's hash"},
			&cli.StringFlag{Name: "table", Value: "test", Usage: "`NAME` of the table to score"},
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
	model, err := trainedJob(c, client, c.String("model"))
	if err != nil {
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

// trainedJob finds a finished training by its name or the start of its contract's hash.
func trainedJob(c *cli.Context, client *node.Client, prefix string) (*node.JobInfo, error) {
	jobs, err := client.Jobs(c.Context)
	if err != nil {
		return nil, err
	}
	var found []node.JobInfo
	for _, j := range jobs {
		if j.Task == protocol.TaskTrain && (j.Name == prefix || len(prefix) >= 4 && strings.HasPrefix(j.Contract, prefix)) {
			found = append(found, j)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("the node in %s has no training %q; hanse jobs --dir %s lists them", c.String("dir"), prefix, c.String("dir"))
	case len(found) > 1:
		return nil, fmt.Errorf("%q fits %d trainings; give the first digits of the contract's hash, hanse jobs lists them", prefix, len(found))
	case found[0].State != node.StateDone:
		return nil, fmt.Errorf("training %s is %s, not done", found[0].Contract[:8], found[0].State)
	}
	return &found[0], nil
}
