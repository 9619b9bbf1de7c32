package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
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
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage.Errorf("give one policy file: hanse policy check FILE")
			}
			path := c.Args().First()
			var charter *keys.Charter
			if file := c.String("charter"); file != "" {
				signed, err := charterfile.ReadInForce(file)
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
				return fmt.Errorf("policy %s has %s: no node starts with it", path, wording.Count(len(found), "mistake"))
			}
			fmt.Fprintf(c.App.Writer, "policy %s, SHA-256 %s\n", path, p.Digest().Short())
			for _, line := range p.Words() {
				terminal.Sentence(c.App.Writer, strings.Repeat("    ", line.Depth), line.Text)
			}
			return nil
		}),
	}
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
			client, which, err := aboutJob(c)
			if err != nil {
				return err
			}
			e, err := client.Explain(c.Context, which)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, e)
			}
			jobview.Explain(c.App.Writer, e)
			return nil
		}),
	}
}
