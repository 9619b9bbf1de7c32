package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/keys"
)

// policyCommand has the commands about the rules of consent.
func policyCommand() *cli.Command {
	return &cli.Command{
		Name:  "policy",
		Usage: "check the rules of consent, and explain what they make of a job",
		Description: `   hanse policy check policy.toml --charter charter.toml
   hanse policy explain credit --dir telco-node

docs/policy.md has an example of every key, and three whole policies.`,
		Subcommands: []*cli.Command{policyCheckCommand(), policyExplainCommand()},
	}
}

// policyCheckCommand reads a policy file and says what it does.
func policyCheckCommand() *cli.Command {
	return &cli.Command{
		Name:        "check",
		Usage:       "say in plain words what a policy does, or what is wrong with it",
		ArgsUsage:   "FILE",
		Description: `   hanse policy check policy.toml --charter charter.toml`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "charter", Usage: "the signed charter `FILE`, whose members the " +
			"policy may name"}},
		Action: anyOrder(checkPolicy),
	}
}

// checkPolicy prints all mistakes or, when there are none, what the policy does.
func checkPolicy(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("give one policy file: hanse policy check FILE")
	}
	path := c.Args().First()
	var charter *keys.Charter
	if file := c.String("charter"); file != "" {
		signed, err := readCompleteCharter(file)
		if err != nil {
			return err
		}
		charter = &signed.Charter
	}
	p, err := consent.Load(path)
	if err != nil {
		return err
	}
	if found := p.Mistakes(charter); len(found) > 0 {
		for _, err := range found {
			fmt.Fprintln(c.App.Writer, err)
		}
		return fmt.Errorf("policy %s has %s: no node starts with it", path, plural(len(found), "mistake"))
	}
	fmt.Fprintf(c.App.Writer, "policy %s, SHA-256 %s\n", path, p.Digest().Short())
	for _, line := range p.Words() {
		writeLine(c, strings.Repeat("    ", line.Depth), line.Text)
	}
	return nil
}

// writeLine prints a sentence on lines of at most 80 characters; those after the first stand further in.
func writeLine(c *cli.Context, indent, text string) {
	text = printable(text)
	lines := node.Wrapped(80, indent+"  ", text)
	fmt.Fprint(c.App.Writer, indent+strings.TrimPrefix(lines, indent+"  "))
}

// policyExplainCommand asks a node what its policy makes of a job.
func policyExplainCommand() *cli.Command {
	return &cli.Command{
		Name:        "explain",
		Usage:       "say which rule decides on a job, and what of it does not fit the others",
		ArgsUsage:   "JOB",
		Description: `   hanse policy explain credit --dir telco-node`,
		Flags:       []cli.Flag{dirFlag(), jsonFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("give one job's name or the first digits of its contract: hanse policy explain JOB; hanse " +
					"jobs lists them")
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			e, err := client.Explain(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(c, e)
			}
			explain(c, e)
			return nil
		}),
	}
}

// explain prints what a policy makes of a job.
func explain(c *cli.Context, e *node.Explanation) {
	writeLine(c, "", fmt.Sprintf("job %q, contract %.8s, is %s", e.Job, e.Contract, e.State))
	if e.Policy == "" {
		writeLine(c, "", "this node has no policy: every job waits for hanse approve")
	} else {
		writeLine(c, "", fmt.Sprintf("policy %s, SHA-256 %.8s, asked as of %s", e.File, e.Policy,
			e.AsOf.UTC().Format("2006-01-02 15:04 UTC")))
	}
	if e.Consent != nil {
		writeLine(c, "", "consented to by "+e.Consent.String())
		if e.Consent.Policy != "" && e.Consent.Policy != e.Policy {
			writeLine(c, "", fmt.Sprintf("the policy was another file then, SHA-256 %.8s: below is what today's makes of "+
				"the job", e.Consent.Policy))
		}
	}
	for _, r := range e.Judgement.Reasons {
		switch {
		case r.Rule == e.Judgement.Rule:
			writeLine(c, "", fmt.Sprintf("%s fits and decides: %s", r.Rule, e.Judgement.Verdict))
		case r.Fits:
			writeLine(c, "", r.Rule+" fits too")
		default:
			writeLine(c, "", fmt.Sprintf("%s does not fit: %s", r.Rule, r.Key))
			writeLine(c, "    ", "the job has "+r.Job)
			writeLine(c, "    ", "the rule wants "+r.Want)
		}
	}
	if e.Judgement.Verdict == consent.Ask {
		writeLine(c, "", "no rule decides: a person does, by hanse approve")
	}
}
