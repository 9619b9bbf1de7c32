package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/protocol"
)

// algorithms lists what the demo shows.
func algorithms() []string {
	return []string{algorithmFDSKL, algorithmPOFMKL, algorithmGFML, algorithmOFMSFT}
}

// ownFlags are flags that some algorithms alone know.
type ownFlags struct{ algorithms, flags []string }

// allOwnFlags lists them.
func allOwnFlags() []ownFlags {
	return []ownFlags{
		{[]string{algorithmFDSKL}, []string{
			"data", "id", "categorical", "missing", "people", "parties", "schedule", "loss", "target", "kernel", "sigma", "lambda", "scale",
		}},
		{[]string{algorithmPOFMKL, algorithmGFML, algorithmOFMSFT}, []string{"clients", "servers"}},
		{[]string{algorithmFDSKL, algorithmPOFMKL, algorithmGFML}, []string{"features"}},
		{[]string{algorithmGFML}, []string{"diffusion", "entries"}},
		{[]string{algorithmFDSKL, algorithmOFMSFT}, []string{"label"}},
		{[]string{algorithmPOFMKL}, []string{"common-bin"}},
		{[]string{algorithmOFMSFT}, append([]string{"budget"}, selectionFlagNames()...)},
	}
}

// checkAlgorithm refuses an algorithm that there is not, and flags of another one.
func checkAlgorithm(c *cli.Context) error {
	a := c.String("algorithm")
	if !slices.Contains(algorithms(), a) {
		return usagef("--algorithm is %q, want %s", a, listed(algorithms(), "or"))
	}
	for _, own := range allOwnFlags() {
		if slices.Contains(own.algorithms, a) {
			continue
		}
		for _, name := range own.flags {
			if c.IsSet(name) {
				return usagef("--%s is for --algorithm %s, not for %s", name, listed(own.algorithms, "and"), a)
			}
		}
	}
	return nil
}

// listed lists names with a word before the last.
func listed(names []string, word string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// checkOnlineDemo refuses flags that do not go together.
func checkOnlineDemo(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("demo takes no arguments, only flags; with --algorithm %s it makes up its streams", c.String("algorithm"))
	}
	privacy := privacyOf(c)
	if privacy != fdskl.Published && privacy != fdskl.Masked {
		return usagef("--privacy is %q, want masked or published", privacy)
	}
	if privacy == fdskl.Published && !c.Bool("i-know-this-leaks") {
		return usagef("--privacy published shows the server every client's updates; add --i-know-this-leaks to run it all the same")
	}
	if err := checkAggregation(c); err != nil {
		return err
	}
	if r := c.String("record"); !slices.Contains([]string{protocol.RecordFull, protocol.RecordDigests}, r) {
		return usagef("--record is %q, want full or digests", r)
	}
	if _, err := protocol.ParseTopology(c.String("topology")); err != nil {
		return usagef("--%v", err)
	}
	if err := checkFileFlags(c); err != nil {
		return err
	}
	return checkSizes(c)
}

// checkSizes refuses federations that are too small or too large for one machine.
func checkSizes(c *cli.Context) error {
	least := 3
	if privacyOf(c) == fdskl.Published {
		least = 2
	}
	if n := c.Int("clients"); c.IsSet("clients") && (n < least || n > maxDemoClients) {
		return usagef("--clients is %d, want %d to %d of each server", n, least, maxDemoClients)
	}
	switch n := c.Int("servers"); {
	case c.String("algorithm") != algorithmGFML && c.IsSet("servers") && n != 1:
		return usagef("--servers is %d: %s has one server", n, c.String("algorithm"))
	case c.IsSet("servers") && (n < 1 || n > maxDemoServers):
		return usagef("--servers is %d, want 1 to %d", n, maxDemoServers)
	}
	switch d := c.String("diffusion"); {
	case !slices.Contains([]string{"", gfml.DiffusionMasked, gfml.DiffusionPlain}, d):
		return usagef("--diffusion is %q, want masked or plain", d)
	case d == gfml.DiffusionMasked && c.IsSet("servers") && c.Int("servers") < 3:
		return usagef("--diffusion masked wants at least 3 servers, not %d: the sum of one other's model would be that model", c.Int("servers"))
	}
	for _, name := range []string{"iterations", "features"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			return usagef("--%s is %d, want at least 1", name, c.Int(name))
		}
	}
	if b := c.Float64("budget"); c.IsSet("budget") && !(b > 0 && b <= maxDemoBudget) {
		return usagef("--budget is %v, want a number above 0 and at most %d", b, maxDemoBudget)
	}
	return nil
}

// Limits of a demo on one machine.
const (
	maxDemoClients = 1000 // of each server
	maxDemoServers = 16
	maxDemoBudget  = 1000
)
