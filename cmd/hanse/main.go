// Command hanse lets organisations learn one model from data that they do not pool.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/passphrase"
	"github.com/hanse-project/hanse/internal/statusview"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// Exit codes.
const (
	exitFailed = 1  // the command failed
	exitFar    = 5  // the training is done, and its model is not at its optimum
	exitUsage  = 64 // the command line is wrong: EX_USAGE of sysexits(3); 2 is what a panic of Go ends with
	exitMoved  = 78 // the node's folder is not its own any more, and another start mends nothing: EX_CONFIG
	exitLeak   = audit.ExitLeak
	exitUnseen = audit.ExitPartial // an audit, or its verification, could not look at everything
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // when a reader has gone, as head does, writing fails, and what is to be tidied up is
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: results go to out, progress and errors to errOut.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	app := newApp(out, errOut)
	err := app.RunContext(ctx, helpAlone(app, args))
	var mistake *usage.Error
	var verdict *auditing.VerdictError
	var problem *statusview.ProblemError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &mistake):
		printError(errOut, err)
		return exitUsage
	case errors.Is(err, node.ErrMoved):
		printError(errOut, err)
		return exitMoved
	case errors.As(err, &verdict):
		printError(errOut, err)
		return verdict.Report.Exit
	case errors.As(err, &problem):
		printError(errOut, err)
		return problem.Code
	case errors.Is(err, auditing.ErrUnseen):
		printError(errOut, err)
		return exitUnseen
	case errors.Is(err, errFar):
		return exitFar // the report says it
	case errors.Is(err, syscall.EPIPE):
		return exitFailed
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(errOut, "hanse: interrupted")
		return exitFailed
	}
	printError(errOut, err)
	return exitFailed
}

// printError prints an error, each of several on a line of its own, which a terminal has in lines that fit. Words of
// others may be in it: nothing of them but printable characters reaches the terminal.
func printError(errOut io.Writer, err error) {
	for i, text := range sentencesOf(err) {
		if i == 0 {
			text = "hanse: " + text
		}
		if w := terminal.Painted(errOut); terminal.IsTerminal(errOut) && !strings.HasPrefix(text, " ") {
			terminal.Sentence(w, "", text)
		} else {
			fmt.Fprintln(w, terminal.Printable(text))
		}
	}
}

// sentencesOf takes errors that were joined apart.
func sentencesOf(err error) []string {
	if placed, ok := err.(*folderError); ok {
		texts := sentencesOf(placed.error)
		for i := range texts {
			texts[i] = jobview.Typed(texts[i], placed.dir)
		}
		return texts
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var texts, parts []string
	for _, e := range joined.Unwrap() {
		parts = append(parts, e.Error())
		texts = append(texts, sentencesOf(e)...)
	}
	if strings.Join(parts, "\n") != err.Error() {
		return []string{err.Error()} // one sentence made of several errors
	}
	return texts
}

// folderError is the error of a command at the node in a folder, in whose commands the folder is printed.
type folderError struct {
	error
	dir string
}

// Unwrap returns the error.
func (e *folderError) Unwrap() error { return e.error }

// inFolder has the errors of a command print the folder that was typed.
func inFolder(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if err == nil || typedFolder(c) == "" {
			return err
		}
		return &folderError{err, typedFolder(c)}
	}
}

// typedFolder is the node's folder as the command line has it, of several the first; empty where it has none.
func typedFolder(c *cli.Context) string {
	if !c.IsSet("dir") || !slices.Contains(jobview.AtNode, strings.TrimPrefix(commandLine(c), "hanse ")) {
		return ""
	}
	return append(c.StringSlice("dir"), c.String("dir"))[0]
}

// newApp assembles the commands.
func newApp(out, errOut io.Writer) *cli.App {
	app := &cli.App{
		Name:  "hanse",
		Usage: "private learning between organisations that will not pool their data",
		Description: `Partners join with a key file, sign one charter, and start a node each. One proposes
a job; the others see what it computes, what would leave their machine and who
would learn what, and consent. No columns leave home.

Try it: four organisations, four processes, one model, in under a minute.

   hanse demo

Then walk the same path by hand: examples/credit shows every command.`,
		Version:              build.Version(),
		Metadata:             map[string]any{environmentKey: new(passphrase.Environment)},
		EnableBashCompletion: true,
		Writer:               out,
		ErrWriter:            errOut,
		ExitErrHandler:       func(*cli.Context, error) {},
		OnUsageError:         onUsageError,
		CommandNotFound:      nil,
		// The library adds this flag to commands; of an app only where it adds its own command help, too.
		Flags: []cli.Flag{cli.HelpFlag},
		Commands: []*cli.Command{
			demoCommand(), demoClientsCommand(), keysCommand(), charterCommand(), joinCommand(), splitCommand(),
			tableCommand(), nodeCommand(), idsCommand(), alignCommand(), rehearseCommand(), trainCommand(), predictCommand(),
			scorecardCommand(),
			contributionsCommand(),
			modelCommand(),
			shardCommand(), workerCommand(),
			statusCommand(),
			doctorCommand(),
			pageCommand(),
			jobCommand(), jobsCommand(),
			ledgerCommand(),
			approveCommand(),
			refuseCommand(),
			policyCommand(),
			cancelCommand(),
			resumeCommand(),
			resultCommand(),
			auditCommand(),
			removeCommand(),
			versionCommand(), completionCommand(), helpCommand(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage.Errorf("there is no command %q; hanse help lists them%s", c.Args().First(),
					wording.DidYouMean(c.Args().First(), commandNames(c.App.Commands)))
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		setUsageErrors(c)
		setCompletion(c)
	}
	return app
}

// helpAlone leaves of a command line that asks for help the commands and that: the library would look for a topic in
// what else stands there, or find it wrong.
func helpAlone(app *cli.App, args []string) []string {
	given := args
	if end := slices.Index(args, "--"); end >= 0 {
		given = args[:end]
	}
	if !slices.ContainsFunc(given, func(word string) bool { return word == "--help" || word == "-h" }) {
		return args
	}
	words, below := given[:1:1], app.Commands
	for _, word := range given[1:] {
		if strings.HasPrefix(word, "-") {
			continue
		}
		at := slices.IndexFunc(below, func(c *cli.Command) bool { return c.HasName(word) })
		switch {
		case at >= 0:
		case len(below) > 0:
			return append(words, word) // which is no command, and is told so
		default:
			return append(words, "--help")
		}
		words, below = append(words, word), below[at].Subcommands
	}
	return append(words, "--help")
}

// commandNames lists commands by their names.
func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Names()...)
	}
	return names
}

// setUsageErrors has a command and all below it answer wrong command lines in this program's words: flags that are
// wrong, flags that are missing, for which the library would print the whole help, and arguments where none belong.
func setUsageErrors(c *cli.Command) {
	c.OnUsageError = onUsageError
	switch {
	case len(c.Subcommands) > 0:
		c.Subcommands = append(c.Subcommands, helpCommand())
		if c.Action == nil {
			c.Action = needSubcommand
		}
	case c.ArgsUsage == "":
		c.Action = noArguments(inFolder(c.Action))
	}
	if required := takeRequired(c.Flags); len(required) > 0 {
		action := c.Action
		c.Action = anyOrder(func(ctx *cli.Context) error {
			for _, name := range required {
				if !ctx.IsSet(name) {
					return usage.Errorf("--%s is missing; see %s --help", name, commandLine(ctx))
				}
			}
			return action(ctx)
		})
	}
	for _, sub := range c.Subcommands {
		setUsageErrors(sub)
	}
}

// takeRequired lists the required flags and no longer has the library check them.
func takeRequired(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			if f.Required {
				names, f.Required = append(names, f.Name), false
			}
		case *cli.StringSliceFlag:
			if f.Required {
				names, f.Required = append(names, f.Name), false
			}
		}
	}
	return names
}

// anyOrder lets flags stand behind arguments too: hanse charter sign charter.toml --key bank.key.
// The flag parser stops at the first argument; if that leaves flags behind, the command runs again
// with all flags in front. A flag that is Required must still come first.
func anyOrder(action cli.ActionFunc) cli.ActionFunc {
	action = inFolder(action)
	return func(c *cli.Context) error {
		parent := c.Lineage()[1]
		given := parent.Args().Slice() // the command's name and all that follows
		flags, arguments, mixed := sortArguments(c.Command.Flags, given[1:])
		if !mixed {
			return action(c)
		}
		if last := given[len(given)-1]; flags[len(flags)-1] == last && wantsValue(c.Command.Flags, last) &&
			!slices.Contains(given, "--") {
			return onUsageError(c, errors.New(wantsArgument+last), false)
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
	if name == word || strings.Contains(name, "=") {
		return false // a word that is called as a flag is none
	}
	for _, f := range known {
		if d, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return d.TakesValue()
		}
	}
	return false
}

// oneArgument returns the only argument of a command; what and its sample go into the error.
func oneArgument(c *cli.Context, what, sample string) (string, error) {
	if c.NArg() != 1 {
		return "", usage.Errorf("give one %s: %s %s", what, commandLine(c), sample)
	}
	return c.Args().First(), nil
}

// commandLine is the command as a person types it: hanse charter sign.
func commandLine(c *cli.Context) string {
	var words []string
	for _, up := range c.Lineage() {
		if up.Command != nil && up.Command.Name != "" {
			words = append([]string{up.Command.Name}, words...)
		}
	}
	return strings.Join(words, " ")
}

// person is who sits before the terminal.
func person(c *cli.Context) terminal.Person {
	return terminal.Person{In: c.App.Reader, Out: c.App.ErrWriter}
}

// dirFlag names the node's folder; all commands that talk to a node have it.
func dirFlag() cli.Flag {
	return &cli.StringFlag{Name: "dir", Value: "hanse-node", Usage: "the node's own `FOLDER`: jobs, checkpoints, model " +
		"parts, socket"}
}
