package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/BurntSushi/toml"
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/durable"
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
   # privacy = "sealed"       # the default: features, equations and model are shares
   # min_contributors = 4     # open no sum of fewer parties; default: the charter's

   [parameters]
   active = ["bank"]          # who holds the labels
   label = "default"          # the label's column there
   features = 1024            # at most 4096
   lambda = 1e-6
   iterations = 300           # steps of the solver
   seed = "credit 2026"
   # loss = "logistic"        # or "smooth-hinge": opens scores of the training rows to
   # outer = 5                # the label holder, outer - 1 of each; default: "square",
                              # which opens none
   # keeper = "insurer"       # these two and the label holder hold the shares; default:
   # helper = "telco"         # the first parties that may. The helper needs no data
   # score_bits = 6           # bits behind the point of a prediction
   # ring = 48                # a fifth less traffic, rounder features; default: 64

Sealed jobs want three parties or more: any member of the charter can be the third, as
helper. Any two of label holder, keeper and helper together could rebuild everything:
choose three that would not, and say in the charter who belongs together. In the mode

   privacy = "masked"
   # aggregation = "he"       # homomorphic encryption in place of one-time masks

the angles of all rows open to the label holder, who can rebuild the others' columns from
them. It costs four parties a sixth of the traffic, and has loss = "logistic" as its
default, several label holders and schedule = "doubly-stochastic".

A job over clients' streams is proposed by a server; each client's node keeps its
predictions, made row by row, in predictions.csv in the job's folder. When it is done each
client has a model of its own for hanse predict, and hanse model export writes it:

   format = "hanse-job-v1"
   name = "parks"
   algorithm = "pofmkl"       # or "gfml", with several servers
   task = "train"
   parties = ["office", "north-park", "south-park", "isle-park"]
   servers = ["office"]       # all others are clients

   [parameters]
   label = "output"
   rounds = 500               # of a row each
   seed = "parks 2026"
   # common_bin = true        # all clients of a round move the same kernels: short updates
   # weight_steps = { isle-park = 0.2 }   # a client's own value; the others have weight_step

examples/pofmkl, gfml and ofmsft of the sources list every parameter.

A proposal to which not all consent ends by itself after seven days, or at the time that
its file names: expires = "72h", or expires = "2026-12-24T18:00:00Z". hanse cancel ends a
job at any time. The command ends with 0 when the job is done at all its parties.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			jsonFlag(),
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
			return maskedHint(text, propose(c, text))
		}),
	}
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
	return printReport(c, client, report)
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
	return "", errors.Join(err,
		client.Refuse(context.WithoutCancel(c.Context), contract, "the proposer decided against it"))
}

// printReport prints what the proposer's node says of a finished job.
func printReport(c *cli.Context, client *node.Client, r *node.Report) error {
	if r.Missed != "" {
		fmt.Fprintf(c.App.ErrWriter, "%s; what it had until then is here\n", r.Missed)
	}
	if len(r.Away) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "done; %s will hear of it when back\n", strings.Join(r.Away, ", "))
	}
	if r.Known > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%d of %d rows were scored before: their scores are those that this node keeps\n", r.Known, r.Rows)
	}
	if r.Scores != "" && (c.String("out") != "" || !c.Bool("json")) {
		if err := deliverScores(c, client, r.Contract); err != nil || !c.Bool("json") {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c, r)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "contract\t%s\n", r.Contract)
	if r.Online == nil {
		fmt.Fprintf(w, "rows\t%d\n", r.Rows)
	}
	fmt.Fprintf(w, "seconds\t%.2f\n", r.Seconds)
	fmt.Fprintf(w, "rounds\t%d\n", roundsOf(r))
	switch o := r.Online; {
	case o == nil:
	case o.MeanSquaredError == nil: // a server
		fmt.Fprintf(w, "clients\t%d in the last total\n", o.Clients)
	default:
		fmt.Fprintf(w, "mean squared error\t%.4f, of the predictions made on the way\n", *o.MeanSquaredError)
		if o.Regret != nil {
			fmt.Fprintf(w, "regret\t%.2f\n", *o.Regret)
		}
	}
	fmt.Fprintf(w, "sent\t%s\n", node.Size(r.BytesOut))
	fmt.Fprintf(w, "received\t%s\n", node.Size(r.BytesIn))
	if r.Trained != nil && r.Trained.TrainError != nil {
		fmt.Fprintf(w, "training error\t%.4f\n", *r.Trained.TrainError)
	}
	for _, o := range r.Openings {
		fmt.Fprintf(w, "%s learned\t%d %s\n", o.Party, o.Count, o.Kind)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "\nwhat left %s's machine in the last session, against the contract\n", r.Party)
	node.WriteEgress(c.App.Writer, r.Egress, true)
	fmt.Fprintf(w, "\naudit it with\thanse audit %s --dir %s\n", r.Contract[:8], c.String("dir"))
	if r.Online != nil {
		fmt.Fprintf(w, "see its model with\thanse model show %s --dir %s\n", r.Contract[:8], c.String("dir"))
	}
	if r.Trained != nil {
		fmt.Fprintf(w, "score new rows with\thanse predict --model %s --table test --dir %s\n", r.Contract[:8], c.String("dir"))
	}
	return w.Flush()
}

// roundsOf is how many rounds a job had.
func roundsOf(r *node.Report) uint64 {
	if r.Online != nil {
		return uint64(r.Online.Rounds)
	}
	return r.Rounds
}

// deliverScores copies the scores to where the owner wants them.
func deliverScores(c *cli.Context, client *node.Client, contract string) error {
	scores, err := client.Scores(c.Context, contract)
	if err != nil {
		return err
	}
	defer scores.Close()
	data, err := io.ReadAll(scores)
	if err != nil {
		return err
	}
	return writeOut(c, data)
}

// writeOut writes scores to where the owner wants them.
func writeOut(c *cli.Context, data []byte) error {
	out := c.String("out")
	if out == "" {
		_, err := c.App.Writer.Write(data)
		return err
	}
	err := durable.WriteFile(out, data)
	if err == nil {
		fmt.Fprintf(c.App.ErrWriter, "wrote %s (%s)\n", out, node.Size(int64(len(data))))
	}
	return err
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
