package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/daemon"
	"github.com/hanse-project/hanse/internal/doctor"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/statusview"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// doctorCommand looks for what is wrong.
func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what keeps this node from working, and say what to change",
		Description: `   hanse doctor --dir bank-node
   hanse doctor --dir bank-node --member telco
   hanse doctor --key bank.key --charter charter.toml --data bank.csv --dir bank-node

It looks at this node's key, charter, disk, tables, ports and clock, and at the way to
each member: its addresses and how they were found, the dial, TLS, admission, and then
round trip, loss and throughput both ways. Where a node runs in the folder, it looks;
where none runs, give --key and --charter, and what else hanse node is given, and it
looks in the node's place for a moment. Every fault comes with what to change.

It sends up to 9 MB to each member, and as much comes back. The exit code is for
monitoring:

   0  all is fine
   1  it could not look
   3  something failed
   4  a warning
   64 the command line is wrong

docs/operations.md lists the checks.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "member", Usage: "look at the way to this `MEMBER` alone, and to others so named",
				DefaultText: "all"},
			&cli.StringFlag{Name: "key", Usage: "this member's key `FILE`, where no node runs"},
			&cli.StringFlag{Name: "passphrase-file", Usage: "`FILE` that holds the key's passphrase"},
			&cli.StringFlag{Name: "charter", Usage: "the signed charter `FILE`, where no node runs"},
			&cli.GenericFlag{Name: "data", Value: new(words), Usage: "a table, as hanse node is given it: " +
				"`[NAME=]SOURCE[?KEY=VALUE&...]`"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of tables that say none", DefaultText: "the one called id"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes, in tables that list none and have it"},
			missingFlag("what becomes of missing cells"),
			&cli.StringSliceFlag{Name: "listen", Usage: "the node listens on this `ADDRESS`"},
			&cli.StringSliceFlag{Name: "discovery", Usage: "find members by these `WAYS`: addresses, mdns, dht (default: the " +
				"charter's)"},
			&cli.BoolFlag{Name: "quic", Usage: "the node speaks QUIC besides TCP"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			dirFlag(),
		},
		Action: func(c *cli.Context) error {
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			report := new(doctor.Report)
			err = client.Doctor(c.Context, c.StringSlice("member"), report)
			if node.IsAbsent(err) {
				report, err = examineAlone(c)
			}
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = terminal.JSON(c.App.Writer, report)
			} else {
				report.Text(c.App.Writer)
			}
			if err != nil {
				return err
			}
			switch report.Worst() {
			case doctor.Failed:
				return &statusview.ProblemError{Code: statusview.ExitCritical, Text: firstWith(report, doctor.Failed)}
			case doctor.Warning:
				return &statusview.ProblemError{Code: statusview.ExitWarning, Text: firstWith(report, doctor.Warning)}
			}
			return nil
		},
	}
}

// examineAlone looks at a node that does not run.
func examineAlone(c *cli.Context) (*doctor.Report, error) {
	if !c.IsSet("key") || !c.IsSet("charter") {
		return nil, usage.Errorf("no node runs in %s: give --key and --charter, and what else it is started with, and the "+
			"doctor looks in its place", c.String("dir"))
	}
	tables, unreadable := tableSpecs(c)
	if mistake := (*usage.Error)(nil); errors.As(unreadable, &mistake) {
		return nil, unreadable
	}
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return nil, err
	}
	charter, err := charterfile.Read(c.String("charter")) // one that not all have signed is a finding
	if err != nil {
		return nil, err
	}
	report, err := daemon.Examine(c.Context, daemon.Config{
		Key: key.Key, KeyFile: c.String("key"), Charter: charter, CharterFile: c.String("charter"), Dir: c.String("dir"),
		Tables: tables, Listen: c.StringSlice("listen"), QUIC: c.Bool("quic"), Discovery: c.StringSlice("discovery"),
		Silence: 4 * time.Second, Version: build.Version(),
	}, c.StringSlice("member"))
	if err == nil && unreadable != nil {
		report.Checks = slices.Insert(report.Checks, 0, doctor.Check{Name: doctor.CheckTable, Verdict: doctor.Failed,
			Text: unreadable.Error(),
			Mend: "put the table where that says, or give the place where it is with --data NAME=FILE"})
	}
	return report, err
}

// firstWith names the first of the checks that came out so.
func firstWith(r *doctor.Report, v doctor.Verdict) string {
	for _, c := range r.Checks {
		if c.Verdict == v {
			about := c.About
			if about == "" {
				about = "this node"
			}
			return fmt.Sprintf("%s, %s: %s", about, c.Name, wording.Line(c.Text, 200))
		}
	}
	return string(v)
}
