package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/glm"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// scorecardCommand prints what this node knows of a scorecard.
func scorecardCommand() *cli.Command {
	return &cli.Command{
		Name:      "scorecard",
		Usage:     "print a scorecard: this member's bins, and the points that opened to it",
		ArgsUsage: "JOB",
		Description: `Of a training with algorithm = "glm": what bins this member's columns were cut into, and what
each adds to a row's score where points opened to it. 20 points double the odds of the
event, the class that is named below the card. What the bins of other members are only these know: hanse scorecard
at their nodes lists them, by the same numbers.

   hanse scorecard credit --dir bank-node
   hanse scorecard credit --dir bank-node --out card.csv

No points open unless the job says so: points = "owners" in its parameters opens to each
owner those of its own bins, points = "bank" all to the bank. z_scores = "owners" opens in
the same way how sure they are: z is a bin's coefficient in standard errors, and between
-2 and 2 its points may be chance.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write it to this `FILE` as CSV"},
			jsonFlag(),
			dirFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			_, job, _, err := namedTraining(c, "JOB")
			if err != nil {
				return err
			}
			part, err := node.ReadModel(registry.Program(), filepath.Join(c.String("dir"), "jobs", job.Contract))
			if err != nil {
				return err
			}
			card, err := glm.CardOf(part, job.Self)
			if err != nil {
				return fmt.Errorf("job %q: %w", job.Name, err)
			}
			return printCard(c, card)
		}),
	}
}

// printCard prints a scorecard, or writes it to a file.
func printCard(c *cli.Context, card *glm.Card) error {
	if c.String("out") != "" {
		data, err := card.CSV()
		if err != nil {
			return err
		}
		return writeOut(c, data)
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, card)
	}
	if err := writeCard(c.App.Writer, card); err != nil {
		return err
	}
	text := fmt.Sprintf("20 points double the odds of %s = %s; a row has the base and the points of its bins.",
		terminal.Printable(card.Label), terminal.Printable(card.Class))
	switch {
	case card.NotConverged != "":
		text = "The training is " + card.NotConverged + "."
	case !card.Opened:
		text = "No points opened to this member: they stay shared unless a job says points = \"owners\", or names who is " +
			"to learn them."
	}
	if of, unsure := card.Unsure(); of > 0 {
		text += fmt.Sprintf(" z is how many standard errors a bin is from the mean of its column's bins: of %d bins %d "+
			"have a z between -2 and 2, and their points may be chance.", of, unsure)
	}
	_, err := fmt.Fprint(c.App.Writer, "\n", wording.Wrap(80, "", text))
	return err
}

// Widths of a scorecard's cells on a terminal of 80 columns.
const (
	cardColumn = 24
	cardBin    = 28
)

// writeCard prints a scorecard for people.
func writeCard(w io.Writer, c *glm.Card) error {
	t := wording.NewTable(w, "")
	tested, _ := c.Unsure()
	row := func(cells ...string) {
		if tested == 0 {
			cells = cells[:len(cells)-1]
		}
		t.Row(cells...)
	}
	row("party", "column", "bin", "points", "z")
	if c.Base != nil {
		row("", "(base)", "every row", signed(c.Base), "")
	}
	for _, r := range c.Rows {
		bin := r.Bin
		if r.Column == "" {
			bin = fmt.Sprintf("bin %d", r.Number)
		}
		z := "-"
		if r.Z != nil {
			z = fmt.Sprintf("%+.1f", *r.Z)
		}
		row(r.Party, clipped(r.Column, cardColumn), clipped(bin, cardBin), signed(r.Points), z)
	}
	return t.Flush()
}

// signed writes points, "-" for those that are not known.
func signed(points *int64) string {
	if points == nil {
		return "-"
	}
	return fmt.Sprintf("%+d", *points)
}

// clipped is a text that prints, of at most so many characters.
func clipped(s string, most int) string {
	r := []rune(terminal.Printable(s))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}
