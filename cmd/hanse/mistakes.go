package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// What the flag parser says of a flag that is not there, and of one whose value is missing.
const (
	isUnknown     = "flag provided but not defined: "
	wantsArgument = "flag needs an argument: "
)

// badValue is what the flag parser says of a value: which one, of which flag, and why not.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([^ :]+): (.*)$`)

// onUsageError marks mistakes that the flag parser finds, in words that say what would be right.
func onUsageError(c *cli.Context, err error, _ bool) error {
	flags := c.App.Flags
	if c.Command.Name != "" {
		flags = c.Command.Flags
	}
	said, hint := err.Error(), ""
	if _, name, ok := strings.Cut(said, isUnknown); ok {
		name = strings.TrimLeft(name, "-")
		var names []string
		for _, f := range flags {
			names = append(names, f.Names()...)
		}
		said, hint = "there is no flag "+dashed(name), wording.DidYouMean(name, names)
	} else if _, name, ok := strings.Cut(said, wantsArgument); ok {
		said = dashed(strings.TrimLeft(name, "-")) + " stands there without its value"
	} else if m := badValue.FindStringSubmatch(said); m != nil {
		said = fmt.Sprintf("%s is %s, %s", dashed(m[2]), m[1], expected(flags, m[2], m[3]))
	}
	return usage.Errorf("%s; see %s --help%s", said, commandLine(c), hint)
}

// dashed writes a flag as people type it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// expected says what the value of a flag may be, or else what the parser found wrong with it.
func expected(flags []cli.Flag, name, found string) string {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return found
	}
	what := ""
	switch flags[i].(type) {
	case *cli.IntFlag, *cli.Uint64Flag:
		what = "want a whole number in digits alone, such as 1000"
	case *cli.Float64Flag:
		what = "want a number with a point, such as 0.25"
	case *cli.DurationFlag:
		what = "want hours, minutes and seconds with their letters, such as 72h, 1h30m or 4s"
	case *cli.BoolFlag:
		what = "want the flag alone, or =true or =false behind it"
	default:
		return found
	}
	if strings.Contains(found, "out of range") {
		return what + ", and one that is not so large"
	}
	return what
}

// noArguments is an action that takes flags alone.
func noArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return usage.Errorf("what is %q for? %s takes flags alone; see %s --help", c.Args().First(), commandLine(c),
				commandLine(c))
		}
		return action(c)
	}
}

// atLeast is the check of a flag whose number has a least value and, unless it is 0, a greatest.
func atLeast(name string, least, most int) func(*cli.Context, int) error {
	return func(_ *cli.Context, n int) error {
		switch {
		case n >= least && (most == 0 || n <= most):
			return nil
		case most == 0:
			return usage.Errorf("--%s is %d, want %d or more", name, n, least)
		}
		return usage.Errorf("--%s is %d, want %d to %d", name, n, least, most)
	}
}

// helpCommand prints the help of the command that its arguments name, below the one that it is a subcommand of.
func helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Aliases:   []string{"h"},
		Usage:     "show the help of a command",
		ArgsUsage: "[COMMAND...]",
		Description: `   hanse help keys new
   hanse keys help new`,
		Action: func(c *cli.Context) error {
			line := strings.Fields(commandLine(c))
			wanted, commands := line[:1], c.App.Commands
			for _, name := range slices.Concat(line[1:len(line)-1], c.Args().Slice()) {
				i := slices.IndexFunc(commands, func(sub *cli.Command) bool { return sub.HasName(name) })
				if i < 0 {
					return usage.Errorf("there is no command %q; see %s --help%s", strings.Join(append(wanted[1:], name), " "),
						strings.Join(wanted, " "), wording.DidYouMean(name, commandNames(commands)))
				}
				wanted, commands = append(wanted, name), commands[i].Subcommands
			}
			if len(wanted) == 1 {
				return cli.ShowAppHelp(c)
			}
			return c.App.RunContext(c.Context, append(wanted, "--help"))
		},
	}
}
