package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/tablecheck"
	"github.com/hanse-project/hanse/internal/terminal"
)

// tableCommand is about tables as their owners have them.
func tableCommand() *cli.Command {
	return &cli.Command{
		Name:  "table",
		Usage: "see what jobs would make of a table, or have a node read one anew",
		Description: `   hanse table check train.csv --label default
   hanse table refresh train --dir bank-node

Nothing leaves the machine.`,
		Subcommands: []*cli.Command{tableCheckCommand(), tableRefreshCommand()},
		Action:      needSubcommand,
	}
}

// tableRefreshCommand has a running node read a table anew.
func tableRefreshCommand() *cli.Command {
	return &cli.Command{
		Name:      "refresh",
		Usage:     "have the node read a database's or a command's table as it is now",
		ArgsUsage: "NAME",
		Description: `   hanse table refresh train --dir bank-node

A node reads such a table when it starts, when its owner proposes a job about it, when a
contract is signed and when a session of its job starts; other members' questions are
answered from what it read last. Where the rows have changed since, refresh says so to the
node. --refresh 24h, or ?refresh=24h in the table's location, has the node do so itself;
refresh=manual leaves all to you, the start of the node as well. A file needs none of
this: it is looked at whenever it is used. docs/sources.md has more.`,
		Flags: []cli.Flag{jsonFlag(), dirFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			name, err := oneArgument(c, "table of the node", "NAME")
			if err != nil {
				return err
			}
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			r, err := client.RefreshTable(c.Context, name)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, r)
			}
			what := "and is as it was"
			switch {
			case r.First:
				what = "for the first time"
			case r.Changed:
				what = "and has changed: jobs that are proposed from now on are about the new rows"
			}
			_, err = fmt.Fprintf(c.App.Writer, "table %s was read from %s %s (digest %.8s)\n", r.Table, r.Source, what, r.Digest)
			return err
		}),
	}
}

// tableCheckCommand shows what jobs would make of a table.
func tableCheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "show a table's columns, what is missing, what is doubtful, and what a training would refuse",
		ArgsUsage: "[NAME=]FILE[?KEY=VALUE&...]",
		Description: `   hanse table check train.csv --label default
   hanse table check 'train.csv?id=customer&categorical=region&ignore=name'

reads the whole table as a node would, and prints of each column what it is: numbers, a
date, categories, a constant or empty one, which are left out; how many cells are missing,
how many levels there are, how many columns a model would see of it, and from where to
where its numbers go, by which a point that was read wrongly shows. Below stand all
that is wrong or doubtful, and the lines that read the table. They belong into a file
beside the table, train.csv.toml, which may have:

   id = "customer"
   categorical = ["region", "product"]
   ignore = ["name"]
   na = ["-"]             # beside the empty cell; default: NA, NaN, null, ? and the like
   missing = "level"      # or mean, median, mean,level, median,level, refuse
   levels = "other"       # or error: what training never saw is refused
   dates = "dmy"          # where days and months could be either; or mdy, or text
   delimiter = ";"        # what separates columns: , ; | or tab
   decimal = ","          # before a number's decimals; default: a point
   thousands = "."        # between thousands: , . ' or space; default: nothing
   units = ["€", "%"]     # what is taken off numbers; () and - for those as (3) and 3-
   refresh = "24h"        # of a database: read it anew so often; or manual

It ends with status 1 where a training would refuse the table. docs/tables.md has the rules.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN`, where the table says none", DefaultText: "the one called id"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes though it looks like numbers, where " +
				"the table lists none"},
			missingFlag("what becomes of missing cells, where the table says nothing"),
			&cli.StringFlag{Name: "label", Usage: "the label's `COLUMN`: show its classes, or its range"},
			jsonFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			table, err := oneArgument(c, "table", "train.csv")
			if err != nil {
				return err
			}
			return tablecheck.Run(&tablecheck.Options{
				Table: table, ID: c.String("id"), Missing: c.String("missing"), Categorical: c.StringSlice("categorical"),
				Label: c.String("label"), JSON: c.Bool("json"), Out: c.App.Writer,
			})
		}),
	}
}
