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
	switch c.String("privacy") {
	case fdskl.Published:
		if !c.Bool("i-know-this-leaks") {
			return usagef("--privacy published lets inner nodes of the tree rebuild other parties' rows; add --i-know-this-leaks to run it all the same")
		}
	case fdskl.Masked:
		if c.Int("parties") < 3 {
			return usagef("--privacy masked needs at least 3 parties, got %d: with two, the root of a sum knows the other's addend", c.Int("parties"))
		}
	default:
		return usagef("--privacy is %q, want masked or published", c.String("privacy"))
	}
	if err := checkAggregation(c); err != nil {
		return err
	}
	if r := c.String("record"); r != protocol.RecordFull && r != protocol.RecordDigests {
		return usagef("--record is %q, want full or digests", r)
	}
	if len(c.StringSlice("data")) == 0 && c.Int("parties") != 4 {
		return usagef("the generated data has four parties; give --data FILE to share its columns among %d", c.Int("parties"))
	}
	return nil
}

// checkAggregation refuses a protection of sums that there is not.
func checkAggregation(c *cli.Context) error {
	switch a := c.String("aggregation"); {
	case a != protocol.AggregateMasked && a != protocol.AggregateHE:
		return usagef("--aggregation is %q, want masked or he", a)
	case a == protocol.AggregateHE && c.String("privacy") == fdskl.Published:
		return usagef("--aggregation he and --privacy published do not go together: sums in the clear have no protection to choose")
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
