package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/idcheck"
)

// idsCommand is about what identifies a row.
func idsCommand() *cli.Command {
	return &cli.Command{
		Name:  "ids",
		Usage: "see what identifies the rows of a table, before an alignment",
		Description: `A charter can say which columns identify a row, and how their cells are made alike:

   hanse charter new --ids 'phone=phone:trim,e164=+31' ...

Every member looks at its own table first. Nothing leaves the machine:

   hanse ids check train.csv --charter charter.toml`,
		Subcommands: []*cli.Command{idsCheckCommand()},
		Action:      needSubcommand,
	}
}

// idsCheckCommand shows what identifiers make of a table.
func idsCheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "show what the charter's ids make of a table",
		ArgsUsage: "TABLE.csv",
		Description: `   hanse ids check train.csv --charter charter.toml
   hanse ids check train.csv --charter charter.toml --ids phone --ids person

shows ten rows with their normal forms, and counts those without an id, which take no
part in an alignment. It ends with status 1 where two rows have the same id: an
alignment would refuse the table. So it does where ids are written as others may not
write them, and the recipe does not make them alike: as 1.0 or 1e+05, with zeros in
front of some, with blanks inside, equal but for capitals. The charter need not be
signed yet.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "charter", Required: true, Usage: "the charter `FILE`, signed or not"},
			&cli.StringSliceFlag{Name: "ids", Usage: "`NAME` of what identifies a row; give it again for more",
				DefaultText: "all of the charter"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` (default: the one called id)"},
			jsonFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			table, err := oneArgument(c, "table", "train.csv")
			if err != nil {
				return err
			}
			return idcheck.Run(&idcheck.Options{
				Table: table, Charter: c.String("charter"), IDs: c.StringSlice("ids"), ID: c.String("id"),
				JSON: c.Bool("json"), Out: c.App.Writer,
			})
		}),
	}
}
