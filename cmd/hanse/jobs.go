package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
)

// jobsCommand lists the node's jobs.
func jobsCommand() *cli.Command {
	return &cli.Command{
		Name:  "jobs",
		Usage: "list this node's jobs",
		Description: `   hanse jobs --dir bank-node
   hanse jobs --dir bank-node --show credit   # what it opens and what leaves this machine
   hanse jobs --dir telco-node --ref 7f3a2c   # what another member was told a code of

Other members hear of a fault at this node by a code and a reference, such as 7f3a2c. The
full text, which may have cells and paths, stays here: --ref prints it.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "show", Usage: "show one `JOB` whole, by its name or the first digits of its contract's hash"},
			&cli.StringFlag{Name: "ref", Usage: "print the full text of the fault that others were told under this `REFERENCE`"},
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
			jobs, err := client.Jobs(c.Context)
			if err != nil {
				return err
			}
			return listJobs(c, jobs)
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
		return printJSON(c, found)
	}
	if len(found) == 0 {
		return fmt.Errorf("nothing is kept under %q in %s: a reference is six digits of 0-9 and a-f, as another member was told; the oldest are dropped in time", ref, c.String("dir"))
	}
	for _, e := range found {
		fmt.Fprintln(c.App.Writer, e)
	}
	return nil
}

// listJobs prints jobs as a table, one whole, or as JSON.
func listJobs(c *cli.Context, jobs []node.JobInfo) error {
	if c.Bool("json") {
		return printJSON(c, jobs)
	}
	if show := c.String("show"); show != "" {
		return showJob(c, jobs, show)
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "contract\tjob\ttask\tproposer\tstate")
	for _, j := range jobs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.Contract[:8], j.Name, j.Task, j.Proposer, j.State)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		fmt.Fprintln(c.App.Writer, line)
		if i > 0 {
			fmt.Fprint(c.App.Writer, reasonLines(jobs[i-1]))
		}
	}
	return nil
}

// reasonLines says below a job why it stands as it does, and until when a proposal waits.
func reasonLines(j node.JobInfo) string {
	reason := j.Reason
	if j.State == node.StateProposed && reason == "" {
		reason = fmt.Sprintf("hanse approve %s consents; it expires %s", j.Name, j.Expires)
	}
	if reason == "" {
		return ""
	}
	return node.Wrapped(80, "          ", printable(reason))
}

// showJob prints what the jobs of a name, or whose contract's hash begins so, open and send.
func showJob(c *cli.Context, jobs []node.JobInfo, show string) error {
	found := false
	for _, j := range jobs {
		if j.Name == show || strings.HasPrefix(j.Contract, show) {
			fmt.Fprint(c.App.Writer, j.Summary)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("the node in %s has no job %q; hanse jobs --dir %s lists them", c.String("dir"), show, c.String("dir"))
	}
	return nil
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
