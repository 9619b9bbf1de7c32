package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/ownmodel"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
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

Where this node's table has the label's column too, or --labels names a file that has it,
figures over these rows are printed: error, AUC and more with 95 % intervals, against
guessing and against a model of the label holder's own columns. They open nothing. With
--report they are a page with ROC, calibration and the distribution of scores:

   hanse predict --model credit --table test --out scores.csv --report scores.html

Of two classes one is the event, positive in the job: "score" and "probability" are of it.
Where it is not the later class in the order, the columns are "score CLASS" and
"probability CLASS"; a line at the beginning says it always. The column "class" goes by
the model's threshold (hanse model threshold). With the logistic loss probabilities are the
model's own; with another they are there once this node had scores with labels, by which
they are calibrated.
Of three or more classes it is the one with the largest score, which "score" is; columns
"score CLASS" have every class's.

With --serve it reads ids from standard input, one a line, and answers each at once with a
line, "no match" where the table has no such row, until the input ends:

   echo P000123 | hanse predict --serve --yes --model credit --table live --dir bank-node

A sealed model scores each row once, whoever asks, and the node keeps the scores that
opened to it. Where it has those of all rows that are asked for, of a table or of an
alignment (--rows), it gives these and asks nobody. Where it lacks some, the parties are
asked for consent to a job of all rows, in which only those open that it lacks. --serve
asks the parties always, and so do models of other modes, whose scores are not kept. A
row is its id. Where its columns have changed, or another party has its score, all
parties may agree to score rows once more:

   hanse predict --model credit --table test --dir bank-node --scores-per-row 2

Who scores new rows every month asks once: with --repeat 12 in each of the twelve
commands, a person's consent to the first holds for all that differ in their rows alone:

   hanse predict --model credit --table live --rows april --dir bank-node --repeat 12

Where the rows are too many for one machine, --shards has workers of all parties score them,
each a run of rows; docs/shards.md says how they are started:

   hanse predict --model credit --table test --dir bank-node --out scores.csv --shards 8`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Required: true, Usage: trainingUsage},
			&cli.StringFlag{Name: "table", Value: "test", Usage: "`NAME` of the table to score"},
			&cli.StringFlag{Name: "data", Usage: "with a client's own model: rows of this CSV `FILE`, no table's; - is " +
				"standard input"},
			&cli.StringFlag{Name: "id", Usage: "with a client's own model: call rows by this `COLUMN` (default: by their " +
				"number)"},
			&cli.StringFlag{Name: "rows", Usage: "score the rows of this `ALIGNMENT`, by its name or the first digits of " +
				"its contract's hash (see hanse align); others come back as \"no match\""},
			&cli.BoolFlag{Name: "serve", Usage: "answer ids from standard input one by one"},
			&cli.IntFlag{Name: "requests", Value: 10_000, Usage: "with --serve: agree on at most `N` answers"},
			&cli.IntFlag{Name: "scores-per-row", Usage: "of a sealed model: score a row up to `N` times, over all jobs " +
				"(default: once)"},
			&cli.IntFlag{Name: "repeat", Usage: "ask the others to consent to `N` such jobs at once, with this model and new " +
				"rows each time", DefaultText: "this one"},
			&cli.IntFlag{Name: "shards", Usage: "have workers of all parties score the rows in `S` shards (see hanse worker)",
				DefaultText: "the nodes do it", Action: atLeast("shards", 1, contract.MaxShards)},
			&cli.StringFlag{Name: "open-to", Usage: "the `PARTY` that learns the scores (default: this one)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the scores to this `FILE` (default: standard " +
				"output)"},
			labelsFlag(),
			pageFlag(),
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			wholeFlag(),
			jsonFlag(),
			dirFlag(),
		},
		Action: predict,
	}
}

// predict builds a predict job for a trained model and proposes it.
func predict(c *cli.Context) error {
	client, model, running, err := training(c, c.String("model"))
	if err != nil {
		return err
	}
	if len(model.Servers) > 0 {
		return predictOwn(c, client, model)
	}
	if err := inParts(c, model, running); err != nil {
		return err
	}
	job := contract.Job{
		Format: "hanse-job-v1", Name: model.Name + "-scores", Algorithm: model.Algorithm, Task: contract.TaskPredict,
		Parties: model.Parties,
		Privacy: model.Privacy, Topology: model.Topology, Table: c.String("table"), Model: model.Contract,
		OpenTo: c.String("open-to"), Rows: c.String("rows"),
	}
	if job.OpenTo == "" {
		job.OpenTo = model.Self
	}
	for _, name := range []string{"report", "labels"} {
		if c.IsSet(name) && (job.OpenTo != model.Self || c.Bool("serve")) {
			return usage.Errorf("--%s is for the scores of a whole table that open to this node: leave it out", name)
		}
	}
	if c.Bool("serve") {
		job.Name, job.Requests = model.Name+"-live", c.Int("requests")
	}
	job.ScoresPerRow, job.Shards, job.Repeat = c.Int("scores-per-row"), c.Int("shards"), c.Int("repeat")
	if c.Bool("serve") && job.Shards > 0 {
		return usage.Errorf("--serve answers rows one by one, which no worker does: leave --shards out")
	}
	if !c.Bool("serve") && job.OpenTo == model.Self {
		if done, err := knownScores(c, client, model, &job); done || err != nil {
			if err == nil {
				sayEvent(c, model)
			}
			return err
		}
	}
	text, err := job.Text()
	if err != nil {
		return err
	}
	if job.OpenTo == model.Self {
		sayEvent(c, model)
	}
	if c.Bool("serve") {
		return serveScores(c, client, text)
	}
	return propose(c, text)
}

// eventOf returns which of two classes is the event of a training's model, as this member reads it; nil where there are
// not two, or no part of the model can be read: the node says what is wrong with it.
func eventOf(c *cli.Context, training string) *jobs.Positive {
	part, err := node.ReadModel(registry.Program(), filepath.Join(c.String("dir"), "jobs", training))
	if err != nil || part.Model().Event() == "" {
		return nil
	}
	return &jobs.Positive{Label: part.Model().Goal.Label, Class: part.Model().Event()}
}

// sayEvent says which of two classes scores and probabilities are of, as this member reads them.
func sayEvent(c *cli.Context, training *node.JobInfo) {
	if e := eventOf(c, training.Contract); e != nil {
		say(c, fmt.Sprintf("event: scores and probabilities are of %s = %q, said to be so above the threshold", e.Label,
			e.Class))
	}
}

// knownScores delivers the scores of the rows that a prediction is of from the node's own file, if it has all of them,
// and reports whether it did.
func knownScores(c *cli.Context, client *node.Client, model *node.JobInfo, job *contract.Job) (bool, error) {
	if job.Privacy != keys.PrivacySealed {
		return false, nil
	}
	known, err := client.Known(c.Context, job)
	data, rows := known.Scores, known.Rows
	if err != nil || len(data) == 0 {
		return false, err
	}
	say(c, fmt.Sprintf("all %d rows were scored before with this model: these are the scores that this node keeps, and "+
		"no party was asked", rows))
	if c.String("out") != "" || !c.Bool("json") {
		if err := writeOut(c, data); err != nil {
			return true, err
		}
	}
	s := scored{training: job.Model, model: model.Name, table: job.Table, file: data}
	var found *figures.Report
	if c.String("labels") == "" {
		// A table without labels has no figures, which is no fault.
		found, _ = figuresOf(c.Context, client, s, "")
	}
	if found, err = showScored(c, client, s, found); err != nil || !c.Bool("json") {
		return true, err
	}
	return true, terminal.JSON(c.App.Writer, &jobs.Report{Job: job.Name, Party: job.OpenTo, Rows: rows,
		Known: int64(rows), Model: job.Model, Figures: found, Positive: eventOf(c, job.Model)})
}

// inParts refuses what cannot be done with a model in parts.
func inParts(c *cli.Context, model *node.JobInfo, running bool) error {
	dir := c.String("dir")
	for _, name := range []string{"data", "id"} {
		if c.IsSet(name) {
			return usage.Errorf("--%s is for a client's own model; %s of %s is in parts: all its parties score a table of "+
				"theirs, "+
				"see --table", name, model.Name, model.Algorithm)
		}
	}
	if !running {
		return fmt.Errorf("no node runs in %s, and a part of a model predicts nothing alone: start it with "+
			"hanse node --dir %s", dir, dir)
	}
	if model.State != job.Done && model.State != job.Running { // its end may be on its way: the node knows
		if model.State.Final() {
			return fmt.Errorf("training %q, contract %.8s, has ended (%s, %s): no model came of it", model.Name,
				model.Contract, model.State, wording.Time(model.Ended))
		}
		return fmt.Errorf("training %q, contract %.8s, is %s, not done: hanse result %.8[2]s --wait waits for it", model.Name,
			model.Contract, model.State)
	}
	return nil
}

// training finds a training at the node in --dir, and reports whether the node runs.
func training(c *cli.Context, which string) (client *node.Client, job *node.JobInfo, running bool, err error) {
	if client, err = node.NewClient(c.String("dir")); err != nil {
		return nil, nil, false, err
	}
	jobs, running, err := client.Trainings(c.Context)
	if err == nil {
		var said string
		job, said, err = jobview.Training(jobs, running, which, c.String("dir"))
		say(c, said)
	}
	return client, job, running, err
}

// namedTraining finds the training that the command's one argument names, which its help calls JOB or MODEL.
func namedTraining(c *cli.Context, argument string) (client *node.Client, job *node.JobInfo, running bool, err error) {
	which, err := oneArgument(c, "training's name or the first digits of its contract", argument+"; hanse jobs lists them")
	if err != nil {
		return nil, nil, false, err
	}
	return training(c, which)
}

// predictOwn predicts rows with what a job over clients left at this client. Nobody else takes part.
func predictOwn(c *cli.Context, client *node.Client, job *node.JobInfo) error {
	for _, name := range []string{"serve", "requests", "scores-per-row", "repeat", "shards", "open-to", "rows", "labels",
		"report"} {
		if c.IsSet(name) {
			return usage.Errorf("--%s is for models in parts, which parties use together; %s of %s is %s's own, and nothing "+
				"of it leaves this machine", name, job.Name, job.Algorithm, job.Self)
		}
	}
	if slices.Contains(job.Servers, job.Self) {
		return fmt.Errorf("%s is a server of job %q: rows and labels are its clients', and they predict; hanse model "+
			"export --job %s --out FOLDER --dir %s writes what the server has", job.Self, job.Name, job.Name, c.String("dir"))
	}
	m, err := node.ReadOwnModel(registry.Program(), c.String("dir"), job)
	if err != nil {
		return err
	}
	path, err := ownRows(c, client)
	if err != nil {
		return err
	}
	if rows, err := os.Stat(path); err == nil && c.IsSet("out") {
		if out, err := os.Stat(c.String("out")); err == nil && os.SameFile(rows, out) {
			return usage.Errorf("--out is %s, the file with the rows: predictions would take their place; name another",
				c.String("out"))
		}
	}
	data, report, err := ownmodel.Predict(c.Context, m, path, c.String("id"))
	if err != nil {
		return err
	}
	if c.String("out") != "" || !c.Bool("json") {
		if err := writeOut(c, data); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, report)
	}
	report.Print(c.App.ErrWriter)
	return nil
}

// ownRows returns the file with the rows to predict.
func ownRows(c *cli.Context, client *node.Client) (string, error) {
	if path := c.String("data"); path != "" {
		if c.IsSet("table") {
			return "", usage.Errorf("--data names a file and --table one of the node's tables: give one of them")
		}
		return path, nil
	}
	path, err := client.TablePath(c.Context, c.String("table"))
	if node.NoNode(err) {
		return "", fmt.Errorf("no node runs in %s, and only a node knows its tables: name a file with --data FILE",
			c.String("dir"))
	}
	return path, err
}

// serveScores agrees on a serving prediction and answers ids from standard input until it ends.
func serveScores(c *cli.Context, client *node.Client, text []byte) error {
	screen := terminal.NewScreen(c.App.ErrWriter)
	contract, err := agreeOn(c, client, screen, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := client.Launch(ctx, contract, shownBy(typedFolder(c), screen))
		ended <- err
		cancel() // no more answers come
	}()
	err = answerIDs(ctx, c, client, contract)
	if err == nil {
		_, err = client.Score(ctx, contract, "")
	}
	if err != nil {
		cancel()
	}
	if e := <-ended; e != nil && !errors.Is(e, context.Canceled) {
		return e
	}
	return err
}

// answerIDs prints one line for each id.
func answerIDs(ctx context.Context, c *cli.Context, client *node.Client, contract string) error {
	w := csv.NewWriter(c.App.Writer)
	lines := bufio.NewScanner(c.App.Reader)
	for lines.Scan() {
		id := strings.TrimSpace(lines.Text())
		if id == "" {
			continue
		}
		row, err := client.Score(ctx, contract, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			printError(c.App.ErrWriter, err)
			continue
		}
		w.Write(row)
		w.Flush()
		if err := w.Error(); err != nil {
			return err
		}
	}
	return lines.Err()
}
