package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// fdsklFlags lists the flags of the demo that FDSKL alone knows.
func fdsklFlags() []string {
	return []string{
		"data", "label", "id", "categorical", "missing", "people", "parties", "schedule", "loss", "target", "kernel", "sigma", "lambda", "scale", "topology",
	}
}

// onlineFlags lists those that it does not know.
func onlineFlags() []string { return []string{"clients", "servers"} }

// checkAlgorithm refuses an algorithm that there is not, and flags of another one.
func checkAlgorithm(c *cli.Context) error {
	a := c.String("algorithm")
	others, which := fdsklFlags(), algorithmFDSKL
	switch a {
	case algorithmFDSKL:
		others, which = onlineFlags(), algorithmPOFMKL+" and "+algorithmGFML
	case algorithmPOFMKL, algorithmGFML:
	default:
		return usagef("--algorithm is %q, want fdskl, pofmkl or gfml", a)
	}
	for _, name := range others {
		if c.IsSet(name) {
			return usagef("--%s is for --algorithm %s, not for %s", name, which, a)
		}
	}
	return nil
}

// checkOnlineDemo refuses flags that do not go together.
func checkOnlineDemo(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("demo takes no arguments, only flags; with --algorithm %s it makes up its streams", c.String("algorithm"))
	}
	if p := c.String("privacy"); p != fdskl.Published && p != fdskl.Masked {
		return usagef("--privacy is %q, want masked or published", p)
	}
	if c.String("privacy") == fdskl.Published && !c.Bool("i-know-this-leaks") {
		return usagef("--privacy published shows the server every client's updates; add --i-know-this-leaks to run it all the same")
	}
	if err := checkAggregation(c); err != nil {
		return err
	}
	if r := c.String("record"); !slices.Contains([]string{protocol.RecordFull, protocol.RecordDigests}, r) {
		return usagef("--record is %q, want full or digests", r)
	}
	return checkSizes(c)
}

// checkSizes refuses federations that are too small or too large for one machine.
func checkSizes(c *cli.Context) error {
	least := 3
	if c.String("privacy") == fdskl.Published {
		least = 2
	}
	if n := c.Int("clients"); c.IsSet("clients") && (n < least || n > maxDemoClients) {
		return usagef("--clients is %d, want %d to %d of each server", n, least, maxDemoClients)
	}
	switch n := c.Int("servers"); {
	case c.String("algorithm") == algorithmPOFMKL && c.IsSet("servers") && n != 1:
		return usagef("--servers is %d: pofmkl has one server", n)
	case c.IsSet("servers") && (n < 1 || n > maxDemoServers):
		return usagef("--servers is %d, want 1 to %d", n, maxDemoServers)
	}
	for _, name := range []string{"iterations", "features"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			return usagef("--%s is %d, want at least 1", name, c.Int(name))
		}
	}
	return nil
}

// Limits of a demo on one machine.
const (
	maxDemoClients = 1000 // of each server
	maxDemoServers = 16
)
