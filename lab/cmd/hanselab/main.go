// Command hanselab measures hanse: real processes on this machine, and what they are compared with,
// in one run.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: results go to out, progress and errors to errOut.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	if err := newApp(in, out, errOut).RunContext(ctx, args); err != nil {
		fmt.Fprintf(errOut, "hanselab: %v\n", err)
		return 1
	}
	return 0
}

// newApp assembles the commands.
func newApp(in io.Reader, out, errOut io.Writer) *cli.App {
	return &cli.App{
		Name:  "hanselab",
		Usage: "measure hanse on this machine",
		Description: `Runs federations of real processes and prints what they took, beside what the same
work takes without privacy. Ratios are of figures from the same run: they stand
firmer than seconds. docs/performance.md collects them.

   hanselab sets
   hanselab fdskl --svm
   hanselab fdskl-paper --quick
   hanselab growth --plot docs
   hanselab sealed
   hanselab shards --rows 4000000 --shards 1,2,4
   hanselab align
   hanselab link
   hanselab sum --clients 1000 --words 10000
   hanselab record
   hanselab audit --sets phishing
   hanselab chaos --trials 5`,
		HideVersion:    true,
		Reader:         in,
		Writer:         out,
		ErrWriter:      errOut,
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{
			fdsklCommand(), fdsklPaperCommand(), setsCommand(), growthCommand(), linkCommand(), recordCommand(),
			auditCommand(), sealedCommand(), lambdaCommand(), featuresCommand(), scoresCommand(),
			shardsCommand(), alignCommand(),
			forecastCommand(), gfmlCommand(), gfmlMeanCommand(), gfmlTrafficCommand(),
			pofmklCommand(), pofmklRegretCommand(), ofmsftCommand(), sumCommand(), chaosCommand(), linkWorkerCommand(),
			sumWorkerCommand(),
		},
	}
}
