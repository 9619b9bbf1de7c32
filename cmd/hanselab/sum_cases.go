package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// fewestClients is how many clients a sum must keep to be opened.
const fewestClients = cohort.DefaultMinContributors

// sumCases reads the flags and lists all combinations: backends change fastest, so that those to be
// compared run one after the other.
func sumCases(c *cli.Context) ([]sumCase, error) {
	if err := checkSumFlags(c); err != nil {
		return nil, err
	}
	var cases []sumCase
	for _, topology := range c.StringSlice("topology") {
		for _, words := range c.IntSlice("words") {
			for _, clients := range c.IntSlice("clients") {
				for _, backend := range c.StringSlice("backend") {
					s := sumCase{
						Clients: clients, Words: words, Bits: c.Int("bits"), Backend: cohort.Backend(backend), Topology: topology,
						Dropout: c.Float64("dropout"), Corrupt: c.Float64("corrupt"), Sums: c.Int("sums"), Warm: c.Int("warm"),
						Processes: min(c.Int("processes"), clients), Patience: c.Duration("patience"), Seed: c.Uint64("seed"),
					}
					if left := clients - s.leaving(); left < fewestClients {
						return nil, fmt.Errorf("--dropout %v leaves %d of %d clients, want at least %d", s.Dropout, left, clients, fewestClients)
					}
					cases = append(cases, s)
				}
			}
		}
	}
	return cases, nil
}

// checkSumFlags checks each flag by itself.
func checkSumFlags(c *cli.Context) error {
	for _, name := range []string{"sums", "warm", "processes"} {
		if c.Int(name) < 1 {
			return fmt.Errorf("--%s is %d, want at least 1", name, c.Int(name))
		}
	}
	for _, name := range []string{"dropout", "corrupt"} {
		if f := c.Float64(name); !(0 <= f && f < 1) {
			return fmt.Errorf("--%s is %v, want at least 0 and below 1", name, f)
		}
	}
	if bits := c.Int("bits"); bits < 1 || bits > 64 {
		return fmt.Errorf("--bits is %d, want 1 to 64", bits)
	}
	if p := c.Duration("patience"); p < time.Second {
		return fmt.Errorf("--patience is %v, want at least 1s", p)
	}
	return checkSumLists(c)
}

// checkSumLists checks the flags that take lists.
func checkSumLists(c *cli.Context) error {
	if err := within("clients", c.IntSlice("clients"), fewestClients, keys.MaxMembers-1); err != nil {
		return err
	}
	if err := within("words", c.IntSlice("words"), 1, cohort.MaxWords); err != nil {
		return err
	}
	for _, name := range c.StringSlice("backend") {
		if known := []cohort.Backend{cohort.Masked, cohort.HE, cohort.Plain}; !slices.Contains(known, cohort.Backend(name)) {
			return fmt.Errorf("--backend is %q, want some of %q", name, known)
		}
	}
	for _, name := range c.StringSlice("topology") {
		if _, err := protocol.ParseTopology(name); err != nil {
			return err
		}
	}
	return nil
}

// within checks a list of sizes.
func within(flag string, sizes []int, least, most int) error {
	if slices.ContainsFunc(sizes, func(n int) bool { return n < least || n > most }) {
		return fmt.Errorf("--%s is %v, want %d to %d each", flag, sizes, least, most)
	}
	return nil
}
