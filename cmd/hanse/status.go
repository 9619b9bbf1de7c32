package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/statusview"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
)

// statusCommand says how a node stands.
func statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "how this node stands: members, jobs, disk, and what needs somebody",
		ArgsUsage: "[JOB]",
		Description: `   hanse status --dir bank-node
   hanse status credit --dir bank-node    # one job alone
   hanse status --dir bank-node --json | jq '.members[] | select(.connected | not) | .name'

It asks the running node over its socket, and changes nothing. The exit code is for
monitoring:

   0  all is well
   1  it cannot tell: no node runs in that folder, or it does not answer
   3  critical: jobs stand still until somebody acts
   4  warning: somebody should look
   64 the command line is wrong

docs/operations.md lists the alerts. hanse doctor looks for the causes.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing on standard output: the exit code says it"},
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage.Errorf("give one job, or none: hanse status [JOB]; see hanse status --help")
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			s, err := client.Status(c.Context)
			if err != nil {
				return err
			}
			dir := typedFolder(c)
			out := c.App.Writer
			if c.Bool("quiet") {
				out = io.Discard
			}
			switch {
			case c.Args().Present() && c.Bool("json"):
				return usage.Errorf("hanse status --json prints the whole node, every job in it: leave out %s",
					c.Args().First())
			case c.Args().Present():
				err = statusview.Job(terminal.Painted(out), s, c.Args().First(), dir)
			case c.Bool("quiet"):
			case c.Bool("json"):
				err = terminal.JSON(c.App.Writer, s)
			default:
				err = statusview.Text(c.App.Writer, s, dir)
			}
			if err != nil {
				return err
			}
			return statusview.Problem(s)
		}),
	}
}
