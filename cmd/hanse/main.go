// Command hanse lets organisations learn one model from data that they do not pool.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/audit"
)

// Exit codes.
const (
	exitFailed = 1 // the command failed
	exitUsage  = 2 // the command line is wrong
	exitLeak   = audit.ExitLeak
	exitUnseen = audit.ExitPartial // an audit, or its verification, could not look at everything
)

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: results go to out, progress and errors to errOut.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	err := newApp(out, errOut).RunContext(ctx, args)
	var usage *usageError
	var verdict *verdictError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		printError(errOut, err)
		return exitUsage
	case errors.As(err, &verdict):
		printError(errOut, err)
		return verdict.code()
	case errors.Is(err, errUnseen):
		printError(errOut, err)
		return exitUnseen
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(errOut, "hanse: interrupted")
		return exitFailed
	}
	printError(errOut, err)
	return exitFailed
}

// printError prints an error, each of several on a line of its own. Words of others may be in it: nothing of them but
// printable characters reaches the terminal.
func printError(errOut io.Writer, err error) {
	for i, text := range sentencesOf(err) {
		if i == 0 {
			text = "hanse: " + text
		}
		fmt.Fprintln(errOut, printable(text))
	}
}

// sentencesOf takes errors that were joined apart.
func sentencesOf(err error) []string {
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
		HideVersion:     true,
		Writer:          out,
		ErrWriter:       errOut,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    onUsageError,
		CommandNotFound: nil,
		Commands: []*cli.Command{
			demoCommand(), demoClientsCommand(), keysCommand(), charterCommand(), joinCommand(), splitCommand(),
			nodeCommand(), trainCommand(), predictCommand(), modelCommand(), jobsCommand(), approveCommand(), policyCommand(),
			cancelCommand(), resultCommand(),
			auditCommand(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("there is no command %q; hanse help lists them", c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		setUsageErrors(c)
	}
	return app
}

// onUsageError marks mistakes that the flag parser finds.
func onUsageError(c *cli.Context, err error, _ bool) error {
	return usagef("%v; see %s --help", err, commandLine(c))
}

// setUsageErrors does so for a command and all below it, and makes a missing flag such a mistake too:
// the library would print the whole help.
func setUsageErrors(c *cli.Command) {
	c.OnUsageError = onUsageError
	if required := takeRequired(c.Flags); len(required) > 0 {
		action := c.Action
		c.Action = anyOrder(func(ctx *cli.Context) error {
			for _, name := range required {
				if !ctx.IsSet(name) {
					return usagef("--%s is missing; see %s --help", name, commandLine(ctx))
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
