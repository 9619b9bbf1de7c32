package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/tablecheck"
)

// tableCommand is about tables as their owners have them.
func tableCommand() *cli.Command {
	return &cli.Command{
		Name:  "table",
		Usage: "see what jobs would make of a table, before a node is started with it",
		Description: `   hanse table check train.csv --label default

Nothing leaves the machine.`,
		Subcommands: []*cli.Command{tableCheckCommand()},
		Action:      needSubcommand,
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
how many levels there are, and how many columns a model would see of it. Below stand what
is doubtful and what to do about it. Options can stand in a file beside the table, too,
train.csv.toml:

   id = "customer"
   categorical = ["region", "product"]
   ignore = ["name"]
   na = ["-"]             # beside the empty cell; default: NA, NaN, null, ? and the like
   missing = "level"      # or mean, median, mean,level, median,level, refuse
   levels = "other"       # or error: what training never saw is refused
   dates = "dmy"          # where days and months could be either; or mdy, or text

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
