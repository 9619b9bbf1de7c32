package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// removeCommand deletes what a job left at this node.
func removeCommand() *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "delete what a job that has ended left at this node: model part, scores, payloads",
		ArgsUsage: "JOB",
		Description: `Shows what goes and what stays, and asks. It cannot be taken back.

   hanse remove credit --dir bank-node
   hanse remove 3f9a1c2d --dir bank-node --yes --json
   hanse jobs --removed --dir bank-node            # of which jobs something stays

What this member has promised others stays: contract and end, who consented, the
transcript without payloads, and which rows were scored with a model. So a job that is
removed counts for the bounds of a policy, and its rows are not scored again. The other
members keep what is theirs. docs/life.md says more.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "delete without a question"},
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			client, which, err := aboutJob(c)
			if err != nil {
				return err
			}
			plan, err := client.PlanRemoval(c.Context, which)
			if err != nil {
				return err
			}
			if !c.Bool("yes") {
				jobview.Removal(c.App.ErrWriter, plan)
				yes, err := person(c).Agree(c.Context, fmt.Sprintf("delete what goes of %s, contract %.8s?", plan.Job,
					plan.Contract))
				if errors.Is(err, terminal.ErrNobody) {
					return fmt.Errorf("%w: nothing was deleted; add --yes to delete what goes of %s", err, plan.Job)
				}
				if err != nil {
					return err
				}
				if !yes {
					return fmt.Errorf("the answer was not yes: nothing of %s was deleted", plan.Job)
				}
			}
			done, err := client.Remove(c.Context, plan.Contract)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, done)
			}
			total := int64(0)
			for _, p := range done.Goes {
				total += p.Bytes
			}
			_, err = fmt.Fprintf(c.App.Writer, "%s is removed, contract %.8s: %s are free\n", done.Job, done.Contract,
				wording.Size(total))
			return err
		}),
	}
}
