package main

import (
	"io"
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/jobview"
)

// TestTheCommandsAtANode: a command that a node's folder belongs to is printed with it, whichever message has it. Those
// that start a node or have a folder of another kind are not.
func TestTheCommandsAtANode(t *testing.T) {
	others := []string{"demo", "node", "worker"}
	var have []string
	var look func(before string, all []*cli.Command)
	look = func(before string, all []*cli.Command) {
		for _, c := range all {
			takes := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "dir") })
			if name := before + c.Name; takes && !slices.Contains(others, name) {
				have = append(have, name)
			}
			look(before+c.Name+" ", c.Subcommands)
		}
	}
	look("", newApp(io.Discard, io.Discard).Commands)
	if want := slices.Sorted(slices.Values(jobview.AtNode)); !slices.Equal(slices.Sorted(slices.Values(have)), want) {
		t.Errorf("commands with --dir are\n%q, and jobview knows\n%q", slices.Sorted(slices.Values(have)), want)
	}
}
