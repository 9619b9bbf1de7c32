package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/demo"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
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
   # shards = 16              # each party runs 16 workers, who share its rows; default: the
                              # nodes do all. For loss = "square"; see hanse worker

   [parameters]
   active = ["bank"]          # who holds the labels
   label = "default"          # the label's column there
   # target = "regression"    # a number; default: texts, two values and codes such as 1 to 4
   # classes = 4              # are classes, which the label holder's node counts, up to 64
   # positive = "bad"         # of two classes the event, which scores, recall, precision,
                              # costs and points are of; default: see below
   # features = 1024          # even, at most 4096; default: 1024, or fewer where a table
                              # of few rows bears no more
   # lambda = 1e-4            # default: "auto", one of six from 0.1 to 1e-6, by a fifth of
                              # the rows that are kept out of a first solution; with
                              # "logistic" at least 0.02 over the number of rows
   iterations = 300           # steps of the solver; in each step of "logistic" 24
   seed = "credit 2026"
   # loss = "logistic"        # takes steps to its optimum, and says where it ends before;
   # outer = 40               # the most of them, from 24 on. Default: "square".
                              # "smooth-hinge" is of masked jobs alone
   # keeper = "insurer"       # these two and the label holder hold the shares; default:
   # helper = "telco"         # the first parties that may. The helper needs no data
   # score_bits = 6           # bits behind the point of a prediction; 5 by default with
                              # "logistic" and for numbers
   # ring = 32                # bits of a shared feature, half the traffic; default
                              # where it loses nothing, else 64

Sealed jobs want three parties or more: any member of the charter can be the third, as
helper. Any two of label holder, keeper and helper together could rebuild everything:
choose three that would not, and say in the charter who belongs together. In the mode

   privacy = "masked"
   # aggregation = "he"       # homomorphic encryption in place of one-time masks

the angles of all rows open to the label holder, who can rebuild the others' columns from
them. It costs four parties a sixth of the traffic, and has loss = "logistic" as its
default for two classes and as a choice for more, several label holders, and schedule =
"doubly-stochastic".

Of two classes one is the event. Where the job does not say which, all parties read scores
as of the later in the order, and the label holder as of the class that is rarer in its
rows, which it tells nobody. With several label holders, or points that open to others, all
read them as of the later. What prints figures, scores and points says the class.
--positive bad does what positive = "bad" in the job file does.

A scorecard is sealed, too: each party cuts its own columns into bins and shares them, and
nobody sees a bin of a row. It moves a twentieth of the bytes a row, and its points can be
read ("hanse scorecard"); docs/glm.md lists all its parameters:

   algorithm = "glm"

   [parameters]
   active = ["bank"]
   label = "default"
   # bins = 10                # of a column of numbers, about, at their quantiles
   # min_cell = 20            # smaller bins are merged before anything is shared
   # loss = "logistic"        # the default; "square" is for numbers, too
   # outer = 12               # the most steps of Newton's method, of which five may do. A
                              # model that is not converged then has no points
   # lambda = 1e-3            # default, and with "logistic" the least: 0.2 over the
                              # number of rows
   # iterations = 80          # steps of the solver, in each outer step
   # points = "owners"        # who learns points: each owner of its own bins, or a party's
                              # name, of all; default: nobody
   # z_scores = "owners"      # who learns how sure they are; the same
   # edges = { age = [25, 35, 50] }   # of the proposer's own columns; the name is told to all

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

What a job is for stands in its contract, which all parties read and sign, and in the
audit's report; a policy can want it (docs/consent.md):

   [purpose]
   text = "whether a loan will be repaid, for the bank's decisions on new loans"
   legal_basis = "GDPR Art. 6(1)(f)"
   retention = "the model for two years, transcripts for ten"
   contact = "privacy@bank.example"

A proposal to which not all consent ends by itself after seven days, or at the time that
its file names: expires = "72h", or expires = "2026-12-24T18:00:00Z". hanse cancel ends a
job at any time. The command ends with 0 when the job is done at all its parties, and with 5
when it is done and the model is not converged, as the result says.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "positive", Usage: "the `CLASS` of two that is the event, in place of the job file's " +
				"positive"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without asking"},
			wholeFlag(),
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage.Errorf("give one job file: hanse train JOB.toml; see hanse train --help")
			}
			text, err := textfile.Read(c.Args().First(), node.MaxJob)
			if err != nil {
				return err
			}
			if _, err := contract.ParseJob(text); err != nil {
				return fmt.Errorf("%s: %w", c.Args().First(), err)
			}
			if c.IsSet("positive") {
				if text, err = withPositive(text, c.String("positive")); err != nil {
					return err
				}
			}
			return maskedHint(text, propose(c, text))
		}),
	}
}

// withPositive returns a job's text that says which class is the event.
func withPositive(text []byte, class string) ([]byte, error) {
	job, err := contract.ParseJob(text)
	if err != nil {
		return nil, err
	}
	if job.Task != contract.TaskTrain || job.OverClients() {
		return nil, usage.Errorf("--positive is for trainings over columns, and job %q is none", job.Name)
	}
	if job.Parameters == nil {
		job.Parameters = make(map[string]any)
	}
	job.Parameters["positive"] = class
	return job.Text()
}

// propose prepares a job at the node, asks the owner, launches it and prints the outcome.
func propose(c *cli.Context, text []byte) error {
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return err
	}
	screen := terminal.NewScreen(c.App.ErrWriter)
	defer screen.End()
	contract, err := agreeOn(c, client, screen, text)
	if err != nil {
		return err
	}
	report, err := client.Launch(c.Context, contract, shownBy(typedFolder(c), screen))
	screen.End()
	if c.Context.Err() != nil {
		dir := wording.Quoted(c.String("dir"))
		return errors.Join( // each on a line of its own
			errors.New("interrupted: this command has ended, and the job goes on at the nodes"),
			errors.New("wait for its result with"),
			fmt.Errorf("    hanse result %.8s --wait --dir %s", contract, dir),
			errors.New("or end it, at all its parties, with"),
			fmt.Errorf("    hanse cancel %.8s --dir %s", contract, dir))
	}
	if err != nil {
		return err
	}
	return printReport(c, client, report)
}

// shownBy shows a job's events on a screen, with the node's folder, as it was typed, in the commands that they print.
func shownBy(dir string, screen *terminal.Screen) func(jobs.Event) {
	return func(e jobs.Event) {
		e.Text = jobview.Typed(e.Text, dir)
		screen.Show(e)
	}
}

// errNotAgreed is that the person who was asked did not consent.
var errNotAgreed = errors.New("not agreed: nothing was sent but the proposal's questions")

// agreeOn prepares a job, shows its summary and asks the owner; it returns the contract's hash.
func agreeOn(c *cli.Context, client *node.Client, screen *terminal.Screen, text []byte) (string, error) {
	prepared, err := client.Prepare(c.Context, text, shownBy(typedFolder(c), screen))
	if err != nil {
		return "", err
	}
	printProposal(c, c.App.ErrWriter, prepared.Summary, prepared.Whole)
	if c.Bool("yes") {
		return prepared.Contract, nil
	}
	yes, err := asked(c, prepared.Summary, "consent and run it?")
	if err == nil && yes {
		return prepared.Contract, nil
	}
	switch {
	case errors.Is(err, terminal.ErrNobody):
		err = fmt.Errorf("%w: add --yes to consent without a question", err)
	case err == nil:
		err = errNotAgreed
	}
	against := node.Decision{Reason: "the proposer decided against it"}
	if e := against.Contract.UnmarshalText([]byte(prepared.Contract)); e != nil {
		return "", errors.Join(err, e)
	}
	_, e := client.Decide(context.WithoutCancel(c.Context), against)
	return "", errors.Join(err, e)
}

// printReport prints what the proposer's node says of a finished job.
func printReport(c *cli.Context, client *node.Client, r *jobs.Report) error {
	all, err := client.Jobs(c.Context)
	if err != nil {
		return err
	}
	if r.Missed != "" {
		say(c, r.Missed+"; what it had until then is here")
	}
	if len(r.Away) > 0 {
		say(c, fmt.Sprintf("done; %s will hear of it when back", strings.Join(r.Away, ", ")))
	}
	if r.Known > 0 {
		say(c, fmt.Sprintf("%d of %d rows were scored before: their scores are those that this node keeps", r.Known,
			r.Rows))
	}
	if r.Scores != "" && (c.String("out") != "" || !c.Bool("json")) {
		scores, err := client.Scores(c.Context, r.Contract)
		if err != nil {
			return err
		}
		defer scores.Close()
		data, err := io.ReadAll(scores)
		if err == nil {
			err = writeOut(c, data)
		}
		if err == nil {
			s := scored{training: r.Model, model: fmt.Sprintf("%.8s", r.Model), file: data}
			for _, j := range all {
				switch j.Contract {
				case r.Model:
					s.model = j.Name
				case r.Contract:
					s.table = j.Table
				}
			}
			r.Figures, err = showScored(c, client, s, r.Figures)
		}
		if err != nil || !c.Bool("json") {
			return err
		}
	}
	if c.Bool("json") {
		err = terminal.JSON(c.App.Writer, r)
	} else {
		err = jobview.Report(c.App.Writer, r, c.Bool("whole"), &jobview.Steps{Jobs: all, Dir: c.String("dir"),
			Now: time.Now(), Has: func(table string) bool {
				_, err := client.TablePath(c.Context, table)
				return err == nil
			}})
	}
	if err == nil && r.NotConverged != "" {
		err = errFar
	}
	return err
}

// errFar says that a training is done whose model is not at its optimum.
var errFar = errors.New("the model is not at its optimum")

// writeOut writes scores to where the owner wants them.
func writeOut(c *cli.Context, data []byte) error {
	out := c.String("out")
	if out == "" {
		_, err := c.App.Writer.Write(data)
		return err
	}
	err := durable.WriteFile(out, data)
	if err == nil {
		fmt.Fprintf(c.App.ErrWriter, "wrote %s (%s)\n", out, wording.Size(int64(len(data))))
	}
	return err
}

// maskedHint adds to a refusal of a sealed training what would take it, when that is masks.
func maskedHint(text []byte, refusal error) error {
	job, err := contract.ParseJob(text)
	if err != nil || job.Algorithm != contract.FDSKL || job.Task != contract.TaskTrain || job.Privacy != fdskl.Sealed {
		return refusal
	}
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil || demo.WantsMasks(p, job.Aggregation) == "" || len(job.Parties) < 3 {
		return refusal
	}
	return errors.Join(refusal, errors.New(
		`hint: privacy = "masked" in the job file allows it, and opens every angle to the label holder`))
}
