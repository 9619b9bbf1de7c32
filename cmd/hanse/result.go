package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
)

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

Scores are held against what this node signed for when the job was done. The exit code
is 0 for a job that is done, 1 for one that is under way or has ended another way.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "wait", Usage: "wait until the job has ended"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write scores to this `FILE` (default: standard output)"},
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("give one job's name or the first digits of its contract: hanse result JOB; hanse jobs lists them")
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			ask := client.Result
			if c.Bool("wait") {
				ask = client.Report
			}
			report, err := ask(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			return printReport(c, client, report)
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
			&cli.StringFlag{Name: "reason", Value: "its owner ended it", Usage: "`TEXT` that the other members are told, at most 200 bytes"},
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("give one job's name or the first digits of its contract: hanse cancel JOB; hanse jobs lists them")
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			return client.Cancel(c.Context, c.Args().First(), c.String("reason"))
		}),
	}
}
