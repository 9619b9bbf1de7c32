package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
)

// ledgerCommand says what a node's jobs have told.
func ledgerCommand() *cli.Command {
	return &cli.Command{
		Name:  "ledger",
		Usage: "what all jobs together have told of this node's tables, and to whom",
		Description: `   hanse ledger --dir telco-node
   hanse ledger --dir telco-node --json | jq '.entries[] | {job, at, told}'

` + ledger.Meaning + ` What a policy
lets through follows from these numbers (docs/policy.md, What jobs add up to).`,
		Flags: []cli.Flag{dirFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			l, err := client.Ledger(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, l)
			}
			return jobview.Ledger(c.App.Writer, l)
		},
	}
}
