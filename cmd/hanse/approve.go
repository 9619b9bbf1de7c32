package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// approveCommand is a person's consent.
func approveCommand() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		Usage:     "look at a proposed job and consent to it",
		ArgsUsage: "JOB",
		Description: `Shows what others would learn of your rows, what the job is for, who takes part and has
consented, and what would leave this machine, with --whole message by message; asks, and
answers with the digest of the contract that was consented to:

   hanse approve credit --dir telco-node

Without a terminal nobody can be asked: --yes shows the job and consents to what it has
shown. A program that has shown it to a person elsewhere names what was shown, by at least
32 digits, as "contract" has them in hanse jobs --json, and consents to nothing else:

   hanse approve credit --dir telco-node --yes --contract 3f9a1c2d5b7e80946c2f1ad3e8b05a77

Where the policy wants the approval of several persons, each has a key of their own, and
the node consents when enough have approved (docs/consent.md):

   hanse approve credit --dir telco-node --as alice --key alice.key

hanse refuse refuses a job.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "consent without a question"},
			&cli.StringFlag{Name: "as", Usage: "approve as the person of this `NAME` in the node's policy"},
			&cli.StringFlag{Name: "key", Usage: "that person's key `FILE`", DefaultText: "NAME.key"},
			passphraseFileFlag(), contractFlag(), wholeFlag(), jsonFlag(), dirFlag(),
		},
		Action: anyOrder(approve),
	}
}

// refuseCommand is a person's refusal.
func refuseCommand() *cli.Command {
	return &cli.Command{
		Name:      "refuse",
		Usage:     "refuse a proposed job, and say why",
		ArgsUsage: "JOB",
		Description: fmt.Sprintf(`Shows the job in a few lines. It ends at all its parties, and each of them sees the reason,
who refused it and when. The reason is one line of at most %d bytes; without --reason
the command asks for it.

   hanse refuse credit --dir telco-node --reason "not before the audit"
   hanse refuse 3f9a1c2d --dir telco-node`, contract.MaxReason),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` that the other parties are told"},
			contractFlag(), jsonFlag(), dirFlag(),
		},
		Action: anyOrder(refuse),
	}
}

// refuse shows what is refused, and tells the node why.
func refuse(c *cli.Context) error {
	reason := strings.TrimSpace(c.String("reason"))
	if c.IsSet("reason") {
		if err := node.CheckReason(reason); err != nil {
			return &usage.Error{Err: err}
		}
	}
	client, j, err := proposed(c)
	if err != nil {
		return err
	}
	out := c.App.Writer
	if c.Bool("json") {
		out = c.App.ErrWriter
	}
	const parts = 2 // what it tells, and what it is
	shown := strings.SplitN(j.Summary, "\n\n", parts+1)
	printSummary(out, strings.Join(shown[:min(parts, len(shown))], "\n\n"))
	if reason == "" {
		reason, err = person(c).Line(c.Context, fmt.Sprintf("why does %s refuse it? All parties are told: ", j.Self))
		if err != nil && !errors.Is(err, terminal.ErrNobody) {
			return err
		}
		if err := node.CheckReason(reason); err != nil {
			return usage.Errorf("%w with --reason TEXT; %s still waits", err, j.Name)
		}
	}
	return decide(c, client, j, node.Decision{Reason: reason})
}

// contractFlag names the contract that a person was shown.
func contractFlag() cli.Flag {
	return &cli.StringFlag{Name: "contract", Usage: "decide on the contract whose hash begins with these `DIGITS`, at " +
		"least 32, and on no other"}
}

// leastDigits is how many digits of a contract's hash stand for it in a consent. A proposer tries contracts until two
// begin alike, a harmless one and another: 16 bytes take 2^64 tries.
const leastDigits = 32

// proposed finds the job that a person decides on.
func proposed(c *cli.Context) (*node.Client, *node.JobInfo, error) {
	which, err := oneJob(c)
	if err != nil {
		return nil, nil, err
	}
	shown := strings.ToLower(c.String("contract"))
	if shown != "" && len(shown) < leastDigits {
		return nil, nil, usage.Errorf("--contract has %d digits, want at least %d: another contract can be made to begin "+
			"with fewer", len(shown), leastDigits)
	}
	client, err := node.NewClient(c.String("dir"))
	if err != nil {
		return nil, nil, err
	}
	jobs, err := client.Jobs(c.Context)
	if err != nil {
		return nil, nil, err
	}
	j, err := jobview.Proposed(jobs, which, shown)
	return client, j, err
}

// approve shows a job, asks, and tells the node what was decided.
func approve(c *cli.Context) error {
	if c.String("as") == "" && c.IsSet("key") {
		return usage.Errorf("--key is the key of a person who approves: say who with --as NAME")
	}
	client, j, err := proposed(c)
	if err != nil {
		return err
	}
	if j.Approvals > 0 && c.String("as") == "" { // before anybody reads and answers in vain
		return fmt.Errorf("the node's policy wants the approval of %d of %s for %s: each runs hanse approve %[3]s --as NAME "+
			"--key NAME.key", j.Approvals, strings.Join(j.Approvers, ", "), j.Name)
	}
	out := c.App.Writer
	if c.Bool("json") {
		out = c.App.ErrWriter
	}
	printProposal(c, out, j.Summary, j.Whole)
	if !c.Bool("yes") {
		yes, err := asked(c, j.Summary, fmt.Sprintf("does %s consent to %s, contract %.8s?", j.Self, j.Name, j.Contract))
		switch {
		case errors.Is(err, terminal.ErrNobody):
			return fmt.Errorf("%w, and %s has not consented to %s: add --yes --contract %s", err, j.Self, j.Name, j.Contract)
		case err != nil:
			return err
		case !yes:
			return fmt.Errorf("the answer was not yes: %s has not consented to %s, which still waits; hanse refuse %s refuses "+
				"it", j.Self, j.Name, j.Name)
		}
	}
	d := node.Decision{Yes: true}
	if name := c.String("as"); name != "" {
		if d.Approval, err = approval(c, j, name); err != nil {
			return err
		}
	}
	return decide(c, client, j, d)
}

// printSummary prints what a job is decided by, of which what stands first alone is coloured: the rest has words of
// others.
func printSummary(w io.Writer, text string) {
	first, rest, _ := strings.Cut(text, "\n\n")
	fmt.Fprintf(terminal.Painted(w), "%s\n\n", first)
	fmt.Fprintln(w, strings.TrimSuffix(rest, "\n"))
}

// wholeFlag unfolds a contract.
func wholeFlag() cli.Flag {
	return &cli.BoolFlag{Name: "whole", Usage: "show every message of the contract, in place of sums"}
}

// printProposal prints what a person decides on: the whole contract below it where the person asks for that.
func printProposal(c *cli.Context, w io.Writer, text, whole string) {
	if c.Bool("whole") {
		text = summary.Unfolded(text, whole)
	} else {
		text += fmt.Sprintf("\nEach message of the contract, in %d lines more: add --whole.\n", strings.Count(whole, "\n"))
	}
	printSummary(w, text)
	fmt.Fprintln(w)
}

// asked asks a question below a job's summary, with what is said first of the job once more: the screen may not show it
// any longer.
func asked(c *cli.Context, text, question string) (bool, error) {
	first, _, _ := strings.Cut(text, "\n\n")
	p := person(c)
	if _, ok := p.Terminal(); ok {
		fmt.Fprintf(terminal.Painted(p.Out), "%s\n\n", first)
	}
	return p.Agree(c.Context, question)
}

// approval signs a person's approval of a job.
func approval(c *cli.Context, j *node.JobInfo, name string) (string, error) {
	key, err := loadKey(c, cmp.Or(c.String("key"), name+".key"))
	if err != nil {
		return "", err
	}
	self, err := keys.ParseID(j.SelfID)
	if err != nil {
		return "", err
	}
	var contract keys.Hash
	if err := contract.UnmarshalText([]byte(j.Contract)); err != nil {
		return "", err
	}
	a, err := consent.Approve(key.Key, name, contract, self, time.Now())
	if err != nil {
		return "", err
	}
	return string(a.Text()), nil
}

// decide tells the node what a person decided on a job, and the person what came of it.
func decide(c *cli.Context, client *node.Client, j *node.JobInfo, d node.Decision) error {
	if err := d.Contract.UnmarshalText([]byte(j.Contract)); err != nil {
		return err
	}
	decided, err := client.Decide(c.Context, d)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, decided)
	}
	does := "refuses"
	switch {
	case d.Yes && decided.State == job.Proposed:
		_, err = fmt.Fprintf(c.App.Writer, "%s approves %s\ncontract %s\n%s: %d of %d have approved it; %s has not "+
			"consented yet\n", c.String("as"), decided.Name, decided.Contract, decided.Name, len(decided.Approved),
			decided.Approvals, decided.Self)
		return err
	case d.Yes:
		does = "consents to"
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s %s %s\ncontract %s\n", decided.Self, does, decided.Name, decided.Contract)
	return err
}
