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
		return fmt.Errorf("nothing is kept under %q in %s: a reference is six digits of 0-9 and a-f, "+
			"as another member was told; the oldest are dropped in time", ref, c.String("dir"))
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

// reasonLines says below a job who consented, why it stands as it does, and until when a proposal waits.
func reasonLines(j node.JobInfo) string {
	reason := j.Reason
	if j.State == node.StateProposed && reason == "" {
		reason = fmt.Sprintf("hanse approve %s consents; it expires %s", j.Name, j.Expires)
	}
	text := ""
	if j.Consent != nil {
		text = node.Wrapped(80, "          ", "consented to by "+j.Consent.String())
	}
	if reason == "" {
		return text
	}
	return text + node.Wrapped(80, "          ", printable(reason))
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
		Usage:     "look at a proposed job and consent to it, or refuse it",
		ArgsUsage: "JOB",
		Description: `Shows what the job computes, what would leave this machine and who would learn what,
and asks. A program that has shown it to a person elsewhere names what was shown:

   hanse approve credit --dir telco-node
   hanse approve credit --dir telco-node --yes --contract 3f9a1c2d
   hanse approve 3f9a1c2d --dir telco-node --refuse --reason "not before the audit"`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "consent without a question; needs --contract"},
			&cli.StringFlag{Name: "contract", Usage: "consent to the contract whose hash begins with these `DIGITS`, at " +
				"least 8, and to no other"},
			&cli.BoolFlag{Name: "refuse", Usage: "refuse the job"},
			&cli.StringFlag{Name: "reason", Value: "its owner refused it", Usage: "`TEXT` that the other parties are told"},
			dirFlag(),
		},
		Action: anyOrder(approve),
	}
}

// leastDigits is how many digits of a contract's hash stand for it in a consent.
const leastDigits = 8

// approve shows a job, asks, and tells the node what was decided.
func approve(c *cli.Context) error {
	shown := strings.ToLower(c.String("contract"))
	switch {
	case c.NArg() != 1:
		return usagef("give one job's name or the first digits of its contract: hanse approve JOB; hanse jobs lists them")
	case c.Bool("yes") && c.Bool("refuse"):
		return usagef("--yes consents and --refuse refuses: give one of them")
	case c.Bool("yes") && shown == "":
		return usagef("--yes consents to what was shown before, and needs its contract: hanse jobs --show %s --dir %s "+
			"shows it, then type --yes --contract and its first %d digits",
			c.Args().First(), c.String("dir"), leastDigits)
	case shown != "" && len(shown) < leastDigits:
		return usagef("--contract has %d digits, want at least %d: fewer can be those of another contract",
			len(shown), leastDigits)
	}
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return err
	}
	jobs, err := client.Jobs(c.Context)
	if err != nil {
		return err
	}
	j, err := proposed(jobs, c.Args().First(), shown)
	if err != nil {
		return err
	}
	if c.Bool("refuse") {
		if err := client.Refuse(c.Context, j.Contract, c.String("reason")); err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "%s refuses %s, contract %s\n", j.Self, j.Name, j.Contract)
		return nil
	}
	if !c.Bool("yes") {
		fmt.Fprintln(c.App.Writer, j.Summary)
		if err := askConsent(c, j); err != nil {
			return err
		}
	}
	if err := client.Approve(c.Context, j.Contract, j.Contract); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s consents to %s, contract %s\n", j.Self, j.Name, j.Contract)
	return nil
}

// proposed finds the one job that a person decides on, by its name or the first digits of its contract; shown is the
// first digits of the contract that the person saw, empty before that.
func proposed(jobs []node.JobInfo, which, shown string) (*node.JobInfo, error) {
	var named, fitting []*node.JobInfo
	for i := range jobs {
		j := &jobs[i]
		if j.Name != which && (len(which) < 4 || !strings.HasPrefix(j.Contract, which)) {
			continue
		}
		named = append(named, j)
		if j.State == node.StateProposed && strings.HasPrefix(j.Contract, shown) {
			fitting = append(fitting, j)
		}
	}
	switch {
	case len(named) == 0:
		return nil, fmt.Errorf("this node has no job %q; hanse jobs lists them", which)
	case len(fitting) == 1:
		return fitting[0], nil
	case len(fitting) > 1:
		return nil, fmt.Errorf("%q fits %d jobs that wait; give the first digits of the contract, "+
			"hanse jobs lists them", which, len(fitting))
	}
	for _, j := range named {
		if j.State == node.StateProposed {
			return nil, fmt.Errorf("the job %q that waits here has contract %.8s, not %.8s: "+
				"look at it with hanse jobs --show %s, then type the digits that stand there",
				which, j.Contract, shown, which)
		}
	}
	j := named[len(named)-1]
	return nil, fmt.Errorf("job %q is %s, not waiting for consent", j.Name, j.State)
}

// askConsent asks for one line on standard input. No answer is no consent.
func askConsent(c *cli.Context, j *node.JobInfo) error {
	fmt.Fprintf(c.App.ErrWriter, "does %s consent to %s, contract %.8s? [y/N] ", j.Self, j.Name, j.Contract)
	answer, err := await(c.Context, func() ([]byte, error) { return readLine(c.App.Reader) })
	if _, asked := terminal(c); !asked {
		fmt.Fprintln(c.App.ErrWriter)
	}
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(string(answer))) {
	case "y", "yes":
		return nil
	}
	return fmt.Errorf("the answer was not yes: %s has not consented to %s, which still waits; hanse approve %s "+
		"--refuse refuses it", j.Self, j.Name, j.Name)
}
