package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// checkDemo refuses flags that do not go together.
func checkDemo(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("demo takes no arguments, only flags; give data with --data FILE")
	}
	if err := checkPrivacy(c); err != nil {
		return err
	}
	if err := checkAggregation(c); err != nil {
		return err
	}
	if r := c.String("record"); r != protocol.RecordFull && r != protocol.RecordDigests {
		return usagef("--record is %q, want full or digests", r)
	}
	return checkData(c)
}

// checkData refuses flags that say something of --data where there is none.
func checkData(c *cli.Context) error {
	if len(c.StringSlice("data")) > 0 {
		return nil
	}
	if c.Int("parties") != 4 {
		return usagef("the generated data has four parties; give --data FILE to share its columns among %d", c.Int("parties"))
	}
	for _, name := range []string{"label", "id", "categorical", "missing"} {
		if c.IsSet(name) {
			return usagef("--%s says how a table is read, and the generated data needs no such word; "+
				"give the table with --data FILE", name)
		}
	}
	return nil
}

// checkPrivacy refuses modes that there are not, and those that the parties are too few for.
func checkPrivacy(c *cli.Context) error {
	privacy := privacyOf(c)
	parties := c.Int("parties")
	switch {
	case privacy == fdskl.Published && !c.Bool("i-know-this-leaks"):
		return usagef("--privacy published lets inner nodes of the tree rebuild other parties' rows; add --i-know-this-leaks to run it all the same")
	case privacy == fdskl.Sealed && parties < 3:
		return usagef("--privacy sealed needs at least 3 parties, got %d: three hold the shares; in a federation any third member can, without data", parties)
	case privacy == fdskl.Masked && parties < 3:
		return usagef("--privacy masked needs at least 3 parties, got %d: with two, the root of a sum knows the other's addend", parties)
	case privacy != fdskl.Sealed && privacy != fdskl.Masked && privacy != fdskl.Published:
		return usagef("--privacy is %q, want sealed, masked or published", privacy)
	}
	return nil
}

// checkAggregation refuses a protection of sums that there is not.
func checkAggregation(c *cli.Context) error {
	privacy := privacyOf(c)
	switch a := c.String("aggregation"); {
	case a != protocol.AggregateMasked && a != protocol.AggregateHE:
		return usagef("--aggregation is %q, want masked or he", a)
	case a == protocol.AggregateHE && privacy == fdskl.Published:
		return usagef("--aggregation he and --privacy published do not go together: sums in the clear have no protection to choose")
	case a == protocol.AggregateHE && privacy == fdskl.Sealed:
		return usagef("--aggregation he and --privacy sealed do not go together: the sums of a sealed job are under masks and open no angle; --privacy masked has it")
	}
	return nil
}

// aggregation is what a job says of the protection of its sums: nothing of masks, which are the default.
func aggregation(c *cli.Context) string {
	if a := c.String("aggregation"); a != protocol.AggregateMasked {
		return a
	}
	return ""
}
