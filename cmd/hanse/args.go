package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// anyOrder lets flags stand behind arguments too: hanse charter sign charter.toml --key bank.key.
// The flag parser stops at the first argument; if that leaves flags behind, the command runs again
// with all flags in front. A flag that is Required must still come first.
func anyOrder(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		parent := c.Lineage()[1]
		given := parent.Args().Slice() // the command's name and all that follows
		flags, arguments, mixed := sortArguments(c.Command.Flags, given[1:])
		if !mixed {
			return action(c)
		}
		command := *c.Command
		command.Action = action
		again := cli.NewContext(c.App, nil, parent)
		again.Command = &command
		return command.Run(again, slices.Concat(given[:1], flags, []string{"--"}, arguments)...)
	}
}

// sortArguments tells flags, with their values, from arguments, and reports whether a flag stands
// behind an argument. All that follows "--" is arguments.
func sortArguments(known []cli.Flag, given []string) (flags, arguments []string, mixed bool) {
	for i := 0; i < len(given); i++ {
		word := given[i]
		switch {
		case word == "--":
			return flags, append(arguments, given[i+1:]...), mixed
		case len(word) < 2 || word[0] != '-':
			arguments = append(arguments, word)
			continue
		}
		mixed = mixed || len(arguments) > 0
		flags = append(flags, word)
		if wantsValue(known, word) && i+1 < len(given) {
			i++
			flags = append(flags, given[i])
		}
	}
	return flags, arguments, mixed
}

// wantsValue reports whether the value of a flag is the word behind it.
func wantsValue(known []cli.Flag, word string) bool {
	name := strings.TrimLeft(word, "-")
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
