package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// anyOrder lets flags stand behind arguments too: hanse charter sign charter.toml --key bank.key.
// The flag parser stops at the first argument; if it left flags behind, the command runs again
// with all flags in front. A flag that is Required must still come first.
func anyOrder(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		parent := c.Lineage()[1]
		given := parent.Args().Slice() // the command's name and all that follows
		sorted := append([]string{given[0]}, flagsFirst(c.Command.Flags, given[1:])...)
		if slices.Equal(sorted, given) {
			return action(c)
		}
		again := cli.NewContext(c.App, nil, parent)
		command := *c.Command
		command.Action = action
		again.Command = &command
		return command.Run(again, sorted...)
	}
}

// flagsFirst moves the flags, with their values, before the arguments, and puts "--" between, so
// that what follows a "--" stays an argument.
func flagsFirst(known []cli.Flag, args []string) []string {
	var flags, rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			rest = append(rest, a)
			continue
		}
		flags = append(flags, a)
		if wantsValue(known, a) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	if len(rest) == 0 {
		return flags
	}
	return append(append(flags, "--"), rest...)
}

// wantsValue reports whether the value of a flag is the argument behind it.
func wantsValue(known []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range known {
		if d, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return d.TakesValue()
		}
	}
	return false
}
