package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol"
)

// wantsMasks says which of a training's options no sealed job has, nothing when there is none.
func wantsMasks(p fdskl.Params, aggregation string) string {
	switch {
	case aggregation == protocol.AggregateHE:
		return "homomorphic sums"
	case p.Schedule == fdskl.DoublyStochastic:
		return "doubly stochastic schedule"
	case len(p.Active) > 1:
		return "several label holders"
	case p.Features > sealed.MaxFeatures:
		return fmt.Sprintf("more features than %d", sealed.MaxFeatures)
	}
	return ""
}

// privacyOf is the privacy of a demo: what --privacy says, or else the strongest that the other flags go with.
func privacyOf(c *cli.Context) string {
	switch {
	case c.String("privacy") != "":
		return c.String("privacy")
	case c.String("algorithm") != algorithmFDSKL || demoWantsMasks(c) != "":
		return fdskl.Masked
	}
	return fdskl.Sealed
}

// demoWantsMasks says which of the flags of a demo over columns no sealed job has.
func demoWantsMasks(c *cli.Context) string {
	return wantsMasks(fdskl.Params{Schedule: c.String("schedule"), Features: c.Int("features")}, c.String("aggregation"))
}
