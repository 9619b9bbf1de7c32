package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// jobsCommand lists the node's jobs.
func jobsCommand() *cli.Command {
	return &cli.Command{
		Name:  "jobs",
		Usage: "list this node's jobs: how far they are, whom they wait for, what comes next",
		Description: `   hanse jobs --dir bank-node
   hanse jobs --dir bank-node --json
   hanse jobs --dir bank-node --show credit   # what it opens and what leaves this machine
   hanse jobs --dir telco-node --ref 7f3a2c   # what another member was told a code of

Proposals that ended before all had consented, and that no other member refused, are
counted on the last line; --all lists them, and so does --json, as "unanswered".

Other members hear of a fault at this node by a code and a reference, such as 7f3a2c. The
full text, which may have cells and paths, stays here: --ref prints it.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "show", Usage: "show one `JOB` whole, by its name or the first digits of its contract's hash"},
			&cli.StringFlag{Name: "ref", Usage: "print the full text of the fault that others were told under this `REFERENCE`"},
			&cli.BoolFlag{Name: "all", Usage: "list proposals too that ended without an answer"},
			&cli.BoolFlag{Name: "removed", Usage: "list the jobs that were removed, of which contract and transcript stay"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON array on standard output"},
			dirFlag(),
		},
		Action: func(c *cli.Context) error {
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			if c.IsSet("ref") {
				return showFaults(c, client, c.String("ref"))
			}
			list := client.Jobs
			if c.Bool("removed") {
				list = client.Removed
			}
			jobs, err := list(c.Context)
			if err != nil {
				return err
			}
			switch show := c.String("show"); {
			case c.Bool("json"):
				return terminal.JSON(c.App.Writer, jobs)
			case show != "":
				return showJob(c, jobs, show)
			}
			dir := typedFolder(c)
			listed := len(jobs)
			if !c.Bool("all") && !c.Bool("removed") {
				jobs = slices.DeleteFunc(jobs, func(j node.JobInfo) bool { return j.Unanswered })
			}
			err = jobview.List(terminal.Painted(c.App.Writer), jobs, listed-len(jobs), time.Now(), dir)
			if err != nil {
				return err
			}
			disk, err := client.Disk(c.Context)
			if err == nil && disk.Low() {
				terminal.Sentence(c.App.Writer, "", jobview.Typed(disk.String()+": at its end no job begins or goes on; hanse "+
					"remove JOB makes room", dir))
			}
			return err
		},
	}
}

// showFaults prints what stands under a reference.
func showFaults(c *cli.Context, client *node.Client, ref string) error {
	found, err := client.Faults(c.Context, ref)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, found)
	}
	if len(found) == 0 {
		return fmt.Errorf("nothing is kept under %q in %s: a reference is six digits of 0-9 and a-f, "+
			"as another member was told; the oldest are dropped in time", ref, c.String("dir"))
	}
	for _, e := range found {
		fmt.Fprintln(c.App.Writer, e)
	}
	return nil
}

// showJob prints what the jobs of a name, or whose contract's hash begins so, open and send.
func showJob(c *cli.Context, jobs []node.JobInfo, show string) error {
	found := false
	for _, j := range jobs {
		if node.Means(show, j.Name, j.Contract) {
			printSummary(c.App.Writer, summary.Unfolded(j.Summary, j.Whole))
			found = true
		}
	}
	if !found {
		return fmt.Errorf("the node in %s has no job %q; hanse jobs lists them%s", c.String("dir"), show,
			wording.DidYouMean(show, jobview.Names(jobs)))
	}
	return nil
}

// resultCommand hands out what a finished job left at this node.
func resultCommand() *cli.Command {
	return &cli.Command{
		Name:      "result",
		Usage:     "print what a finished job gave this node: its report, or a prediction's scores",
		ArgsUsage: "JOB",
		Description: `A job goes on when the command that proposed it has ended, and ends also for a member
whose node was away. Its result waits here:

   hanse result credit --dir telco-node
   hanse result credit-scores --dir bank-node --out scores.csv
   hanse result credit --dir bank-node --wait    # until it is done
   hanse result credit-scores --dir bank-node --out scores.csv --report scores.html

With --report the figures are a page, as hanse predict writes it of a prediction's scores and
hanse model show of a training over columns.

Of several jobs of a name it is the one that was done last; with --wait the one that is
under way. The first digits of a contract name any other.

Scores are held against what this node signed for when the job was done. The exit code
is 0 for a job that is done, 1 for one that is under way or has ended another way, and 5
for a training that is done and not converged, as its result says.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "wait", Usage: "wait until the job has ended"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write scores to this `FILE` (default: standard " +
				"output)"},
			labelsFlag(),
			pageFlag(),
			wholeFlag(),
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			client, which, err := aboutJob(c)
			if err != nil {
				return err
			}
			ask := client.Result
			if c.Bool("wait") {
				ask = client.Report
			}
			if which, err = meantResult(c, client, which); err != nil {
				return err
			}
			report, err := ask(c.Context, which)
			if err == nil {
				err = reportCard(c, client, report)
			}
			if err != nil {
				return err
			}
			return printReport(c, client, report)
		}),
	}
}

// reportCard writes the page of a training's model where --report asks for it, and refuses what asks for figures of a
// job that has none. Those of a prediction are written with its scores.
func reportCard(c *cli.Context, client *node.Client, r *jobs.Report) error {
	switch {
	case !c.IsSet("report") && !c.IsSet("labels") || r.Scores != "":
		return nil
	case r.Trained == nil || c.IsSet("labels"):
		return usage.Errorf("--report and --labels are of scores that opened to this node, and --report of a training over "+
			"columns; job %q is neither here", r.Job)
	}
	_, job, _, err := training(c, r.Contract)
	if err != nil {
		return err
	}
	card, err := node.ReadCard(registry.Program(), c.String("dir"), job)
	if err != nil {
		return err
	}
	return writeCardPage(c, card)
}

// meantResult returns the digits of the job whose result a name means that several jobs have; else the name.
func meantResult(c *cli.Context, client *node.Client, which string) (string, error) {
	jobs, err := client.Jobs(c.Context)
	if err != nil {
		return "", err
	}
	var open []string
	for _, j := range jobs {
		if j.Name == which && !j.State.Final() {
			open = append(open, j.Contract)
		}
	}
	if c.Bool("wait") && len(open) > 0 {
		if len(open) > 1 {
			return which, nil // the node says which there are
		}
		return open[0], nil
	}
	if j, said := node.NewestDone(jobs, which); j != nil {
		say(c, said)
		return j.Contract, nil
	}
	return which, nil
}

// say tells the person something beside the results, if there is something.
func say(c *cli.Context, said string) {
	if said != "" {
		terminal.Sentence(c.App.ErrWriter, "", said)
	}
}

// oneJob returns what the command line names a job by.
func oneJob(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", usage.Errorf("give one job's name or the first digits of its contract: %s JOB; hanse jobs lists them",
			commandLine(c))
	}
	return c.Args().First(), nil
}

// aboutJob returns what the command line names a job by, and the way to its node.
func aboutJob(c *cli.Context) (*node.Client, string, error) {
	which, err := oneJob(c)
	if err != nil {
		return nil, "", err
	}
	client, err := node.NewClient(c.String("dir"))
	return client, which, err
}

// resumeCommand lets a job go on that the node holds back.
func resumeCommand() *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "let a job go on that this node holds back",
		ArgsUsage: "JOB",
		Description: `A node that died twice in a job's sessions, without a checkpoint in between, joins no other
session of it by itself: a job that kills the node would take the others along. And a job
that takes more memory than the node has does not start. Look why, in the node's log and
the system's, and then:

   hanse resume credit --dir bank-node

Of a job that is larger than the node this has it start all the same. Other jobs that
stand still go on by themselves when what they wait for has come.`,
		Flags: []cli.Flag{dirFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			client, which, err := aboutJob(c)
			if err != nil {
				return err
			}
			return client.Resume(c.Context, which)
		}),
	}
}

// cancelCommand ends a job.
func cancelCommand() *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "end a job that is not done yet, at all its parties",
		ArgsUsage: "JOB",
		Description: `Withdraws a proposal of this member's, refuses one of another's, or stops a job that has
begun; nobody can start it again. Members who are away hear of it when they are back. What
was opened before stays with whom it opened to.

   hanse cancel credit --dir bank-node --reason "another table is coming"`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Value: "its owner ended it", Usage: "`TEXT` that the other members are told, at " +
				"most 200 bytes"},
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			client, which, err := aboutJob(c)
			if err != nil {
				return err
			}
			return client.Cancel(c.Context, which, c.String("reason"))
		}),
	}
}
