package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/chaos"
)

// chaosCommand breaks federations of real processes.
func chaosCommand() *cli.Command {
	return &cli.Command{
		Name:        "chaos",
		Usage:       "break federations of real processes, one fault at a time, and judge what becomes of their jobs",
		Description: chaosDescription(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "trials", Value: 3, Usage: "carry out `N` trials of each kind"},
			&cli.StringFlag{Name: "kinds", Usage: "only these `KINDS`, separated by commas", DefaultText: "all"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the first trial of each kind; each other has the next"},
			&cli.DurationFlag{Name: "limit", Value: chaosLimit, Usage: "give a trial up after `DURATION`"},
			&cli.StringFlag{Name: "dir", Usage: "work in this `FOLDER` and keep it (default: a temporary one)"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			programFlag(),
		},
		Action: runChaos,
	}
}

// chaosDescription lists the kinds of trials.
func chaosDescription() string {
	var b strings.Builder
	b.WriteString(`Each trial starts a federation of real node processes, makes one fault at a drawn
moment, waits until every job has ended and compares the result with that of a run
without a fault. Verdicts are right, degraded (the program names the file or the party
and refuses, or waits and says what helps) and failed; a wrong result that nobody tells
of is called silent. A seed that failed can be tried again alone:

   hanselab chaos --trials 5
   hanselab chaos --kinds rot --seed 17 --trials 1 --dir kept

The kinds:
`)
	for _, k := range chaos.Kinds() {
		fmt.Fprintf(&b, "\n   %-15s %s", k[0], k[1])
	}
	return b.String()
}

// chaosLimit is how long a trial may take.
const chaosLimit = 2 * time.Minute

// errChaos says that trials failed.
var errChaos = errors.New("trials failed")

// runChaos runs the trials.
func runChaos(c *cli.Context) (err error) {
	if c.Int("trials") < 1 || c.Duration("limit") <= 0 {
		return errors.New("--trials and --limit must be above 0")
	}
	o := chaos.Options{
		Trials: c.Int("trials"), Seed: c.Uint64("seed"), Limit: c.Duration("limit"),
		Dir: c.String("dir"), Keep: c.String("dir") != "",
		Tell: func(line string) { fmt.Fprintln(c.App.ErrWriter, line) },
	}
	if list := c.String("kinds"); list != "" {
		o.Kinds = strings.Split(list, ",")
	}
	if path := c.String("hanse"); path != "" {
		if o.Program, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	if err := chaosDir(&o); err != nil {
		return err
	}
	report, err := chaos.Run(c.Context, o)
	if err != nil {
		return errors.Join(err, tidyChaos(o, report))
	}
	if c.Bool("json") {
		err = json.NewEncoder(c.App.Writer).Encode(report)
	} else {
		err = report.Write(c.App.Writer)
	}
	if n := len(report.Failures()); err == nil && n > 0 {
		return fmt.Errorf("%d of %d %w", n, len(report.Trials), errChaos)
	}
	return errors.Join(err, tidyChaos(o, report))
}

// chaosDir makes the folder that trials work in.
func chaosDir(o *chaos.Options) (err error) {
	if !o.Keep {
		o.Dir, err = os.MkdirTemp("", "hanselab-chaos-")
		return err
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	return os.MkdirAll(o.Dir, 0o700)
}

// tidyChaos removes a temporary folder in which nothing is kept.
func tidyChaos(o chaos.Options, report *chaos.Report) error {
	if o.Keep || report != nil && len(report.Failures()) > 0 {
		return nil
	}
	return os.RemoveAll(o.Dir)
}
