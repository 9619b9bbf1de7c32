package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/BurntSushi/toml"
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/protocol"
)

// trainCommand proposes a training and follows it.
func trainCommand() *cli.Command {
	return &cli.Command{
		Name:      "train",
		Usage:     "propose a training to the other parties and follow it to its end",
		ArgsUsage: "JOB.toml",
		Description: `Shows what the job opens and what leaves this machine, asks, collects the other
parties' consent and runs the job. Interrupting this command does not stop the
job: the nodes go on.

   hanse train credit.toml --dir bank-node

A job file:

   format = "hanse-job-v1"
   name = "credit"
   algorithm = "fdskl"
   task = "train"
   parties = ["bank", "insurer", "telco", "retailer"]
   privacy = "masked"

   [parameters]
   active = ["bank"]          # who holds the labels
   label = "default"          # the label's column there
   loss = "logistic"          # or "square", "smooth-hinge"
   features = 1024
   seed = "credit 2026"`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("give one job file: hanse train JOB.toml; see hanse train --help")
			}
			text, err := os.ReadFile(c.Args().First())
			if err != nil {
				return err
			}
			return propose(c, text)
		}),
	}
}

// predictCommand scores rows with a trained model.
func predictCommand() *cli.Command {
	return &cli.Command{
		Name:  "predict",
		Usage: "score new rows together with the parties that trained the model",
		Description: `Every party must hold the rows in a table of the same name, started with
hanse node --data NAME=FILE. The scores open to this node alone.

   hanse predict --model credit --table test --dir bank-node --out scores.csv

With --serve it reads ids from standard input, one a line, and answers each at once,
until the input ends:

   echo P000123 | hanse predict --serve --yes --model credit --table live --dir bank-node`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Required: true, Usage: "the training: its job's `NAME`, or the first digits of its contract's hash"},
			&cli.StringFlag{Name: "table", Value: "test", Usage: "`NAME` of the table to score"},
			&cli.BoolFlag{Name: "serve", Usage: "answer ids from standard input one by one"},
			&cli.IntFlag{Name: "requests", Value: 10_000, Usage: "with --serve: agree on at most `N` answers"},
			&cli.StringFlag{Name: "open-to", Usage: "the `PARTY` that learns the scores (default: this one)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the scores to this `FILE` (default: standard output)"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
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
	text, err := job.Text()
	if err != nil {
		return err
	}
	if c.Bool("serve") {
		return serveScores(c, client, text)
	}
	return propose(c, text)
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

// propose prepares a job at the node, asks the owner, launches it and prints the outcome.
func propose(c *cli.Context, text []byte) error {
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return err
	}
	screen := newScreen(c.App.ErrWriter)
	defer screen.end()
	contract, err := agreeOn(c, client, screen, text)
	if err != nil {
		return err
	}
	report, err := client.Launch(c.Context, contract, screen.show)
	screen.end()
	if err != nil {
		return err
	}
	return printReport(c, report)
}

// agreeOn prepares a job, shows its summary and asks the owner; it returns the contract's hash.
func agreeOn(c *cli.Context, client *node.Client, screen *screen, text []byte) (string, error) {
	contract, summary, err := client.Prepare(c.Context, text, screen.show)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(c.App.ErrWriter, "%s\n", summary)
	if c.Bool("yes") {
		return contract, nil
	}
	yes, err := agree(c, "consent and run it?")
	if err == nil && yes {
		return contract, nil
	}
	if err == nil {
		err = errors.New("not agreed: nothing was sent but the proposal's questions")
	}
	return "", errors.Join(err, client.Decide(context.WithoutCancel(c.Context), contract, false, "the proposer decided against it"))
}

// printReport prints what the proposer's node says of a finished job.
func printReport(c *cli.Context, r *node.Report) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	if r.Scores != "" {
		return deliverScores(c, r.Scores)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "contract\t%s\n", r.Contract)
	fmt.Fprintf(w, "rows\t%d\n", r.Rows)
	fmt.Fprintf(w, "seconds\t%.2f\n", r.Seconds)
	fmt.Fprintf(w, "rounds\t%d\n", r.Rounds)
	fmt.Fprintf(w, "sent\t%s\n", node.Size(r.BytesOut))
	fmt.Fprintf(w, "received\t%s\n", node.Size(r.BytesIn))
	if r.Trained != nil && r.Trained.TrainError != nil {
		fmt.Fprintf(w, "training error\t%.4f\n", *r.Trained.TrainError)
	}
	for _, o := range r.Openings {
		fmt.Fprintf(w, "%s learned\t%d %s\n", o.Party, o.Count, o.Kind)
	}
	if r.Trained != nil {
		fmt.Fprintf(w, "\nscore new rows with\thanse predict --model %s --table test --dir %s\n", r.Contract[:8], c.String("dir"))
	}
	return w.Flush()
}

// deliverScores copies the scores to where the owner wants them.
func deliverScores(c *cli.Context, path string) error {
	scores, err := os.Open(path)
	if err != nil {
		return err
	}
	defer scores.Close()
	out := c.String("out")
	if out == "" {
		_, err = io.Copy(c.App.Writer, scores)
		return err
	}
	f, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, scores)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		fmt.Fprintf(c.App.ErrWriter, "wrote %s (%s)\n", out, node.Size(n))
	}
	return err
}

// jobsCommand lists the node's jobs.
func jobsCommand() *cli.Command {
	return &cli.Command{
		Name:  "jobs",
		Usage: "list this node's jobs",
		Description: `   hanse jobs --dir bank-node
   hanse jobs --dir bank-node --show 3f9a     # what it opens and what leaves this machine`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "show", Usage: "show one job whole, by the first digits of its contract's `HASH`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON array on standard output"},
			dirFlag(),
		},
		Action: func(c *cli.Context) error {
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			jobs, err := client.Jobs(c.Context)
			if err != nil {
				return err
			}
			return listJobs(c, jobs)
		},
	}
}

// listJobs prints jobs as a table, one whole, or as JSON.
func listJobs(c *cli.Context, jobs []node.JobInfo) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(jobs)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	if c.String("show") == "" {
		fmt.Fprintln(w, "contract\tjob\ttask\tproposer\tstate\t")
	}
	for _, j := range jobs {
		switch {
		case c.String("show") == "":
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", j.Contract[:8], j.Name, j.Task, j.Proposer, j.State, j.Reason)
		case strings.HasPrefix(j.Contract, c.String("show")):
			fmt.Fprint(c.App.Writer, j.Summary)
		}
	}
	return w.Flush()
}

// approveCommand is a person's consent.
func approveCommand() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "consent to a proposed job, or refuse it",
		ArgsUsage: "JOB",
		Description: `   hanse jobs --dir telco-node
   hanse approve credit --dir telco-node
   hanse approve 3f9a --dir telco-node --refuse --reason "not before the audit"`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "refuse", Usage: "refuse the job"},
			&cli.StringFlag{Name: "reason", Value: "its owner refused it", Usage: "`TEXT` that the proposer is told"},
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("give one job's name or the first digits of its contract: hanse approve JOB; hanse jobs lists them")
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			return client.Decide(c.Context, c.Args().First(), !c.Bool("refuse"), c.String("reason"))
		}),
	}
}

// jobText renders a training job.
func jobText(j *protocol.Job, parameters any) ([]byte, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(parameters); err != nil {
		return nil, err
	}
	if _, err := toml.Decode(b.String(), &j.Parameters); err != nil {
		return nil, err
	}
	return j.Text()
}
