package main

import (
	"cmp"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/secagg/ring"
)

// versionCommand says which build this is.
func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version, what it was made of, and whom it can speak with",
		Description: `   hanse version
   hanse version --json

Nodes that speak different versions of the wire do not work together, and say so.
devel-01a41a0 is a build between releases, of that commit; a + behind it says that
files had changed since. docs/install.md says how a build is held against its source.

Sums of products are most of a training's work. AVX2 is vector instructions of x86
processors; without them results are the same to the bit, and these sums take two to
twelve times as long.`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON object"}},
		Action: func(c *cli.Context) error {
			version := struct {
				build.Info
				Wire int    `json:"wire"`
				Sums string `json:"sums"` // ring.Instructions
			}{build.Read(), peer.WireVersion, ring.Instructions()}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, version)
			}
			_, err := fmt.Fprintf(c.App.Writer, "version  %s\ncommit   %s\ngo       %s %s\nwire     %d\nsums     %s\n",
				version.Version, cmp.Or(version.Commit, "unknown"), version.Go, version.System, version.Wire, version.Sums)
			return err
		},
	}
}
